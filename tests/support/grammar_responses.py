"""The grammar of a Responses event stream, checked from the outside: bytes in, verdict out.

Stricter than any client: it knows nothing of the code that it judges, and every rule is one that
some client relies on.
"""

import json
from dataclasses import dataclass, field
from typing import Any

__all__ = ["GrammarError", "ResponsesStream", "check_responses_stream"]

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


class GrammarError(Exception):
    """What is wrong with a stream."""


@dataclass(slots=True)
class _Open:
    """The item that is being said."""

    index: int
    item: dict[str, Any]
    part: str | None = None
    parts: list[str] = field(default_factory=list)
    said: str = ""
    is_text_done: bool = False


@dataclass(slots=True)
class ResponsesStream:
    """A stream that keeps the grammar: its events and how it ended."""

    events: list[dict[str, Any]]
    response: dict[str, Any]

    @property
    def output(self) -> list[dict[str, Any]]:
        """The items of the final response."""
        output: list[dict[str, Any]] = self.response["output"]
        return output

    def without_ids(self) -> dict[str, Any]:
        """The final response without what is made anew for each."""
        kept = {
            k: v for k, v in self.response.items() if k not in {"id", "created_at", "completed_at"}
        }
        kept["output"] = [{k: v for k, v in item.items() if k != "id"} for item in self.output]
        return kept


def check_responses_stream(data: bytes) -> ResponsesStream:
    """The events of a whole stream. Raises GrammarError, which says what is wrong."""
    checker = _Checker()
    events = [_parsed(block) for block in _blocks(data)]
    for event in events:
        checker.take(event)
    _must(checker.final is not None, "no terminal event")
    assert checker.final is not None
    return ResponsesStream(events, checker.final)


def _must(holds: bool, words: str) -> None:
    if not holds:
        raise GrammarError(words)


def _blocks(data: bytes) -> list[bytes]:
    blocks = data.split(b"\n\n")
    _must(blocks.pop() == b"", "the last event is not ended")
    return blocks


def _parsed(block: bytes) -> dict[str, Any]:
    lines = [line for line in block.split(b"\n") if not line.startswith(b":")]
    _must(len(lines) == 2, f"an event has {len(lines)} lines")
    name, data = lines
    _must(name.startswith(b"event: ") and data.startswith(b"data: "), "not a named event")
    event: dict[str, Any] = json.loads(data[6:])
    _must(event.get("type") == name[7:].decode(), "the name and the type differ")
    return event


