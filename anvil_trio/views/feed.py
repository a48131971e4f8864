"""The messages of the live feed: one JSON object each, with the keys listed here and no others.

Whatever passes through the bus is free of content already (R012); a record is shown by its own
allow-list, a reason by the closed lists of the pages.
"""

from enum import StrEnum

import msgspec

from anvil_trio.decisions.events import (
    Decided,
    Event,
    IntentChanged,
    ReadinessChanged,
)
from anvil_trio.decisions.record import render_line
from anvil_trio.views.readiness import show_change

__all__ = [
    "FEED_SCHEMA",
    "MessageType",
    "render_dropped",
    "render_event",
    "render_heartbeat",
    "render_hello",
]

FEED_SCHEMA = "anvil-router-events/v1"
"""Name and version; a reader that knows another version should not read on."""

_encode = msgspec.json.Encoder().encode


class MessageType(StrEnum):
    """What a message tells; its `type`."""

    HELLO = "hello"
    REQUEST = "request"
    READINESS = "readiness"
    INTENT = "intent"
    DRAIN = "drain"
    DROPPED = "dropped"
    HEARTBEAT = "heartbeat"


def render_hello(router_version: str, heartbeat_interval_s: float) -> str:
    """The first message: which schema follows, and how long the feed is silent at most."""
    return _render(
        MessageType.HELLO,
        schema=FEED_SCHEMA,
        router_version=router_version,
        heartbeat_interval_s=heartbeat_interval_s,
    )


def render_event(event: Event) -> str:
    """One thing that has happened."""
    match event:
        case Decided():
            record = msgspec.Raw(render_line(event.record).rstrip())
            return _render(MessageType.REQUEST, record=record)
        case ReadinessChanged():
            shown = show_change(is_ready=event.is_ready, reason=event.reason)
            return _render(
                MessageType.READINESS,
                tier_id=event.tier_id,
                member_id=event.member_id or None,  # a direct tier's has no name
                ready=shown.is_ready,
                reason=shown.reason,
            )
        case IntentChanged():
            return _render(
                MessageType.INTENT,
                tier_id=event.tier_id,
                member_id=event.member_id,
                quiesced=event.is_quiesced,
            )
        case _:
            return _render(
                MessageType.DRAIN,
                tier_id=event.tier_id,
                member_id=event.member_id,
                phase=event.phase.value,
            )


def render_dropped(count: int) -> str:
    """How many events the reader was too slow for, just before the one that follows."""
    return _render(MessageType.DROPPED, count=count)


def render_heartbeat() -> str:
    """Nothing has happened for a while, and the feed still stands."""
    return _render(MessageType.HEARTBEAT)


def _render(kind: MessageType, **fields: object) -> str:
    return _encode({"type": kind.value, **fields}).decode()
