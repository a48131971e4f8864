"""A strict reader of Anthropic's reply streams: the final message, or what breaks the grammar.

Written from Anthropic's published streaming grammar alone; it shares no code with the encoder.
"""

import json
from typing import Any, NoReturn

__all__ = ["GrammarError", "read_stream"]

DELTA_MEMBERS = {
    "text": {"text_delta": "text"},
    "thinking": {"thinking_delta": "thinking", "signature_delta": "signature"},
    "tool_use": {"input_json_delta": "partial_json"},
}
START_MEMBERS: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}
STOP_REASONS = {"end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"}


class GrammarError(Exception):
    """The first thing that a stream does wrong."""


def fail(why: str) -> NoReturn:
    """Refuse the stream."""
    raise GrammarError(why)


def events_in(stream: bytes) -> list[dict[str, Any]]:
    """The events, each with one name, one data line and the same type within; comments dropped."""
    blocks = stream.split(b"\n\n")
    if blocks.pop() != b"":
        fail("the last event has no blank line")
    events = []
    for block in blocks:
        lines = [line for line in block.split(b"\n") if not line.startswith(b":")]
        if len(lines) != 2:
            fail("an event is not one name and one data line")
        name, data = lines
        if not name.startswith(b"event: ") or not data.startswith(b"data: "):
            fail("an event is not one name and one data line")
        event = json.loads(data[6:])
        if event["type"] != name[7:].decode():
            fail("name and type of an event differ")
        events.append(event)
    return events


class Reader:
    """Follows the events of one stream and builds the message."""

    def __init__(self) -> None:
        self.message: dict[str, Any] | None = None
        self.blocks: list[dict[str, Any]] = []
        self.is_open = False
        self.has_delta = False
        self.is_over = False
        self.error: dict[str, Any] | None = None

    def take(self, event: dict[str, Any]) -> None:
        """One event; raises GrammarError if it may not come here."""
        if self.is_over:
            fail("something follows the end")
        kind = event["type"]
        if kind not in {"message_start", "error"} and self.message is None:
            fail("the stream does not begin with message_start")
        if self.has_delta and kind not in {"message_stop", "ping", "error"}:
            fail("only message_stop may follow message_delta")
        handler = getattr(self, f"on_{kind}", None)
        if handler is None:
            fail("an unknown event")
        handler(event)

    def on_message_start(self, event: dict[str, Any]) -> None:
        """The one first event, without content or an end."""
        if self.message is not None:
            fail("a second message_start")
        message = event["message"]
        if message["content"] or message["stop_reason"] or message["role"] != "assistant":
            fail("message_start is not empty")
        if message["usage"]["input_tokens"] < 0 or not message["id"]:
            fail("message_start without id or count")
        self.message = message

    def on_ping(self, _event: dict[str, Any]) -> None:
        """Means nothing."""

    def on_content_block_start(self, event: dict[str, Any]) -> None:
        """Opens the next block, while none is open."""
        if self.is_open:
            fail("a block starts within another")
        if event["index"] != len(self.blocks):
            fail("block indexes have a gap")
        block = event["content_block"]
        wanted = START_MEMBERS[block["type"]]
        if any(block.get(name) != value for name, value in wanted.items()):
            fail("a block does not start empty")
        if block["type"] == "tool_use":
            used = [one["id"] for one in self.blocks if one["type"] == "tool_use"]
            if not block["id"] or not block["name"] or block["id"] in used:
                fail("a call without name or id of its own")
        self.blocks.append({**block, "partial": ""})
        self.is_open = True

    def on_content_block_delta(self, event: dict[str, Any]) -> None:
        """Adds to the open block, in a delta of its kind."""
        if not self.is_open or event["index"] != len(self.blocks) - 1:
            fail("a delta outside of the open block")
        block, delta = self.blocks[-1], event["delta"]
        member = DELTA_MEMBERS[block["type"]].get(delta["type"])
        if member is None:
            fail("a delta of another kind than its block")
        target = "partial" if member == "partial_json" else member
        block[target] += delta[member]

    def on_content_block_stop(self, event: dict[str, Any]) -> None:
        """Closes the open block."""
        if not self.is_open or event["index"] != len(self.blocks) - 1:
            fail("a stop outside of the open block")
        self.is_open = False

    def on_message_delta(self, event: dict[str, Any]) -> None:
        """The reason and the counts, once, after the last block."""
        if self.is_open:
            fail("message_delta within a block")
        delta, usage = event["delta"], event["usage"]
        if delta["stop_reason"] not in STOP_REASONS:
            fail("no such stop reason")
        if (delta["stop_reason"] == "stop_sequence") != (delta["stop_sequence"] is not None):
            fail("stop reason and sequence do not agree")
        if any(count < 0 for count in usage.values() if isinstance(count, int)):
            fail("a negative count")
        assert self.message is not None
        self.message |= {**delta, "usage": usage}
        self.has_delta = True

    def on_message_stop(self, _event: dict[str, Any]) -> None:
        """The good end."""
        if not self.has_delta:
            fail("message_stop without message_delta")
        self.is_over = True

    def on_error(self, event: dict[str, Any]) -> None:
        """The bad end."""
        if not event["error"]["type"] or not event["error"]["message"]:
            fail("an error that says nothing")
        self.error, self.is_over = event["error"], True


def read_stream(stream: bytes) -> dict[str, Any]:
    """The final message of a stream that ended well, or `{"error": ...}`. Raises GrammarError."""
    reader = Reader()
    for event in events_in(stream):
        reader.take(event)
    if not reader.is_over:
        fail("the stream has no end")
    if reader.error is not None:
        return {"error": reader.error}
    assert reader.message is not None
    content = [settled(block, reader.message["stop_reason"]) for block in reader.blocks]
    return {**reader.message, "content": content}


def settled(block: dict[str, Any], reason: str) -> dict[str, Any]:
    """A block as the final message has it; a call's arguments parsed, unless a limit cut them."""
    partial = block.pop("partial")
    if block["type"] == "tool_use" and partial:
        try:
            block["input"] = json.loads(partial)
        except ValueError:
            if reason == "tool_use":
                fail("a cut call is passed off as whole")
            block["input"] = partial
    return block
