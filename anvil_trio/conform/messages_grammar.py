"""A strict reader of Anthropic's reply streams: the final message, or what breaks the grammar.

Pure. Written from Anthropic's published streaming grammar alone; it shares no code with the
encoder.
"""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from anvil_trio.conform.grammar import (
    GrammarError,
    JsonObject,
    as_count,
    fail,
    list_in,
    must,
    named_events,
    object_in,
    parse_json,
    text_in,
)

__all__ = ["read_messages_stream"]

_DELTA_MEMBERS = {
    "text": {"text_delta": "text"},
    "thinking": {"thinking_delta": "thinking", "signature_delta": "signature"},
    "tool_use": {"input_json_delta": "partial_json"},
}
_START_MEMBERS: Mapping[str, JsonObject] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}
_STOP_REASONS = {"end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"}
_AFTER_THE_DELTA = {"message_stop", "ping", "error"}
_PARTIAL = "partial_json"


class _Block:
    """One content block, as far as it has come."""

    def __init__(self, start: JsonObject) -> None:
        self.kind = text_in(start, "type")
        self.start = start
        self.said = dict.fromkeys(_DELTA_MEMBERS.get(self.kind, {}).values(), "")

    def take(self, delta: JsonObject) -> None:
        """More of it."""
        member = _DELTA_MEMBERS[self.kind].get(text_in(delta, "type"))
        if member is None:
            fail("a delta of another kind than its block")
        self.said[member] += text_in(delta, member)

    def whole(self, reason: JsonValue) -> JsonObject:
        """As the final message has it; a call's arguments parsed, unless a limit cut them."""
        if self.kind != "tool_use":
            return {**self.start, **self.said}
        partial = self.said[_PARTIAL]
        if not partial:
            return self.start
        try:
            return {**self.start, "input": parse_json(partial)}
        except GrammarError:
            must(reason != "tool_use", "a cut call is passed off as whole")
            return {**self.start, "input": partial}


class _Reader:
    """Follows the events of one stream and builds the message."""

    def __init__(self, *, is_relayed: bool) -> None:
        self._is_relayed = is_relayed
        self.message: JsonObject = {}
        self.blocks: list[_Block] = []
        self.error: JsonObject | None = None
        self.is_over = False
        self._is_open = self._has_delta = False
        self._handlers: Mapping[str, Callable[[JsonObject], None]] = {
            "message_start": self._on_start,
            "ping": lambda _event: None,
            "content_block_start": self._on_block,
            "content_block_delta": self._on_block_delta,
            "content_block_stop": self._on_block_stop,
            "message_delta": self._on_delta,
            "message_stop": self._on_stop,
            "error": self._on_error,
        }

    def take(self, event: JsonObject) -> None:
        """One event; raises GrammarError if it may not come here."""
        must(not self.is_over, "something follows the end")
        kind = text_in(event, "type")
        is_first = kind in {"message_start", "error"}
        must(is_first or self.message, "the stream does not begin with message_start")
        is_late = self._has_delta and kind not in _AFTER_THE_DELTA
        must(not is_late, "only message_stop may follow message_delta")
        handler = self._handlers.get(kind)
        if handler is None:
            fail("an unknown event")
        handler(event)

    def _on_start(self, event: JsonObject) -> None:
        must(not self.message, "a second message_start")
        message = object_in(event, "message")
        is_empty = list_in(message, "content") == [] and message.get("stop_reason") is None
        must(is_empty and message.get("role") == "assistant", "message_start is not empty")
        as_count(object_in(message, "usage").get("input_tokens"))
        must(text_in(message, "id"), "message_start without an id")
        self.message = message

    def _on_block(self, event: JsonObject) -> None:
        must(not self._is_open, "a block starts within another")
        must(event.get("index") == len(self.blocks), "block indexes have a gap")
        start = object_in(event, "content_block")
        block = _Block(start)
        wanted = _START_MEMBERS.get(block.kind)
        if wanted is None:
            fail("a block of an unknown kind")
        is_empty = all(start.get(name, value) == value for name, value in wanted.items())
        is_full = self._is_relayed or start.keys() >= wanted.keys()
        must(is_empty and is_full, "a block does not start empty")
        if block.kind == "tool_use":
            used = [one.start["id"] for one in self.blocks if one.kind == "tool_use"]
            is_named = text_in(start, "id") and text_in(start, "name") and start["id"] not in used
            must(is_named, "a call without name or id of its own")
        self.blocks.append(block)
        self._is_open = True

    def _on_block_delta(self, event: JsonObject) -> None:
        is_in_it = self._is_open and event.get("index") == len(self.blocks) - 1
        must(is_in_it, "a delta outside of the open block")
        self.blocks[-1].take(object_in(event, "delta"))

    def _on_block_stop(self, event: JsonObject) -> None:
        is_in_it = self._is_open and event.get("index") == len(self.blocks) - 1
        must(is_in_it, "a stop outside of the open block")
        self._is_open = False

    def _on_delta(self, event: JsonObject) -> None:
        must(not self._is_open, "message_delta within a block")
        delta, usage = object_in(event, "delta"), object_in(event, "usage")
        reason, sequence = text_in(delta, "stop_reason"), delta.get("stop_sequence")
        must(reason in _STOP_REASONS, "no such stop reason")
        agree = (reason == "stop_sequence") == (sequence is not None)
        must(agree, "stop reason and sequence do not agree")
        is_negative = any(isinstance(count, int) and count < 0 for count in usage.values())
        must(not is_negative, "a negative count")
        self.message |= {**delta, "usage": {**object_in(self.message, "usage"), **usage}}
        self._has_delta = True

    def _on_stop(self, _event: JsonObject) -> None:
        must(self._has_delta, "message_stop without message_delta")
        self.is_over = True

    def _on_error(self, event: JsonObject) -> None:
        error = object_in(event, "error")
        must(error.get("type") and error.get("message"), "an error that says nothing")
        self.error, self.is_over = error, True


def read_messages_stream(stream: bytes, *, is_relayed: bool = False) -> JsonObject:
    """The final message of a stream that ended well, or `{"error": ...}`. Raises GrammarError.

    A relayed stream is an engine's own: a block may start without the members that are empty.
    """
    reader = _Reader(is_relayed=is_relayed)
    for event in named_events(stream):
        reader.take(event)
    must(reader.is_over, "the stream has no end")
    if reader.error is not None:
        return {"error": reader.error}
    reason = reader.message.get("stop_reason")
    content: list[JsonValue] = [block.whole(reason) for block in reader.blocks]
    return {**reader.message, "content": content}
