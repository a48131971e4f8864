"""The grammar of a Responses event stream, checked from the outside: bytes in, verdict out. Pure.

Stricter than any client: it knows nothing of the code that it judges, and every rule is one that
some client relies on.
"""

from dataclasses import dataclass, field

from pydantic import JsonValue

from anvil_trio.conform.grammar import (
    JsonObject,
    as_count,
    as_object,
    as_text,
    fail,
    list_in,
    must,
    named_events,
    object_in,
    text_in,
)

__all__ = ["ResponsesStream", "read_responses_stream"]

_LIFECYCLE = ("response.created", "response.in_progress")
_TERMINAL = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
_PARTS = {
    "response.content_part": (
        "content_index",
        {"message": "output_text", "reasoning": "reasoning_text"},
    ),
    "response.reasoning_summary_part": ("summary_index", {"reasoning": "summary_text"}),
}
_TEXTS = {
    "response.output_text": "output_text",
    "response.reasoning_text": "reasoning_text",
    "response.reasoning_summary_text": "summary_text",
}
_CALL = "response.function_call_arguments"
_STEPS = {"delta", "done"}
_REQUIRED = frozenset({
    "created_at",
    "error",
    "id",
    "incomplete_details",
    "metadata",
    "model",
    "object",
    "output",
    "parallel_tool_calls",
    "status",
    "tool_choice",
    "tools",
    "usage",
})
_CHANGING = {"status", "output", "usage", "error", "incomplete_details", "completed_at"}


@dataclass(slots=True)
class _Open:
    """The item that is being said."""

    index: int
    item: JsonObject
    part: str | None = None
    parts: list[str] = field(default_factory=list)
    said: str = ""
    is_text_done: bool = False


@dataclass(frozen=True, slots=True)
class ResponsesStream:
    """A stream that keeps the grammar: its events, and the response as it ended."""

    events: list[JsonObject]
    response: JsonObject


def read_responses_stream(stream: bytes) -> ResponsesStream:
    """The events of a whole stream. Raises GrammarError, which says what is wrong."""
    checker = _Checker()
    events = list(named_events(stream))
    for event in events:
        checker.take(event)
    if checker.final is None:
        fail("the stream has no end")
    return ResponsesStream(events, checker.final)


