"""docs/live.md: its tables and examples are what the feed does."""

import json
import re

import pytest

from anvil_trio.cli.feed_client import FEED_PATH
from anvil_trio.decisions.events import (
    Decided,
    DrainChanged,
    DrainPhase,
    IntentChanged,
    ReadinessChanged,
)
from anvil_trio.errors import Code, problem
from anvil_trio.exchange.subscribers import MAX_SUBSCRIBERS
from anvil_trio.names import MemberId, TierId
from anvil_trio.server.options import ServerOptions
from anvil_trio.views.feed import (
    FEED_SCHEMA,
    MessageType,
    render_dropped,
    render_event,
    render_heartbeat,
    render_hello,
)
from anvil_trio.web import feed
from anvil_trio.web.router import ROUTES
from anvil_trio.web.websocket import SOCKET_ONLY
from tests.house.tree import ROOT
from tests.unit.decisions.samples import record

PAGE = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
FLAT = " ".join(PAGE.split())
TIER, MEMBER = TierId("replicas"), MemberId("member-b")
MESSAGES = [
    render_hello("0.1.0", 15),
    render_event(Decided(record())),
    render_event(ReadinessChanged(TIER, MEMBER, is_ready=False, reason="health_transport")),
    render_event(IntentChanged(TIER, None, is_quiesced=True)),
    render_event(DrainChanged(TIER, None, DrainPhase.STARTED)),
    render_dropped(1),
    render_heartbeat(),
]


def rows(head: str) -> list[list[str]]:
    """The cells of the table whose head begins so."""
    table = PAGE[PAGE.index(f"\n| {head} |") :].strip().split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table]


def test_the_table_of_messages_is_what_is_sent():
    """Every kind has a row, with exactly its keys in their order."""
    told = [json.loads(message) for message in MESSAGES]
    assert [one["type"] for one in told] == [kind.value for kind in MessageType]
    explained = [
        (kind.strip("`"), re.findall(r"`(\w+)`", keys)) for kind, keys, _ in rows("`type`")
    ]
    assert explained == [(one["type"], [key for key in one if key != "type"]) for one in told]


def test_the_examples_are_messages():
    """As they are rendered."""
    examples = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    assert examples == [json.loads(MESSAGES[0]), json.loads(MESSAGES[2])]


def test_the_phases_of_a_drain_are_named():
    """All of them, in the row of the drain."""
    [row] = [row for row in rows("`type`") if row[0] == "`drain`"]
    assert re.findall(r"`(\w+)`", row[2]) == [phase.value for phase in DrainPhase]


def test_the_refusals_are_those_of_the_error_table():
    """Status and code belong together, and the path and its schema are the real ones."""
    codes = (
        Code.AUTHENTICATION,
        Code.SCOPE_DENIED,
        Code.INVALID_REQUEST,
        Code.SERVER_BUSY,
        Code.SHUTTING_DOWN,
    )
    known = [problem(code) for code in codes]
    expected = [(str(one.status), one.code.value) for one in [*known, SOCKET_ONLY]]
    assert [(status, code.strip("`")) for status, code, _ in rows("status")] == expected
    assert ("GET", FEED_PATH) in ROUTES
    assert FEED_PATH in PAGE
    assert FEED_SCHEMA in PAGE


def test_the_closes_are_those_of_the_code():
    """Code and reason of each."""
    closes = [feed._GOING_AWAY, feed._TOO_SLOW, feed._TOO_BIG]
    assert [(code, reason.strip("`")) for code, reason, _ in rows("close code")] == [
        (str(close.code), close.reason) for close in closes
    ]


@pytest.mark.parametrize(
    "words",
    [
        f"Up to {feed.BUFFER_EVENTS:,} events wait",
        f"above {feed.MAX_CLIENT_BYTES:,} bytes",
        f"{MAX_SUBSCRIBERS} subscribers follow already",
        f"Above {ServerOptions().max_message_bytes >> 20} MiB the server itself",
    ],
)
def test_the_bounds_of_the_page_are_those_of_the_code(words):
    """In the page's words."""
    assert words in FLAT
