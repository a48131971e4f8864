"""The journal of an installation as bytes."""

import json

import pytest

from anvil_trio.installation.journal import (
    HOW_TO_GO_ON,
    MAX_JOURNAL_BYTES,
    CorruptJournal,
    Journal,
    parse_journal,
)
from anvil_trio.installation.protocol import Step, Way

JOURNAL = Journal(
    way=Way.RESTART,
    step=Step.DRAIN,
    old_sha256=None,
    new_sha256="f" * 64,
    tiers=("a", "b"),
    closes=("b",),
)
DATA = JOURNAL.render()


def test_what_is_written_is_read():
    """With the words of how to go on, for whoever opens the file."""
    assert parse_journal(DATA) == JOURNAL
    assert json.loads(DATA)["how_to_go_on"] == HOW_TO_GO_ON


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[" * 100_000,
        DATA[:-3],
        DATA.replace(b'"drain"', b'"dance"'),
        DATA.replace(b"install/v1", b"install/v2"),
        DATA.replace(b'"way"', b'"why": 1, "way"'),
        DATA + b" " * MAX_JOURNAL_BYTES,
    ],
    ids=range(8),
)
def test_half_a_journal_is_none(data):
    """Nor is one of another version, or one that is too large."""
    with pytest.raises(CorruptJournal):
        parse_journal(data)


def test_only_from_its_restart_on_an_installation_may_have_stopped_the_router():
    """Before that, a router that does not answer is somebody else's doing."""
    told = {
        step
        for step in Step
        if parse_journal(DATA.replace(b"drain", step.value.encode())).may_be_down
    }
    assert told == {Step.RESTART, Step.AWAIT, Step.RESTART_OLD, Step.AWAIT_OLD}