class _Checker:
    def __init__(self) -> None:
        self.final: JsonObject | None = None
        self._count = 0
        self._first: JsonObject = {}
        self._open: _Open | None = None
        self._done: list[JsonValue] = []
        self._ids: set[str] = set()

    def take(self, event: JsonObject) -> None:
        """One event; raises GrammarError if it may not come here."""
        kind = text_in(event, "type")
        must(self.final is None, "something follows the end")
        must(event.get("sequence_number") == self._count, "the events are not numbered from 0")
        if self._count < len(_LIFECYCLE):
            must(kind == _LIFECYCLE[self._count], "the stream does not begin with the response")
            self._begin(object_in(event, "response"))
        elif kind in _TERMINAL:
            self._end(_TERMINAL[kind], object_in(event, "response"))
        elif kind == "response.output_item.added":
            self._add(event)
        else:
            self._in_item(kind, event)
        self._count += 1

    def _begin(self, response: JsonObject) -> None:
        must(response.keys() >= _REQUIRED, "the response lacks a field")
        is_new = response["status"] == "in_progress" and response["output"] == []
        must(is_new, "the response begins with an end")
        is_bare = response["usage"] is None and response["error"] is None
        must(is_bare, "the response begins with counts or an error")
        must(not self._first or response == self._first, "the response has changed")
        self._first = response

    def _end(self, status: str, response: JsonObject) -> None:
        must(response.get("status") == status, "the end and its status differ")
        must(response.get("output") == self._done, "the output is not what was streamed")
        same = all(response.get(one) == self._first[one] for one in self._first.keys() - _CHANGING)
        must(same, "the response has changed")
        has_error = response.get("error") is not None
        must(has_error == (status == "failed"), "an error without a failure, or none with one")
        is_cut = response.get("incomplete_details") is not None
        must(is_cut == (status == "incomplete"), "the end and its details differ")
        if status != "failed":
            must(self._open is None, "an item is still open")
            _check_sum(object_in(response, "usage"))
        if status == "completed":
            items = [as_object(item) for item in self._done]
            must(all(item.get("status") == "completed" for item in items), "an item was cut")
        self.final = response

    def _add(self, event: JsonObject) -> None:
        must(self._open is None, "two items are open")
        item = object_in(event, "item")
        must(event.get("output_index") == len(self._done), "a gap in the output")
        must(item.get("status") == "in_progress", "an item begins as it ends")
        must(text_in(item, "id") not in self._ids, "an id was used twice")
        self._ids.add(text_in(item, "id"))
        is_empty = item.get("content", []) == [] and item.get("summary", []) == []
        must(is_empty, "an item begins with content")
        if item.get("type") == "function_call":
            is_named = item.get("call_id") and item.get("name")
            must(item.get("arguments") == "" and is_named, "a call does not begin with its name")
        self._open = _Open(len(self._done), item)

    def _in_item(self, kind: str, event: JsonObject) -> None:
        now = self._open
        if now is None:
            fail("an event outside of an item")
        must(event.get("output_index") == now.index, "an event for another item")
        if kind == "response.output_item.done":
            self._close(now, object_in(event, "item"))
            return
        must(event.get("item_id") == now.item["id"], "an event for another item")
        group, _, step = kind.rpartition(".")
        if group in _PARTS and step in {"added", "done"}:
            _take_part(now, event, group, step)
        elif group in _TEXTS and step in _STEPS:
            must(now.part == _TEXTS[group], "a text outside of its part")
            index = event.get("content_index", event.get("summary_index"))
            must(index == len(now.parts), "a text for another part")
            _take_text(now, event, step, "text")
        elif group == _CALL and step in _STEPS:
            must(now.item.get("type") == "function_call", "arguments outside of a call")
            _take_text(now, event, step, "arguments")
        else:
            fail("an unknown event")

    def _close(self, now: _Open, item: JsonObject) -> None:
        must(now.part is None, "a part is still open")
        must(item.get("status") in {"completed", "incomplete"}, "an item ends as it began")
        names = ("id", "type", "call_id", "name", "role")
        same = all(item.get(name) == now.item.get(name) for name in names)
        must(same, "an item has changed")
        if item.get("type") == "function_call":
            must(item.get("arguments") == now.said, "the arguments are not what was said")
            is_done = item["status"] == "completed"
            must(now.is_text_done == is_done, "arguments are whole that are not done, or not whole")
        else:
            must(_texts_of(item) == now.parts, "the parts are not what was said")
            must(now.parts, "an item without parts")
        self._done.append(item)
        self._open = None


def _check_sum(usage: JsonObject) -> None:
    total = as_count(usage.get("input_tokens")) + as_count(usage.get("output_tokens"))
    must(usage.get("total_tokens") == total, "the counts do not add up")


def _texts_of(item: JsonObject) -> list[str]:
    parts: list[JsonValue] = []
    for name in ("summary", "content"):
        if item.get(name) is not None:
            parts += list_in(item, name)
    return [text_in(as_object(part), "text") for part in parts]


def _take_part(now: _Open, event: JsonObject, group: str, step: str) -> None:
    index, kinds = _PARTS[group]
    part = object_in(event, "part")
    kind = text_in(part, "type")
    must(event.get(index) == len(now.parts), "a gap in the parts")
    must(kind == kinds.get(as_text(now.item.get("type"))), "a part of another kind than its item")
    if step == "added":
        must(now.part is None and part.get("text") == "", "a part begins within another")
        now.part, now.said, now.is_text_done = kind, "", False
    else:
        must(now.part == kind and now.is_text_done, "a part ends that was not said")
        must(part.get("text") == now.said, "a part is not what was said")
        now.parts.append(now.said)
        now.part = None


def _take_text(now: _Open, event: JsonObject, step: str, whole: str) -> None:
    must(not now.is_text_done, "more after the end of a text")
    if step == "delta":
        must(text_in(event, "delta"), "an empty piece")
        now.said += text_in(event, "delta")
    else:
        must(event.get(whole) == now.said, "a text is not what was said")
        now.is_text_done = True
