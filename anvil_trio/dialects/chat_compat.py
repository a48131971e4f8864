"""The history of a chat, shaped for what a tier's engines take (its `compat` table).

A message is written anew only if one of its members must change, and then only that member.
"""

from collections.abc import Mapping, Sequence

import msgspec

from anvil_trio.config.model import Compat
from anvil_trio.dialects.chat_messages import MESSAGES, Message, ToolCall, is_prefill
from anvil_trio.dialects.raw_json import (
    ABSENT,
    is_given,
    items_of,
    members_of,
    raw_of,
    with_members,
)
from anvil_trio.dialects.tool_calls import mended_arguments

__all__ = ["History", "shape_history"]

_SYSTEM = msgspec.Raw(b'"system"')
_USER = msgspec.Raw(b'"user"')
_EMPTY = msgspec.Raw(b'""')
_NULL = msgspec.Raw(b"null")
_SYSTEM_ROLES = frozenset({"system", "developer"})
_CHANGING_ROLES = frozenset({*_SYSTEM_ROLES, "assistant"})
_CHANGING_BUT_SYSTEM = _CHANGING_ROLES - {"system"}
_REASONING = ("reasoning_content", "reasoning", "reasoning_text")  # the first non-empty one counts
_NO_SUBSTANCE = frozenset({"role", "name", "content", "tool_calls", *_REASONING})
_NO_REASONING = (ABSENT, ABSENT, ABSENT)
_PARAGRAPH = "\n\n"


class History(msgspec.Struct, frozen=True):
    """The messages for the engine, and whether the last one is to be continued."""

    messages: msgspec.Raw  # shows nothing of them
    is_prefill: bool


class _Turn(msgspec.Struct, eq=False):
    """One message, its raw text, and those of its members that must change (None: go)."""

    message: Message
    raw: msgspec.Raw
    changes: dict[str, msgspec.Raw | None] = msgspec.field(default_factory=dict)

    @property
    def is_system(self) -> bool:
        return self.message.role in _SYSTEM_ROLES

    def rendered(self) -> msgspec.Raw:
        return with_members(self.raw, self.changes) if self.changes else self.raw


def shape_history(raw: msgspec.Raw, compat: Compat, roles: frozenset[str]) -> History:
    """The messages as this tier's engines take them; the very same bytes if none must change.

    Most have `roles` from which it is plain that none must: those are not decoded again.
    """
    changing = _CHANGING_BUT_SYSTEM if compat.system_position == "keep" else _CHANGING_ROLES
    if changing.isdisjoint(roles):
        return History(raw, is_prefill=False)
    messages = MESSAGES.decode(raw)
    turns = list(map(_Turn, messages, items_of(raw)))
    kept = turns
    if compat.reasoning_history == "drop":
        kept = [turn for turn in turns if not _is_only_thought(turn)]
    for turn in kept:
        _change_members(turn, compat)
    placed = _place_system(kept, compat)
    is_changed = placed != turns or any(turn.changes for turn in placed)
    return History(
        messages=raw_of([turn.rendered() for turn in placed]) if is_changed else raw,
        is_prefill=is_prefill([turn.message for turn in placed]),
    )


def _change_members(turn: _Turn, compat: Compat) -> None:
    role = turn.message.role
    if role == "developer" and compat.developer_role == "system":
        turn.changes["role"] = _SYSTEM
    elif role == "assistant":
        given = _reasoning_of(turn.message)
        if given:
            _change_reasoning(turn, given, compat)
        if turn.message.is_empty:
            _change_empty_content(turn, compat)
        if turn.message.tool_calls:
            _change_arguments(turn, turn.message.tool_calls)


def _change_reasoning(turn: _Turn, given: Mapping[str, msgspec.Raw], compat: Compat) -> None:
    """Earlier thoughts under the one name that the engine reads, or not at all."""
    wanted = compat.reasoning_history
    if wanted == "as_sent" or list(given) == [wanted]:
        return
    turn.changes.update(dict.fromkeys(given))
    if wanted != "drop":
        turn.changes[wanted] = next((raw for raw in given.values() if _says(raw)), None)


def _change_empty_content(turn: _Turn, compat: Compat) -> None:
    """Content that says nothing, always there and in the one form that the engine takes."""
    wanted, now = ("", _EMPTY) if compat.empty_content == "empty" else (None, _NULL)
    if turn.message.content != wanted:
        turn.changes["content"] = now


def _change_arguments(turn: _Turn, calls: Sequence[ToolCall]) -> None:
    """Arguments as the JSON string that they should have been; a missing one is `{}`."""
    mended = {at: found for at, call in enumerate(calls) if (found := _mended(call)) is not None}
    if mended:
        raws = items_of(members_of(turn.raw)["tool_calls"])
        for at, arguments in mended.items():
            function = with_members(members_of(raws[at])["function"], {"arguments": arguments})
            raws[at] = with_members(raws[at], {"function": function})
        turn.changes["tool_calls"] = raw_of(raws)


def _mended(call: ToolCall) -> msgspec.Raw | None:
    """What must stand in place of this call's arguments, or None."""
    if call.function is None:
        return None
    sent = call.function.arguments
    mended = mended_arguments(sent)
    return None if mended is sent else mended


def _is_only_thought(turn: _Turn) -> bool:
    """Whether dropping the reasoning leaves nothing of this message."""
    if turn.message.role != "assistant" or turn.message.tool_calls or not turn.message.is_empty:
        return False
    if not any(map(_says, _reasoning_of(turn.message).values())):
        return False
    rest = members_of(turn.raw)
    return not any(_says(rest[name]) for name in rest.keys() - _NO_SUBSTANCE)


def _reasoning_of(message: Message) -> dict[str, msgspec.Raw]:
    raws = (message.reasoning_content, message.reasoning, message.reasoning_text)
    if raws == _NO_REASONING:  # as in most, by identity
        return {}
    return {name: raw for name, raw in zip(_REASONING, raws, strict=True) if raw is not ABSENT}


def _says(raw: msgspec.Raw) -> bool:
    return is_given(raw) and raw != _EMPTY


def _place_system(turns: list[_Turn], compat: Compat) -> list[_Turn]:
    """System messages where the engine takes them."""
    if compat.system_position == "as_user":
        for turn in turns[1:]:
            if turn.is_system:
                turn.changes["role"] = _USER
    elif compat.system_position == "merge_first":
        system = [turn for turn in turns if turn.is_system]
        if len(system) > 1:
            system[0].changes["content"] = _merged(system)
        if system:
            return [system[0], *(turn for turn in turns if not turn.is_system)]
    return turns


def _merged(system: Sequence[_Turn]) -> msgspec.Raw:
    """All that the system messages say: one text, or parts where one of them has parts."""
    if not any(isinstance(turn.message.content, list) for turn in system):
        return raw_of(_PARAGRAPH.join(text for turn in system for text in turn.message.text_parts))
    parts: list[msgspec.Raw] = []
    for turn in system:
        if isinstance(turn.message.content, list):
            parts += items_of(members_of(turn.raw)["content"])
        else:
            parts += [raw_of({"type": "text", "text": text}) for text in turn.message.text_parts]
    return raw_of(parts)
