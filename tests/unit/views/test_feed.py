"""The messages of the live feed, key by key."""

import json

import pytest

from anvil_trio.decisions.events import (
    Decided,
    DrainChanged,
    DrainPhase,
    IntentChanged,
    ReadinessChanged,
)
from anvil_trio.decisions.record import render_line
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.views.feed import (
    MessageType,
    render_dropped,
    render_event,
    render_heartbeat,
    render_hello,
)
from anvil_trio.views.readiness import show_change
from tests.unit.decisions.samples import record
from tests.unit.views.samples import canary

TIER, MEMBER = TierId("primary"), MemberId("member-a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            render_hello("0.1.0", 15),
            {
                "type": "hello",
                "schema": "anvil-router-events/v1",
                "router_version": "0.1.0",
                "heartbeat_interval_s": 15,
            },
        ),
        (
            render_event(ReadinessChanged(TIER, MEMBER, is_ready=True, reason="identity_passed")),
            {
                "type": "readiness",
                "tier_id": "primary",
                "member_id": "member-a",
                "ready": True,
                "reason": "identity_passed",
            },
        ),
        (
            render_event(
                ReadinessChanged(TIER, DIRECT_MEMBER, is_ready=False, reason="health_http_503")
            ),
            {
                "type": "readiness",
                "tier_id": "primary",
                "member_id": None,
                "ready": False,
                "reason": "health_http_503",
            },
        ),
        (
            render_event(IntentChanged(TIER, None, is_quiesced=True)),
            {"type": "intent", "tier_id": "primary", "member_id": None, "quiesced": True},
        ),
        (
            render_event(DrainChanged(TIER, MEMBER, DrainPhase.ABANDONED)),
            {
                "type": "drain",
                "tier_id": "primary",
                "member_id": "member-a",
                "phase": "abandoned",
            },
        ),
        (render_dropped(3), {"type": "dropped", "count": 3}),
        (render_heartbeat(), {"type": "heartbeat"}),
    ],
    ids=str,
)
def test_each_message_has_these_keys_and_no_others(text, message):
    """R012: whole messages, value by value."""
    assert json.loads(text) == message
    assert message["type"] in set(MessageType)


def test_a_record_is_shown_by_its_own_list():
    """What the journal would write of it, and nothing else."""
    made = record()
    assert json.loads(render_event(Decided(made))) == {
        "type": "request",
        "record": json.loads(render_line(made)),
    }


def test_a_message_is_one_line():
    """So that a log of the feed has one message a line."""
    assert "\n" not in render_event(Decided(record()))


@pytest.mark.parametrize(
    ("is_ready", "reason", "shown"),
    [
        (True, "health_passed", (True, "health_passed")),
        (True, "health_transport", (False, "health_transport")),
        (True, canary("reason"), (False, "unavailable")),
        (False, "identity_passed", (False, "unavailable")),
        (False, canary("reason"), (False, "unavailable")),
        (False, "upstream_metadata_model_count", (False, "upstream_metadata_model_count")),
    ],
)
def test_a_change_of_readiness_shows_a_listed_reason(is_ready, reason, shown):
    """R012: by the pages' lists; success without a reason of success is none."""
    found = show_change(is_ready=is_ready, reason=reason)
    assert (found.is_ready, found.reason) == shown
