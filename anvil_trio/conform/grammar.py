"""What the three stream grammars share: events out of bytes, JSON read with suspicion. Pure.

It shares no code with the router's own dialects, so that neither can hide a fault of the other.
Every refusal is a fixed text: nothing of a stream is repeated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

import msgspec
from pydantic import JsonValue

__all__ = [
    "Frame",
    "GrammarError",
    "JsonObject",
    "as_count",
    "as_list",
    "as_object",
    "as_text",
    "fail",
    "frames_in",
    "list_in",
    "must",
    "named_events",
    "object_in",
    "parse_json",
    "parse_object",
    "text_in",
]

JsonObject: TypeAlias = dict[str, JsonValue]


class GrammarError(Exception):
    """The first thing that a stream does wrong, in fixed words."""


def fail(why: str) -> NoReturn:
    """Refuse the stream."""
    raise GrammarError(why)


def must(holds: object, why: str) -> None:
    """Refuse the stream unless something holds."""
    if not holds:
        raise GrammarError(why)


@dataclass(frozen=True, slots=True)
class Frame:
    """One event: its name if it has one, and its data, which is one line."""

    name: bytes | None
    data: bytes


def frames_in(stream: bytes) -> Iterator[Frame]:
    """The events of a stream whose lines end in LF; comments are dropped, alone or before one."""
    blocks = stream.split(b"\n\n")
    must(blocks.pop() == b"", "the last event has no blank line")
    for block in blocks:
        lines = [line for line in block.split(b"\n") if not line.startswith(b":")]
        if lines:
            yield _frame(lines)


def _frame(lines: list[bytes]) -> Frame:
    *heads, last = lines
    must(last.startswith(b"data:"), "an event does not end with one data line")
    must(len(heads) <= 1, "an event has more lines than a name and its data")
    name = None
    for head in heads:
        must(head.startswith(b"event:"), "an event has another line than a name and its data")
        name = _value(head)
    return Frame(name, _value(last))


def _value(line: bytes) -> bytes:
    return line.partition(b":")[2].removeprefix(b" ")


def named_events(stream: bytes) -> Iterator[JsonObject]:
    """The events of Messages and Responses: each has a name, and its data the same `type`."""
    for frame in frames_in(stream):
        must(frame.name is not None, "an event has no name")
        event = parse_object(frame.data)
        must(
            text_in(event, "type").encode() == frame.name,
            "the name and the type of an event differ",
        )
        yield event


def parse_json(data: bytes | str) -> JsonValue:
    """Any JSON value; GrammarError if it is none."""
    try:
        found: JsonValue = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        fail("something is not JSON")
    return found


def parse_object(data: bytes | str) -> JsonObject:
    """A JSON object; GrammarError if it is none."""
    return as_object(parse_json(data))


def as_object(value: JsonValue) -> JsonObject:
    """The value, which must be an object."""
    return value if isinstance(value, dict) else fail("an object is missing or is none")


def as_list(value: JsonValue) -> list[JsonValue]:
    """The value, which must be a list."""
    return value if isinstance(value, list) else fail("a list is missing or is none")


def as_text(value: JsonValue) -> str:
    """The value, which must be a string."""
    return value if isinstance(value, str) else fail("a text is missing or is none")


def as_count(value: JsonValue) -> int:
    """The value, which must be a whole number from 0."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count and isinstance(value, int) else fail("a count is missing or is none")


def object_in(holder: JsonObject, name: str) -> JsonObject:
    """The object of that name."""
    return as_object(holder.get(name))


def list_in(holder: JsonObject, name: str) -> list[JsonValue]:
    """The list of that name."""
    return as_list(holder.get(name))


def text_in(holder: JsonObject, name: str) -> str:
    """The string of that name."""
    return as_text(holder.get(name))
