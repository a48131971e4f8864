"""What Messages clients rely on and some engines leave out, added to what an engine sent.

Nothing is written anew that lacks nothing. All functions raise msgspec.DecodeError, or
RecursionError, for text that cannot be written anew.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from anvil_trio.dialects.raw_json import NULL, is_object, items_of, members_of, raw_of, with_members

__all__ = ["mended_block", "mended_call", "mended_end", "mended_reply", "mended_start"]

_EMPTY_OBJECT, _EMPTY = msgspec.Raw(b"{}"), msgspec.Raw(b'""')
_IN_BLOCK: Mapping[str, Mapping[str, msgspec.Raw]] = {
    "text": {"text": _EMPTY},
    "thinking": {"thinking": _EMPTY, "signature": _EMPTY},
    "tool_use": {"input": _EMPTY_OBJECT},
}
_IN_DELTA = {"stop_reason": NULL, "stop_sequence": NULL}


def mended_start(data: bytes, ours: bytes, model: msgspec.Raw) -> msgspec.Raw:
    """A `message_start` with the caller's model and all else that our own opening has."""
    needed = members_of(ours)
    message = members_of(data).get("message", NULL)
    whole = _completed(_EMPTY_OBJECT if message == NULL else message, needed)
    whole = with_members(whole, {"model": model})
    whole = _with_whole(whole, "usage", members_of(needed["usage"]))
    return with_members(data, {"message": whole})


def mended_end(data: bytes, output_tokens: int) -> msgspec.Raw:
    """A `message_delta` with a reason, if only null, and a count."""
    whole = _completed(msgspec.Raw(data), {"delta": _EMPTY_OBJECT, "usage": _EMPTY_OBJECT})
    whole = _with_whole(whole, "delta", _IN_DELTA)
    return _with_whole(whole, "usage", {"output_tokens": raw_of(output_tokens)})


def mended_block(block: msgspec.Raw, kind: str) -> msgspec.Raw:
    """A block, whole or as it begins."""
    return _completed(block, _IN_BLOCK.get(kind, {}))


def mended_call(call: msgspec.Raw, call_id: str) -> msgspec.Raw:
    """A call with this id, which is its own unless it has none or that of another."""
    found = raw_of(call_id)
    whole = mended_block(call, "tool_use")
    is_its_own = members_of(whole).get("id") == found
    return whole if is_its_own else with_members(whole, {"id": found})


def mended_reply(
    body: bytes, ours: bytes, model: msgspec.Raw, call_ids: Sequence[str]
) -> msgspec.Raw:
    """A whole reply with the caller's model and all that our own opening has.

    `call_ids` are those of its calls, in their order. One that says not why it ended ended well.
    """
    reason = raw_of("tool_use" if call_ids else "end_turn")
    needed = members_of(ours) | {"stop_reason": reason}
    whole = _completed(msgspec.Raw(body), needed)
    content = _mended_content(members_of(whole)["content"], iter(call_ids))
    whole = with_members(whole, {"model": model, "content": content})
    return _with_whole(whole, "usage", members_of(needed["usage"]))


def _mended_content(content: msgspec.Raw, call_ids: Iterator[str]) -> msgspec.Raw:
    mended = []
    for block in items_of(content):
        kind = msgspec.json.decode(members_of(block)["type"], type=str)
        is_call = kind == "tool_use"
        mended.append(mended_call(block, next(call_ids)) if is_call else mended_block(block, kind))
    return raw_of(mended)


def _with_whole(data: msgspec.Raw, name: str, needed: Mapping[str, msgspec.Raw]) -> msgspec.Raw:
    """The object with a member completed; what is no object is replaced by one."""
    found = members_of(data)[name]
    whole = _completed(found if is_object(found) else _EMPTY_OBJECT, needed)
    return data if whole is found else with_members(data, {name: whole})


def _completed(data: msgspec.Raw, needed: Mapping[str, msgspec.Raw]) -> msgspec.Raw:
    """The object with those of the members that it lacks."""
    if not needed:
        return data
    sent = members_of(data)
    lacks = {
        name: value
        for name, value in needed.items()
        if name not in sent or (value is not NULL and sent[name] == NULL)
    }
    return with_members(data, lacks) if lacks else data
