"""What the engine reads and writes: OpenAI's chat shapes, without a clock or a socket."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from anvil_trio.demo.answer import Piece, Wanted, answer_to, cut
from anvil_trio.demo.text import count_tokens

__all__ = [
    "ChatOrder",
    "Refusal",
    "parse_chat",
    "render_end",
    "render_models",
    "render_piece",
    "render_refusal",
    "render_reply",
    "render_start",
]

_CREATED = 1_700_000_000  # a fixed moment, so that equal requests give equal bytes


class _Part(msgspec.Struct):
    type: str
    text: str = ""


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Part] | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool = False


class _Function(msgspec.Struct):
    name: str
    parameters: dict[str, object] = {}


class _Tool(msgspec.Struct):
    function: _Function | None = None


class _NamedFunction(msgspec.Struct):
    name: str


class _Choice(msgspec.Struct):
    function: _NamedFunction | None = None


class _JsonSchema(msgspec.Struct):
    schema: dict[str, object] = {}


class _ResponseFormat(msgspec.Struct):
    type: str
    json_schema: _JsonSchema | None = None


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    ignore_eos: bool | None = None
    tools: list[_Tool] | None = None
    tool_choice: str | _Choice | None = None
    parallel_tool_calls: bool | None = None
    response_format: _ResponseFormat | None = None
    reasoning_effort: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request the engine does not take, in OpenAI's words."""

    status: int
    message: str
    code: str


@dataclass(frozen=True, slots=True)
class ChatOrder:
    """One chat request, with the reply it will get: the engine's text is decided by the prompt."""

    id: str
    model: str
    prompt_tokens: int
    reply: tuple[Piece, ...] = field(repr=False)
    finish_reason: Literal["stop", "length", "tool_calls"]
    is_stream: bool
    is_usage_wanted: bool


def parse_chat(body: bytes, model: str, max_model_len: int) -> ChatOrder | Refusal:
    """Read one request for the engine that serves `model`.

    `max_tokens` or `max_completion_tokens` cuts the reply with finish reason `length`; so does the
    end of the context. With `ignore_eos` (vLLM's field) the reply fills the limit exactly. A
    `tool_choice` that forces calls gets them, a `json_schema` a value of its kind, and a
    `reasoning_effort` a thought before all.
    """
    try:
        asked = msgspec.json.decode(body, type=_Body)
    except msgspec.MsgspecError:
        return Refusal(400, "The body is not a chat request.", "invalid_request")
    if asked.model != model:
        return Refusal(404, "This model is not served here.", "model_not_found")
    prompt = "\n".join(f"{each.role}: {_text(each)}" for each in asked.messages)
    prompt_tokens = count_tokens(prompt)
    room = max_model_len - prompt_tokens
    limits = [
        given for given in (asked.max_tokens, asked.max_completion_tokens) if given is not None
    ]
    if not asked.messages or any(given < 1 for given in limits):
        return Refusal(400, "Messages and limits must not be empty.", "invalid_request")
    if room < 1:
        return Refusal(400, "The prompt is longer than the context.", "context_length_exceeded")
    wanted = _wanted(asked)
    answer = answer_to(prompt, wanted)
    reply, finish_reason = cut(
        answer, min([room, *limits]), is_endless=bool(asked.ignore_eos) and wanted.schema is None
    )
    return ChatOrder(
        id=f"chatcmpl-{hashlib.sha256(body).hexdigest()[:24]}",
        model=model,
        prompt_tokens=prompt_tokens,
        reply=reply,
        finish_reason=finish_reason,
        is_stream=bool(asked.stream),
        is_usage_wanted=asked.stream_options is not None and asked.stream_options.include_usage,
    )


def render_reply(order: ChatOrder) -> bytes:
    """The whole answer to a plain request."""
    message: dict[str, object] = {"role": "assistant", "content": _joined(order, "text") or None}
    if thoughts := _joined(order, "thought"):
        message["reasoning_content"] = thoughts
    if calls := _calls(order):
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": order.finish_reason}
    return msgspec.json.encode({
        **_head(order, "chat.completion"),
        "choices": [choice],
        "usage": _usage(order),
    })


