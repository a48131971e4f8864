"""The journal: what is written is what is read, and half of it is nothing."""

import json

import msgspec
import pytest

from anvil_trio.lifecycle.journal import (
    MAX_JOURNAL_BYTES,
    SCHEMA,
    CorruptJournal,
    parse_journal,
    render_journal,
)
from anvil_trio.lifecycle.plans import plan_promotion
from anvil_trio.lifecycle.progress import Goal, advance, entered
from tests.lifecycle.samples import MANIFEST

PLAN = MANIFEST.promotions[0]
JOURNAL = plan_promotion(PLAN, MANIFEST, ("a" * 64, "b" * 64), "/somewhere")
DOCUMENT = json.loads(render_journal(JOURNAL))


def changed(**keys: object) -> bytes:
    """A journal with other values."""
    return json.dumps({**DOCUMENT, **keys}).encode()


def test_what_is_written_is_what_is_read():
    """Every field comes back, in the schema and with the status that the file shows."""
    going = JOURNAL.at(advance(entered(JOURNAL.progress))).failed("gate_failed")
    assert parse_journal(render_journal(going)) == going
    assert (DOCUMENT["schema"], DOCUMENT["status"], DOCUMENT["step"]) == (
        SCHEMA,
        "planned",
        "start",
    )
    assert json.loads(render_journal(going))["status"] == "running"
    assert going.progress == advance(entered(JOURNAL.progress))


def test_the_sides_are_those_of_the_goal():
    """Towards the target its side takes over; on the way back the other one does."""
    assert (JOURNAL.side, JOURNAL.other_side) == (JOURNAL.target, JOURNAL.rollback)
    back = msgspec.structs.replace(JOURNAL, goal=Goal.ROLLBACK)
    assert (back.side, back.other_side) == (JOURNAL.rollback, JOURNAL.target)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        render_journal(JOURNAL)[:-40],
        json.dumps({**DOCUMENT, "kanarie": 1}).encode(),
        json.dumps({**DOCUMENT, "status": "kanarie"}).encode(),
        json.dumps({**DOCUMENT, "step": "kanarie"}).encode(),
        json.dumps({**DOCUMENT, "schema": "kanarie/v2"}).encode(),
        json.dumps({key: value for key, value in DOCUMENT.items() if key != "goal"}).encode(),
        b" " * (MAX_JOURNAL_BYTES + 1),
        b"[" * 100_000,
        changed(step="readmit", order="stop-first", path="leave"),
        changed(step="gate", path="leave"),
        changed(step=None),
        changed(step=None, status="running"),
        changed(status="complete"),
        changed(drain_timeout_s=0),
        changed(poll_interval_s=-1),
        changed(target={**DOCUMENT["target"], "startup_timeout_s": 0}),
        changed(rollback={**DOCUMENT["rollback"], "config_sha256": "../" * 20 + "kana"}),
        changed(error="/kanarie"),
        changed(error="gate_failed\n"),
    ],
)
def test_a_damaged_journal_is_nothing(data):
    """It is taken as a whole or not at all, and says nothing of what it holds."""
    with pytest.raises(CorruptJournal, match=r"^$"):
        parse_journal(data)
