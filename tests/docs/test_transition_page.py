"""docs/transition.md: its examples are what the router shows, its tables what it takes."""

import json
import re

from anvil_trio.errors import Code, problem
from anvil_trio.facts import TierPhase
from anvil_trio.intent.document import parse_state
from anvil_trio.intent.intents import Intents
from anvil_trio.transition import order
from anvil_trio.views.transition import project_row
from tests.house.tree import ROOT
from tests.unit.views.samples import (
    REPLICA,
    A,
    B,
    member_snapshot,
    read,
    replica_snapshot,
    replica_tier,
    verdicts,
)

PAGE = (ROOT / "docs" / "transition.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
INTENTS = Intents().quiesced(REPLICA, None, "upgrade").quiesced(REPLICA, B, "disk")


def rows(first: str) -> list[str]:
    """The first cells of the table whose head begins with `first`."""
    table = PAGE[PAGE.index(f"\n| {first} |") :].strip().split("\n\n", 1)[0].splitlines()[2:]
    return [row.split("|")[1].strip().strip("`") for row in table]


def test_the_row_of_the_page_is_a_row():
    """Every key and every value, as the router shows them."""
    members = (member_snapshot(A, 1), member_snapshot(B, is_quiesced=True))
    snapshot = replica_snapshot(1, phase=TierPhase.QUIESCED, is_draining=True, members=members)
    row = project_row(replica_tier(), None, snapshot, INTENTS, verdicts()[0])
    assert EXAMPLES[0] == read(row)


def test_the_file_of_the_page_is_a_file():
    """It is read as the intents of the row."""
    assert parse_state(json.dumps(EXAMPLES[1]).encode()) == INTENTS


def test_the_table_of_actions_is_complete():
    """What can be ordered is explained."""
    assert set(rows("action")) == {action.value for action in order.Action}


def test_the_table_of_keys_is_complete():
    """What a body may hold is explained, and nothing else."""
    assert rows("key") == list(order._Body.model_fields)


def test_the_refusals_of_the_page_are_those_of_the_error_table():
    """Status and code belong together."""
    told = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert [(int(status), code) for status, code in told] == [
        (problem(code).status, code.value)
        for code in (
            Code.INVALID_TRANSITION,
            Code.PAYLOAD_TOO_LARGE,
            Code.SERVER_BUSY,
            Code.TRANSITION_FAILED,
        )
    ]
