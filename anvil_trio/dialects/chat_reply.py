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
    ABSENT,
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
    reason, edits = None, {}
    try:
        reply = _read(body)
        for place, choice in enumerate(reply.choices or ()):
            reason, said = choice.finish_reason or reason, choice.message
            assert said is not None, "each has one"
            if said.tool_calls or said.reasoning or said.reasoning_text:
                edit = _edit_of(said)
                if edit is not None:
                    edits[place] = edit
        data = edit_choices(body, "message", edits) if edits else body
        data = with_model(data, reply.model, encode(model))
    except _BROKEN:
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR)) from None
    return RenderedReply(
        body=data,
        finish_reason=finish_reason_of(reason) if reason else None,
        usage=_NO_USAGE if reply.usage is ABSENT else usage_of(reply.usage),
    )


def chunks_of(body: bytes) -> list[bytes]:
    """The chunks of the stream that an engine might have sent instead of this reply.

    Each choice is one chunk with all it says and one with its finish reason; the counts, if there
    are any, come last. Raises as `render_reply`.
    """
    try:
        return _cut(body)
    except _BROKEN:
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR)) from None


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
    if not reply.choices or not (body.isascii() or is_utf8(body)):
        raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
    for choice in reply.choices:
        if choice.message is None:
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR))
    return reply


def _edit_of(message: Delta) -> DeltaEdit | None:
    """What must change in what one choice says, if anything must."""
    reasoning, calls = message.misplaced_reasoning, {}
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
