"""Journals on a real disk: whole or not at all, the newest first, and damage is told."""

import os
from contextlib import suppress
from hashlib import sha256

import pytest

from anvil_trio.lifecycle.faults import LifecycleFailed
from anvil_trio.lifecycle.plans import plan_promotion
from anvil_trio.lifecycle.progress import advance, begin, entered
from anvil_trio.lifecycle.store import OperationStore, hold_lock, write_whole
from anvil_trio.lifecycle.switch import _replace
from tests.lifecycle.samples import MANIFEST

DATA = b"a router's configuration"


def journal(digest="a" * 64):
    """A new promotion."""
    return plan_promotion(MANIFEST.promotions[0], MANIFEST, (digest, digest), "/there")


def code_of(work, *arguments) -> str:
    """Why it was not done."""
    with pytest.raises(LifecycleFailed) as refused:
        work(*arguments)
    return refused.value.code


def test_operations_are_numbered_and_the_newest_counts(tmp_path):
    """The latest of a plan, and whatever is not over."""
    store = OperationStore(tmp_path)
    assert store.latest("promotion", "swap") is None
    assert store.unfinished() is None
    first = store.create(journal(), {})
    second = store.create(journal(), {})
    assert (first.id, second.id) == ("000001-promotion-swap", "000002-promotion-swap")
    assert store.latest("promotion", "swap") == store.unfinished() == second
    assert store.latest("mode", "swap") is None
    assert store.latest("promotion", "other") is None
    over = second.progress
    while over.step is not None:
        over = advance(entered(over))
    store.save(second.at(over))
    assert store.unfinished() == first
    assert store.latest("promotion", "swap") == second.at(over)
    assert begin(first.order, first.origin) == first.progress


def test_files_are_for_the_operator_only(tmp_path):
    """Nobody else may read a journal, or what a router is configured with."""
    store = OperationStore(tmp_path)
    made = store.create(journal(), {"d": DATA})
    folder = tmp_path / "operations" / made.id
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert sorted(path.name for path in folder.iterdir()) == ["d.toml", "journal.json"]


def test_a_kept_configuration_is_what_its_digest_says_or_nothing(tmp_path):
    """A changed or missing file is none."""
    digest, store = sha256(DATA).hexdigest(), OperationStore(tmp_path)
    made = store.create(journal(digest), {digest: DATA})
    assert store.config(made, digest) == DATA
    (tmp_path / "operations" / made.id / f"{digest}.toml").write_bytes(DATA + b" ")
    assert store.config(made, digest) is None
    assert store.config(made, "b" * 64) is None


def test_a_folder_without_a_journal_was_never_an_operation(tmp_path):
    """A command that was killed while it wrote one left nothing to take up; its number is used."""
    store = OperationStore(tmp_path)
    (tmp_path / "operations" / "000007-promotion-swap").mkdir(parents=True)
    (tmp_path / "operations" / "notes").mkdir()
    assert store.unfinished() is None
    assert store.create(journal(), {}).id == "000008-promotion-swap"


def test_a_damaged_journal_is_told_and_never_passed_over(tmp_path):
    """Whoever guessed would start a second process."""
    store = OperationStore(tmp_path)
    path = tmp_path / "operations" / store.create(journal(), {}).id / "journal.json"
    path.write_bytes(path.read_bytes()[:-30])
    assert code_of(store.unfinished) == "operation_unreadable"
    assert code_of(store.latest, "promotion", "swap") == "operation_unreadable"
    path.unlink()
    path.mkdir()
    assert code_of(store.unfinished) == "operation_unreadable"


def test_a_journal_is_that_of_its_folder(tmp_path):
    """One that was copied there would be saved elsewhere, or anywhere; nothing is guessed."""
    store = OperationStore(tmp_path)
    made = store.create(journal(), {})
    path = tmp_path / "operations" / made.id / "journal.json"
    path.write_bytes(path.read_bytes().replace(made.id.encode(), b"../../../kanarie"))
    assert code_of(store.unfinished) == "operation_unreadable"
    path.unlink()
    os.mkfifo(path)
    assert code_of(store.unfinished) == "operation_unreadable"


def test_a_number_is_never_one_that_is_not_found_again(tmp_path):
    """Seven digits are found and counted, and where there are no more, nothing is begun."""
    store = OperationStore(tmp_path)
    for name in ("999999-mode-x", "notes", "000003", "1-mode-x"):
        (tmp_path / "operations" / name).mkdir(parents=True)
    made = store.create(journal(), {})
    assert made.id == "1000000-promotion-swap"
    assert store.unfinished() == made
    (tmp_path / "operations" / "999999999-mode-x").mkdir()
    assert code_of(store.create, journal(), {}) == "operation_not_saved"
    assert store.unfinished() == made


def test_what_cannot_be_written_is_told(tmp_path):
    """A home that is a file, a journal that is a folder."""
    (tmp_path / "file").write_text("")
    broken = OperationStore(tmp_path / "file")
    assert code_of(lambda: hold_lock(tmp_path / "file").__enter__()) == "operation_not_saved"
    assert code_of(broken.unfinished) == "operation_unreadable"
    store = OperationStore(tmp_path)
    made = store.create(journal(), {})
    (tmp_path / "operations" / made.id / "journal.json.new").mkdir()
    assert code_of(store.save, made) == "operation_not_saved"
    assert store.unfinished() == made
    (tmp_path / "operations").chmod(0o700)
    (tmp_path / "operations" / "000002-promotion-swap").write_text("")
    assert code_of(store.create, journal(), {"x/y": DATA}) == "operation_not_saved"


def test_the_lock_is_free_again_when_it_is_left(tmp_path):
    """Held twice by nobody, whatever happens inside."""
    for _ in range(2):
        with suppress(ZeroDivisionError), hold_lock(tmp_path):
            assert code_of(lambda: hold_lock(tmp_path).__enter__()) == "lifecycle_locked"
            raise ZeroDivisionError


def test_a_routers_file_keeps_its_mode_and_its_predecessor(tmp_path):
    """Who could read it still can; what it held is beside it, once."""
    path = tmp_path / "router.toml"
    path.write_bytes(b"old")
    path.chmod(0o644)
    _replace(path, b"old")
    assert [each.name for each in tmp_path.iterdir()] == ["router.toml"]
    _replace(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o644)
    (kept,) = [each for each in tmp_path.iterdir() if each.suffix == ".bak"]
    assert kept.read_bytes() == b"old"
    _replace(tmp_path / "fresh.toml", b"x")
    assert (tmp_path / "fresh.toml").stat().st_mode & 0o777 == 0o600
    assert (
        code_of(_replace, tmp_path / "none" / "router.toml", b"x") == "router_config_not_installed"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_a_routers_file_keeps_its_owner(tmp_path):
    """An operator who may do everything does not lock the router out of its own file."""
    path = tmp_path / "router.toml"
    path.write_bytes(b"old")
    os.chown(path, 12_345, 12_346)
    path.chmod(0o600)
    _replace(path, b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (12_345, 12_346, 0o600)


def test_what_a_killed_writer_left_beside_a_file_is_overwritten(tmp_path):
    """With the mode of the file, and not through a link."""
    path = tmp_path / "x"
    (tmp_path / "x.new").write_bytes(b"longer than what follows")
    (tmp_path / "x.new").chmod(0o666)
    write_whole(path, b"y")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"y", 0o600)
    (tmp_path / "x.new").symlink_to(tmp_path / "elsewhere")
    write_whole(path, b"z")
    assert path.read_bytes() == b"z"
    assert not path.is_symlink()
    assert not (tmp_path / "elsewhere").exists()
