"""A whole reply of an engine: for a Chat caller, or cut into the chunks of a stream."""

import msgspec

from anvil_trio.dialects.chat_chunks import (
    CHUNK,
    CHUNK_KIND,
    CallEdit,
    Chunk,
    Delta,
    DeltaEdit,
    edit_choices,
    with_model,
)
from anvil_trio.dialects.engine_errors import error_problem
from anvil_trio.dialects.ir import RenderedReply, Usage
from anvil_trio.dialects.raw_json import (
    encode,
    is_given,
    is_utf8,
    items_of,
    members_of,
    raw_of,
    with_members,
)
from anvil_trio.dialects.tool_calls import mended_arguments
from anvil_trio.dialects.usage import finish_reason_of, usage_of
from anvil_trio.errors import Code, UpstreamFailed, problem

__all__ = ["chunks_of", "render_reply"]

_BROKEN = (msgspec.DecodeError, RecursionError)
_NULL = msgspec.Raw(b"null")
_NO_USAGE = Usage()


def render_reply(body: bytes, model: str) -> RenderedReply:
    """The reply with the caller's own spelling of the model, and what the record should know.

    Raises UpstreamFailed if it is not a reply: malformed, without choices, or an error object.
    """
    try:
        return _rendered(body, encode(model))
    except _BROKEN:
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR)) from None


def chunks_of(body: bytes) -> list[bytes]:
    """The chunks of the stream that an engine might have sent instead of this reply.

    Each choice is one chunk with all it says and one with its finish reason; the counts, if there
    are any, come last. Raises as `render_reply`.
    """
    try:
        return _cut(body)
    except _BROKEN:
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR)) from None


def _rendered(body: bytes, model: bytes) -> RenderedReply:
    reply = _read(body)
    reason, has_content, edits = None, False, {}
    for place, choice in enumerate(reply.choices or ()):
        assert choice.message is not None, "each has one"
        reason = choice.finish_reason or reason
        has_content = has_content or choice.message.says_something
        edit = _edit_of(choice.message)
        if edit is not None:
            edits[place] = edit
    data = edit_choices(body, "message", edits) if edits else body
    return RenderedReply(
        body=with_model(data, reply.model, model),
        finish_reason=finish_reason_of(reason) if reason else None,
        usage=usage_of(reply.usage) if is_given(reply.usage) else _NO_USAGE,
        has_content=has_content,
    )


def _cut(body: bytes) -> list[bytes]:
    _read(body)
    members = members_of(body)
    usage = members.pop("usage", _NULL)
    members["object"] = CHUNK_KIND
    choices: list[dict[str, msgspec.Raw]] = []
    for raw in items_of(members.pop("choices")):
        said = members_of(raw)
        index = said.get("index", raw_of(len(choices) // 2))
        reason = said.get("finish_reason", _NULL)
        delta = _indexed(said.pop("message"))
        choices.append({**said, "index": index, "delta": delta, "finish_reason": _NULL})
        choices.append({"index": index, "delta": msgspec.Raw(b"{}"), "finish_reason": reason})
    chunks = [encode({**members, "choices": [choice]}) for choice in choices]
    if usage != _NULL:
        chunks.append(encode({**members, "choices": [], "usage": usage}))
    return chunks


def _read(body: bytes) -> Chunk:
    """The reply; it has choices, each with a message. Raises if it is no reply."""
    reply = CHUNK.decode(body)
    if reply.is_error:
        raise UpstreamFailed(error_problem(body))
    choices = reply.choices
    if not choices or None in [choice.message for choice in choices] or not is_utf8(body):
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
    return reply


def _edit_of(message: Delta) -> DeltaEdit | None:
    """What must change in what one choice says, if anything must."""
    reasoning = message.misplaced_reasoning
    if not reasoning and not message.tool_calls:
        return None
    calls = {}
    for place, call in enumerate(message.tool_calls or ()):
        if call.function is not None:
            mended = mended_arguments(call.function.arguments)
            if mended is not call.function.arguments:
                calls[place] = CallEdit(function={"arguments": mended})
    said = {"reasoning_content": raw_of(reasoning)} if reasoning else {}
    return DeltaEdit(said=said, calls=calls) if said or calls else None


def _indexed(message: msgspec.Raw) -> msgspec.Raw:
    """A message as a delta: its tool calls, if any, numbered in their order."""
    raw = members_of(message).get("tool_calls", _NULL)
    if not is_given(raw):
        return message
    calls = [with_members(call, {"index": raw_of(at)}) for at, call in enumerate(items_of(raw))]
    return with_members(message, {"tool_calls": raw_of(calls)})
