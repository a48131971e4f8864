"""What engines that speak Chat Completions send, and writing it anew where it must change.

One set of types serves stream chunks (`delta`) and whole replies (`message`). Members whose shape
varies between engines are typed loosely: a stream is relayed, not judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from anvil_trio.dialects.raw_json import (
    ABSENT,
    encode,
    is_given,
    items_of,
    members_of,
    raw_of,
    with_members,
)

__all__ = [
    "CHUNK",
    "CallEdit",
    "CallPiece",
    "Choice",
    "Chunk",
    "Delta",
    "DeltaEdit",
    "Holder",
    "edit_choices",
    "with_model",
    "with_reasoning",
]

Holder = Literal["delta", "message"]
"""The member of a choice that holds what the model says."""


class CalledFunction(msgspec.Struct, gc=False):
    """The function part of a tool call."""

    arguments: msgspec.Raw = ABSENT


class CallPiece(msgspec.Struct, gc=False):
    """One tool call, or one piece of it."""

    index: int | None = None
    id: str | int | None = None
    function: CalledFunction | None = None

    @property
    def arguments(self) -> msgspec.Raw:
        """The arguments, or ABSENT."""
        return ABSENT if self.function is None else self.function.arguments


class Delta(msgspec.Struct, gc=False):
    """What the model says, or a piece of it. "" and null say nothing."""

    content: object = None
    tool_calls: list[CallPiece] | None = None
    reasoning_content: object = None
    reasoning: object = None
    reasoning_text: object = None

    @property
    def misplaced_reasoning(self) -> object:
        """Reasoning that is not where Chat callers look for it; the first non-empty name counts."""
        return None if self.reasoning_content else self.reasoning or self.reasoning_text

    @property
    def says_something(self) -> bool:
        """Whether there is any text, reasoning or tool call."""
        return bool(
            self.content
            or self.tool_calls
            or self.reasoning_content
            or self.reasoning
            or self.reasoning_text
        )


class Choice(msgspec.Struct, gc=False):
    """One of the answers that were asked for."""

    index: int = 0
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None


class Chunk(msgspec.Struct, gc=False):
    """One event of a stream, or a whole reply."""

    model: msgspec.Raw = ABSENT
    choices: list[Choice] | None = None
    usage: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT
    kind: object = msgspec.field(name="object", default=None)

    @property
    def is_error(self) -> bool:
        """Whether this is an engine's error object in one of its shapes."""
        return self.kind == "error" or is_given(self.error)


_MODEL = b'"model"'
_DELTA = b'"delta":{'
CHUNK = msgspec.json.Decoder(Chunk)


@dataclass(frozen=True, slots=True)
class CallEdit:
    """What must change in one tool call; None where nothing must."""

    index: int | None = None
    arguments: msgspec.Raw | None = None


@dataclass(frozen=True, slots=True)
class DeltaEdit:
    """What must change in what one choice says; `calls` are keyed by place in the list."""

    reasoning: object = None
    calls: Mapping[int, CallEdit] = field(default_factory=dict)


def with_model(data: bytes, sent: msgspec.Raw, model: bytes) -> bytes:
    """`data` with `model` (JSON) for the engine's own name, which was decoded as `sent`.

    Quotes within JSON strings are escaped, so the bytes `"model":"..."` can only be a member. Where
    they are not the only `"model"` (blanks, a member of a member) the object is written anew.
    """
    if sent is ABSENT:
        return data
    before, *after = data.split(b'"model":' + sent)
    if len(after) == 1 and data.count(_MODEL) == 1:
        return before + b'"model":' + model + after[0]
    return bytes(with_members(data, {"model": msgspec.Raw(model)}))


def edit_choices(data: bytes, holder: Holder, edits: Mapping[int, DeltaEdit]) -> bytes:
    """`data` with some of its choices written anew; `edits` are keyed by place in the list."""
    choices = items_of(members_of(data)["choices"])
    for place, edit in edits.items():
        said = members_of(choices[place])[holder]
        choices[place] = with_members(choices[place], {holder: _edited(said, edit)})
    return bytes(with_members(data, {"choices": raw_of(choices)}))


def with_reasoning(data: bytes, reasoning: object) -> bytes | None:
    """`data` with `reasoning_content` added to its one delta; None if it is not plain to see where.

    What `edit_choices` does, at a third of the cost: every thought of some engines needs it.
    """
    before, *after = data.split(_DELTA)
    if len(after) != 1 or data.count(b'"delta"') != 1 or b'"reasoning_content"' in data:
        return None
    return b'%b%b"reasoning_content":%b,%b' % (before, _DELTA, encode(reasoning), after[0])


def _edited(said: msgspec.Raw, edit: DeltaEdit) -> msgspec.Raw:
    changes: dict[str, msgspec.Raw | None] = {}
    if edit.reasoning:
        changes["reasoning_content"] = raw_of(edit.reasoning)
    if edit.calls:
        calls = items_of(members_of(said)["tool_calls"])
        for place, call_edit in edit.calls.items():
            calls[place] = _edited_call(calls[place], call_edit)
        changes["tool_calls"] = raw_of(calls)
    return with_members(said, changes)


def _edited_call(call: msgspec.Raw, edit: CallEdit) -> msgspec.Raw:
    changes: dict[str, msgspec.Raw | None] = {}
    if edit.index is not None:
        changes["index"] = raw_of(edit.index)
    if edit.arguments is not None:
        function = members_of(call)["function"]
        changes["function"] = with_members(function, {"arguments": edit.arguments})
    return with_members(call, changes)
