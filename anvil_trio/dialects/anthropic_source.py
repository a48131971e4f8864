"""A Messages caller's own body for Messages engines: every member as sent, but for a few changes.

Only the members that must change are written anew, and only then.
"""

import msgspec

from anvil_trio.config.model import Compat
from anvil_trio.dialects.messages_history import BILLING_HEADER
from anvil_trio.dialects.raw_json import (
    ABSENT,
    is_empty_list,
    is_given,
    is_list,
    is_string,
    items_of,
    members_of,
    raw_of,
    with_members,
)

__all__ = ["message_fields"]

Fields = dict[str, msgspec.Raw]

_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_SYSTEM_ROLES = frozenset({"system", "developer"})
_SYSTEM, _USER = msgspec.Raw(b'"system"'), msgspec.Raw(b'"user"')
_TEXT = msgspec.json.Decoder(str)
_EMPTY = msgspec.Raw(b'""')
_IDLE_CHOICES = frozenset({"auto", "none"})


class _Kind(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None


class _Turn(msgspec.Struct, gc=False):
    role: str
    content: str | list[_Kind]


_KINDS = msgspec.json.Decoder(list[_Kind])
_TURNS = msgspec.json.Decoder(list[_Turn])
_KIND = msgspec.json.Decoder(_Kind)


def message_fields(source: bytes, compat: Compat, dropped: set[str]) -> Fields:
    """The members of a checked Messages body as this tier's engines take them; nulls are left out.

    Fixed names of what was dropped altogether are added to `dropped`.
    """
    fields = {name: raw for name, raw in members_of(source).items() if is_given(raw)}
    if compat.drop_billing_header:
        _drop_billing_header(fields, dropped)
    _shape_turns(fields, compat, dropped)
    _drop_idle(fields, dropped)
    return fields


def _drop_billing_header(fields: Fields, dropped: set[str]) -> None:
    system = fields.get("system", ABSENT)
    if is_list(system) and (kinds := _KINDS.decode(system)):
        if (kinds[0].text or "").startswith(BILLING_HEADER):
            _set_or_drop(fields, "system", items_of(system)[1:])
            dropped.add("system.billing_header")
    elif is_string(system) and _TEXT.decode(system).startswith(BILLING_HEADER):
        del fields["system"]
        dropped.add("system.billing_header")


def _set_or_drop(fields: Fields, name: str, items: list[msgspec.Raw]) -> None:
    if items:
        fields[name] = raw_of(items)
    else:
        del fields[name]


def _shape_turns(fields: Fields, compat: Compat, dropped: set[str]) -> None:
    """Thoughts of earlier turns and system messages amid the conversation, as the tier wants."""
    turns = _TURNS.decode(fields["messages"])
    raws = items_of(fields["messages"])
    made = []
    merged: list[msgspec.Raw] = []
    for turn, raw in zip(turns, raws, strict=True):
        if turn.role in _SYSTEM_ROLES:
            if compat.system_position == "merge_first":
                merged += _as_blocks(members_of(raw)["content"])
                continue
            made.append(_with_role(turn, raw, compat))
        elif turn.role == "assistant" and compat.reasoning_history == "drop":
            kept = _without_thoughts(turn, raw, dropped)
            made += [] if kept is None else [kept]
        else:
            made.append(raw)
    if merged:
        fields["system"] = raw_of([*_as_blocks(fields.get("system", ABSENT)), *merged])
    if made != raws:
        fields["messages"] = raw_of(made)


def _with_role(turn: _Turn, raw: msgspec.Raw, compat: Compat) -> msgspec.Raw:
    if compat.system_position == "as_user":
        return with_members(raw, {"role": _USER})
    if turn.role == "developer" and compat.developer_role == "system":
        return with_members(raw, {"role": _SYSTEM})
    return raw


def _without_thoughts(turn: _Turn, raw: msgspec.Raw, dropped: set[str]) -> msgspec.Raw | None:
    """The turn without its thoughts; None if it held nothing else."""
    if isinstance(turn.content, str) or not any(kind.type in _THOUGHTS for kind in turn.content):
        return raw
    dropped.add("thinking_history")
    blocks = items_of(members_of(raw)["content"])
    kept = [
        block
        for kind, block in zip(turn.content, blocks, strict=True)
        if kind.type not in _THOUGHTS
    ]
    return with_members(raw, {"content": raw_of(kept)}) if kept else None


def _as_blocks(raw: msgspec.Raw) -> list[msgspec.Raw]:
    """A system prompt or a turn's content as blocks."""
    if not is_given(raw):
        return []
    return [raw_of({"type": "text", "text": raw})] if is_string(raw) else items_of(raw)


def _drop_idle(fields: Fields, dropped: set[str]) -> None:
    """Empty stop strings, which would stop at once, and tools that are none."""
    stops = fields.get("stop_sequences", ABSENT)
    if is_given(stops):
        left = [stop for stop in items_of(stops) if stop != _EMPTY]
        if len(left) < len(items_of(stops)) or not left:
            _set_or_drop(fields, "stop_sequences", left)
            dropped |= set() if left else {"stop_sequences"}
    if is_empty_list(fields.get("tools", ABSENT)):
        del fields["tools"]
        dropped.add("tools")
    choice = fields.get("tool_choice", ABSENT)
    if "tools" not in fields and is_given(choice) and _KIND.decode(choice).type in _IDLE_CHOICES:
        del fields["tool_choice"]
        dropped.add("tool_choice")