def render_start(order: ChatOrder) -> bytes:
    """The first event of a streamed answer: who speaks."""
    return _chunk(order, {"role": "assistant", "content": ""})


def render_piece(order: ChatOrder, piece: Piece) -> bytes:
    """One token of a streamed answer."""
    match piece.kind:
        case "text":
            return _chunk(order, {"content": piece.text})
        case "thought":
            return _chunk(order, {"reasoning_content": piece.text})
        case "call":
            call: dict[str, object] = {"index": piece.call, "function": {"arguments": piece.text}}
            if piece.name:
                call |= _whole_call(order, piece, piece.text)
            return _chunk(order, {"tool_calls": [call]})


def render_end(order: ChatOrder) -> bytes:
    """The last events of a streamed answer: its finish reason, usage if asked for, `[DONE]`."""
    usage = {**_head(order, "chat.completion.chunk"), "choices": [], "usage": _usage(order)}
    return b"".join((
        _chunk(order, {}, order.finish_reason),
        _event(usage) if order.is_usage_wanted else b"",
        b"data: [DONE]\n\n",
    ))


def render_models(model: str, max_model_len: int) -> bytes:
    """The list of the one model served."""
    entry = {
        "id": model,
        "object": "model",
        "created": _CREATED,
        "owned_by": "anvil-demo",
        "max_model_len": max_model_len,
    }
    return msgspec.json.encode({"object": "list", "data": [entry]})


def render_refusal(refusal: Refusal) -> bytes:
    """OpenAI's error shape."""
    kind = "invalid_request_error"
    error = {"message": refusal.message, "type": kind, "param": None, "code": refusal.code}
    return msgspec.json.encode({"error": error})


def _wanted(asked: _Body) -> Wanted:
    answer = asked.response_format
    schema = answer.json_schema if answer is not None else None
    return Wanted(
        thinks=asked.reasoning_effort not in {None, "none"},
        calls=_forced_calls(asked),
        schema=None if schema is None else schema.schema,
    )


def _forced_calls(asked: _Body) -> Sequence[tuple[str, Mapping[str, object]]]:
    """The calls that `tool_choice` demands: the named one, or one of each tool."""
    tools = [tool.function for tool in asked.tools or () if tool.function is not None]
    choice = asked.tool_choice
    if isinstance(choice, _Choice):
        tools = [one for one in tools if choice.function and one.name == choice.function.name]
    elif choice != "required":
        return ()
    elif asked.parallel_tool_calls is False:
        tools = tools[:1]
    return [(one.name, {"type": "object", **one.parameters}) for one in tools]


def _joined(order: ChatOrder, kind: str) -> str:
    return "".join(piece.text for piece in order.reply if piece.kind == kind)


def _calls(order: ChatOrder) -> list[dict[str, object]]:
    pieces = [piece for piece in order.reply if piece.kind == "call"]
    texts = [
        "".join(piece.text for piece in pieces if piece.call == one.call)
        for one in pieces
        if one.name
    ]
    begun = [piece for piece in pieces if piece.name]
    return [_whole_call(order, one, text) for one, text in zip(begun, texts, strict=True)]


def _whole_call(order: ChatOrder, begun: Piece, arguments: str) -> dict[str, object]:
    return {
        "id": f"call_{order.id[-16:]}{begun.call}",
        "type": "function",
        "function": {"name": begun.name, "arguments": arguments},
    }


def _text(message: _Message) -> str:
    if isinstance(message.content, list):
        return "".join(part.text for part in message.content)
    return message.content or ""


def _head(order: ChatOrder, kind: str) -> dict[str, object]:
    return {"id": order.id, "object": kind, "created": _CREATED, "model": order.model}


def _usage(order: ChatOrder) -> dict[str, object]:
    written = len(order.reply)
    usage: dict[str, object] = {
        "prompt_tokens": order.prompt_tokens,
        "completion_tokens": written,
        "total_tokens": order.prompt_tokens + written,
    }
    if thought := sum(piece.kind == "thought" for piece in order.reply):
        usage["completion_tokens_details"] = {"reasoning_tokens": thought}
    return usage


def _chunk(order: ChatOrder, delta: dict[str, object], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _event({**_head(order, "chat.completion.chunk"), "choices": [choice]})


def _event(value: dict[str, object]) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
