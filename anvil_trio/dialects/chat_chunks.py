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
    NULL,
    is_given,
    items_of,
    members_of,
    raw_of,
    with_members,
)

__all__ = [
    "CHUNK",
    "CHUNK_KIND",
    "CallEdit",
    "CallPiece",
    "Choice",
    "Chunk",
    "Delta",
    "DeltaEdit",
    "Holder",
    "edit_choices",
    "renamed",
    "spelled_model",
    "with_model",
    "with_reasoning",
    "without_role",
]

Holder = Literal["delta", "message"]
"""The member of a choice that holds what the model says."""


class CalledFunction(msgspec.Struct, gc=False):
    """The function part of a tool call."""

    name: object = None
    arguments: msgspec.Raw = ABSENT


class CallPiece(msgspec.Struct, gc=False):
    """One tool call, or one piece of it."""

    index: int | None = None
    id: str | int | None = None
    kind: msgspec.Raw = msgspec.field(name="type", default=ABSENT)
    function: CalledFunction | None = None
    custom: msgspec.Raw = ABSENT

    @property
    def arguments(self) -> msgspec.Raw:
        """The arguments, or ABSENT."""
        return ABSENT if self.function is None else self.function.arguments

    @property
    def name(self) -> object:
        """The function's name, or nothing."""
        return None if self.function is None else self.function.name


class Delta(msgspec.Struct, gc=False):
    """What the model says, or a piece of it. "" and null say nothing."""

    role: object = None
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

    index: int | None = None
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
        return self.kind == "error" or (self.error is not ABSENT and is_given(self.error))

    @property
    def missing(self) -> dict[str, msgspec.Raw | None]:
        """Members that a chunk has and this one lacks; clients read them without looking."""
        missing: dict[str, msgspec.Raw | None] = {}
        if not self.kind:
            missing["object"] = CHUNK_KIND
        if self.choices is None:
            missing["choices"] = _NO_CHOICES
        return missing


CHUNK_KIND = msgspec.Raw(b'"chat.completion.chunk"')
_NO_CHOICES = msgspec.Raw(b"[]")
_NOTHING = msgspec.Raw(b"{}")
_MODEL = b'"model"'
_MODEL_IS = _MODEL + b":"
_DELTA = b'"delta":{'
_DELTA_OF_ROLE = b'"delta":{"role":"assistant",'
CHUNK = msgspec.json.Decoder(Chunk)

Changes = Mapping[str, msgspec.Raw | None]
"""New values of some members of an object; None takes a member out."""


@dataclass(frozen=True, slots=True)
class CallEdit:
    """What must change in one tool call, and in its function."""

    call: Changes = field(default_factory=dict)
    function: Changes = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.call or self.function)


@dataclass(frozen=True, slots=True)
class DeltaEdit:
    """What must change in one choice: in itself, in what it says, and in calls by their place."""

    choice: Changes = field(default_factory=dict)
    said: Changes = field(default_factory=dict)
    calls: Mapping[int, CallEdit] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.choice or self.said or self.calls)


def spelled_model(data: bytes, sent: msgspec.Raw) -> bytes | None:
    """The member `model`, which was decoded as `sent`, as its bytes; None if they are not plain.

    Quotes within JSON strings are escaped, so the bytes `"model":"..."` can only be a member. They
    are plain where they are the only `"model"` (and not a member of a member).
    """
    if sent is not ABSENT and data.count(_MODEL) == 1:
        for member in (_MODEL_IS + sent, _MODEL_IS + b" " + sent):
            if member in data:
                return member
    return None


def renamed(data: bytes, member: bytes, model: bytes, events: int) -> bytes | None:
    """So many events with `model` (JSON) for the `member` that each has; None if not each has one.

    `data` holds whole events; each has a model, in whatever spelling.
    """
    if not events == data.count(member) == data.count(_MODEL):
        return None
    return data.replace(member, _MODEL_IS + model)


def with_model(data: bytes, sent: msgspec.Raw, model: bytes) -> bytes:
    """`data` with `model` (JSON) for the engine's own name, which was decoded as `sent`.

    Where it is not plain to see the object is written anew.
    """
    if sent is ABSENT:
        return data
    member = spelled_model(data, sent)
    if member is None:
        return bytes(with_members(data, {"model": msgspec.Raw(model)}))
    return data.replace(member, _MODEL_IS + model)


def edit_choices(data: bytes, holder: Holder, edits: Mapping[int, DeltaEdit]) -> bytes:
    """`data` with some of its choices written anew; `edits` are keyed by place in the list."""
    choices = items_of(members_of(data)["choices"])
    for place, edit in edits.items():
        said = members_of(choices[place]).get(holder, NULL)
        said = said if is_given(said) else _NOTHING
        changes = {**edit.choice, holder: _edited(said, edit)}
        choices[place] = with_members(choices[place], changes)
    return bytes(with_members(data, {"choices": raw_of(choices)}))


def with_reasoning(data: bytes, reasoning: msgspec.Raw) -> bytes | None:
    """`data` with `reasoning_content` added to its one delta; None if it is not plain to see where.

    What `edit_choices` does, at a third of the cost: every thought of some engines needs it.
    """
    before, *after = data.split(_DELTA)
    if len(after) != 1 or data.count(b'"delta"') != 1 or b'"reasoning_content"' in data:
        return None
    return b'%b%b"reasoning_content":%b,%b' % (before, _DELTA, bytes(reasoning), after[0])


def without_role(data: bytes) -> bytes | None:
    """`data` without the role of its one delta; None if it is not plain to see where.

    What `edit_choices` does, at a fraction of the cost: some engines say it in every piece.
    """
    before, *after = data.split(_DELTA_OF_ROLE)
    if len(after) != 1 or data.count(b'"delta"') != 1 or data.count(b'"role"') != 1:
        return None
    return before + _DELTA + after[0]


def _edited(said: msgspec.Raw, edit: DeltaEdit) -> msgspec.Raw:
    changes = dict(edit.said)
    if edit.calls:
        calls = items_of(members_of(said)["tool_calls"])
        for place, call_edit in edit.calls.items():
            calls[place] = _edited_call(calls[place], call_edit)
        changes["tool_calls"] = raw_of(calls)
    return with_members(said, changes) if changes else said


def _edited_call(call: msgspec.Raw, edit: CallEdit) -> msgspec.Raw:
    changes = dict(edit.call)
    if edit.function:
        changes["function"] = with_members(members_of(call)["function"], edit.function)
    return with_members(call, changes)
