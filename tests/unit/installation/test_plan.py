"""What an installation is about."""

from hashlib import sha256

import pytest

from anvil_trio.installation.journal import Journal
from anvil_trio.installation.plan import (
    Look,
    TierRow,
    digest_of,
    find_old,
    plan_installation,
)
from anvil_trio.installation.protocol import Step, Way

OLD, NEW, OTHER = b"old", b"new", b"other"


def sha(data):
    """The digest of some bytes."""
    return sha256(data).hexdigest()


def row(tier_id, **more):
    """An open and ready tier, but for what is told."""
    facts = {"is_quiesced": False, "is_failed": False, "is_ready": True, **more}
    return TierRow(tier_id, **facts)


def look(*rows, installed=OLD, started="then"):
    """A router with these tiers."""
    return Look(sha(installed), started, rows)


def journal(old=OLD, new=NEW, closes=()):
    """One that was left behind."""
    return Journal(
        way=Way.RESTART,
        step=Step.DRAIN,
        old_sha256=digest_of(old),
        new_sha256=sha(new),
        tiers=(),
        closes=closes,
    )


def plan(way, before, desired=("a",), found=OLD, backup=None, left=None):
    """The plan of installing NEW."""
    return plan_installation(way, NEW, desired, before, found, backup, left)


@pytest.mark.parametrize(
    ("found", "backup", "installed", "left", "old"),
    [
        (OLD, None, OLD, None, OLD),
        (None, OTHER, OLD, None, None),
        (NEW, OLD, OLD, None, NEW),  # nobody was killed: what is there is meant
        (OLD, OTHER, OLD, journal(), OLD),  # killed before it had written
        (NEW, OLD, OLD, journal(), OLD),  # killed after that
        (NEW, OLD, None, journal(), OLD),  # and the router does not run
        (NEW, OLD, NEW, journal(), NEW),  # killed when the new bytes were at work
        (NEW, OTHER, OLD, journal(), NEW),  # the backup is another one's
        (NEW, None, OLD, journal(), NEW),
        (NEW, OTHER, OTHER, journal(old=None), None),  # there was no file
        (OTHER, OLD, OLD, journal(), OTHER),  # somebody has edited it since
    ],
)
def test_what_is_put_back_is_what_was_at_work(found, backup, installed, left, old):
    """T015: an installation that takes up a killed one restores what that one had found."""
    assert find_old(found, backup, digest_of(installed), left) == old


def test_a_restart_closes_what_is_open_and_drains_what_stands():
    """T015: a closed tier is drained and not closed again; nothing runs in one that crashed."""
    before = look(row("a"), row("b", is_quiesced=True), row("c", is_failed=True), row("d"))
    found = plan(Way.RESTART, before, desired=("d", "b", "c", "e"))
    assert (found.closes, found.drains, found.closed) == (("a", "d"), ("a", "b", "d"), ())
    assert found.opens == ("d", "c", "e")


def test_a_hot_installation_closes_and_opens_nothing():
    """Whatever an operator has closed."""
    found = plan(Way.HOT, look(row("a"), row("b", is_quiesced=True)), desired=("a", "b"))
    assert (found.closes, found.drains, found.closed, found.opens) == ((), (), (), ())


@pytest.mark.parametrize("way", Way)
def test_what_a_killed_one_has_closed_is_opened(way):
    """If it is still there and still closed; an operator's own quiesce stays."""
    closed = {"is_quiesced": True}
    before = look(row("a", **closed), row("b", **closed), row("c"), row("d", **closed))
    left = journal(closes=("a", "c", "d", "gone"))
    found = plan(way, before, desired=("a", "b", "c"), left=left)
    assert found.closed == ("a", "d")
    assert found.opens == (("a",) if way is Way.HOT else ("a", "c"))


def test_a_router_that_was_left_stopped_has_nothing_to_close():
    """All tiers of the new configuration are opened."""
    found = plan(Way.RESTART, None, desired=("a", "b"), found=NEW, backup=OLD, left=journal())
    assert (found.closes, found.drains, found.closed, found.old) == ((), (), (), OLD)
    assert found.opens == ("a", "b")
    assert found.is_new_process(look(row("a")))
    assert found.is_old_at_work(look(row("x"), installed=OLD))
    assert not found.is_old_at_work(look(row("a"), installed=NEW))


def test_exactly_the_desired_tiers_and_bytes_are_at_work():
    """Not one tier more or less, and in whatever order."""
    found = plan(Way.HOT, look(row("x")), desired=("a", "b"))
    assert found.is_at_work(look(row("b"), row("a"), installed=NEW))
    assert not found.is_at_work(look(row("b"), row("a"), installed=OLD))
    assert not found.is_at_work(look(row("a"), installed=NEW))
    assert not found.is_at_work(look(row("a"), row("b"), row("c"), installed=NEW))


def test_a_process_is_known_by_its_start_and_its_bytes():
    """With the same bytes only the time of its start tells a new one."""
    found = plan(Way.RESTART, look(row("a")))
    assert not found.is_new_process(look(row("a")))
    assert found.is_new_process(look(row("a"), started="now"))
    assert found.is_new_process(look(row("a"), installed=NEW))


def test_the_old_configuration_is_that_of_the_router_or_of_its_file():
    """A router that runs from another file must have its tiers again."""
    found = plan(Way.RESTART, look(row("a"), installed=OTHER))
    assert found.is_old_at_work(look(row("a"), installed=OTHER))
    assert not found.is_old_at_work(look(row("b"), installed=OTHER))
    assert found.is_old_at_work(look(row("b"), installed=OLD))
    assert not found.is_old_at_work(look(row("a"), installed=NEW))


def test_no_byte_of_a_file_is_shown():
    """R012: in no representation."""
    assert "canary" not in repr(plan(Way.HOT, look(row("a")), found=b"canary"))
    assert digest_of(None) is None