class _Checker:
    def __init__(self) -> None:
        self.count = 0
        self.final: dict[str, Any] | None = None
        self.first: dict[str, Any] = {}
        self.open: _Open | None = None
        self.done: list[dict[str, Any]] = []
        self.ids: set[str] = set()

    def take(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        _must(self.final is None, f"{kind} after the end")
        _must(event.get("sequence_number") == self.count, f"{kind} is not numbered {self.count}")
        if self.count < len(_LIFECYCLE):
            _must(kind == _LIFECYCLE[self.count], f"{kind} at {self.count}")
            self._begin(event["response"])
        elif kind in _TERMINAL:
            self._end(kind, event["response"])
        elif kind == "response.output_item.added":
            self._add(event)
        else:
            self._in_item(kind, event)
        self.count += 1

    def _begin(self, response: dict[str, Any]) -> None:
        _must(set(response) >= _REQUIRED, f"lacks {sorted(_REQUIRED - set(response))}")
        _must(response["status"] == "in_progress" and response["output"] == [], "not a beginning")
        _must(response["usage"] is None and response["error"] is None, "counts at the beginning")
        _must(not self.first or response == self.first, "the response has changed")
        self.first = response

    def _end(self, kind: str, response: dict[str, Any]) -> None:
        status = _TERMINAL[kind]
        _must(response["status"] == status, f"{kind} with status {response['status']}")
        _must(response["output"] == self.done, "the output is not what was streamed")
        changing = {"status", "output", "usage", "error", "incomplete_details", "completed_at"}
        for name in set(self.first) - changing:
            _must(response.get(name) == self.first[name], f"{name} has changed")
        _must((response["error"] is not None) == (status == "failed"), "an error, or none")
        _must((response["incomplete_details"] is not None) == (status == "incomplete"), "details")
        if status != "failed":
            _must(self.open is None, "an item is still open")
            usage = response["usage"]
            total = usage["input_tokens"] + usage["output_tokens"]
            _must(usage["total_tokens"] == total, "the counts do not add up")
        if status == "completed":
            _must(all(item["status"] == "completed" for item in self.done), "an item was cut")
        self.final = response

    def _add(self, event: dict[str, Any]) -> None:
        _must(self.open is None, "two items are open")
        item = event["item"]
        _must(event["output_index"] == len(self.done), "a gap in the output")
        _must(item["status"] == "in_progress", "an item begins as it ends")
        _must(item["id"] not in self.ids, "an id was used twice")
        self.ids.add(item["id"])
        for empty in ("content", "summary"):
            _must(item.get(empty, []) == [], "an item begins with content")
        if item["type"] == "function_call":
            _must(item["arguments"] == "" and item["call_id"] and item["name"], "not a new call")
        self.open = _Open(event["output_index"], item)

    def _in_item(self, kind: str, event: dict[str, Any]) -> None:
        now = self.open
        _must(now is not None, f"{kind} outside of an item")
        assert now is not None
        _must(event["output_index"] == now.index, f"{kind} for another item")
        if kind == "response.output_item.done":
            self._close(now, event["item"])
            return
        _must(event["item_id"] == now.item["id"], f"{kind} for another id")
        group, _, step = kind.rpartition(".")
        if group in _PARTS and step in {"added", "done"}:
            self._part(now, event, group, step)
        elif group in _TEXTS and step in {"delta", "done"}:
            _must(now.part == _TEXTS[group], f"{kind} in a part of {now.part}")
            _must(event.get("content_index", event.get("summary_index")) == len(now.parts), "index")
            self._text(now, event, step, "text")
        elif group == _CALL and step in {"delta", "done"}:
            _must(now.item["type"] == "function_call", f"{kind} outside of a call")
            self._text(now, event, step, "arguments")
        else:
            raise GrammarError(f"{kind} is not known")

    def _part(self, now: _Open, event: dict[str, Any], group: str, step: str) -> None:
        index, kinds = _PARTS[group]
        part = event["part"]
        _must(event[index] == len(now.parts), "a gap in the parts")
        _must(part["type"] == kinds.get(now.item["type"]), f"{part['type']} in {now.item['type']}")
        if step == "added":
            _must(now.part is None and part["text"] == "", "not a new part")
            now.part, now.said, now.is_text_done = part["type"], "", False
        else:
            _must(now.part == part["type"] and now.is_text_done, "the part was not said")
            _must(part["text"] == now.said, "the part is not what was said")
            now.parts.append(now.said)
            now.part = None

    def _text(self, now: _Open, event: dict[str, Any], step: str, whole: str) -> None:
        _must(not now.is_text_done, "more after the end of a text")
        if step == "delta":
            _must(bool(event["delta"]), "an empty piece")
            now.said += event["delta"]
        else:
            _must(event[whole] == now.said, "the text is not what was said")
            now.is_text_done = True

    def _close(self, now: _Open, item: dict[str, Any]) -> None:
        _must(now.part is None, "a part is still open")
        _must(item["status"] in {"completed", "incomplete"}, "an item ends as it began")
        for name in ("id", "type", "call_id", "name", "role"):
            _must(item.get(name) == now.item.get(name), f"{name} has changed")
        if item["type"] == "function_call":
            _must(item["arguments"] == now.said, "the arguments are not what was said")
            is_done = item["status"] == "completed"
            _must(now.is_text_done == is_done, "arguments are done if and only if they are whole")
        else:
            parts = [*item.get("summary", []), *item.get("content", [])]
            _must([part["text"] for part in parts] == now.parts, "the parts are not what was said")
            _must(bool(parts), "an item without parts")
        self.done.append(item)
        self.open = None
