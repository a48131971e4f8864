"""What the engine reads and writes: OpenAI's chat shapes, without a clock or a socket."""

import hashlib
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Literal

import msgspec

from anvil_trio.demo.text import compose, count_tokens

__all__ = [
    "ChatOrder",
    "Refusal",
    "parse_chat",
    "render_chunk",
    "render_end",
    "render_models",
    "render_refusal",
    "render_reply",
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


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    ignore_eos: bool | None = None


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
    reply: tuple[str, ...] = field(repr=False)
    finish_reason: Literal["stop", "length"]
    is_stream: bool
    is_usage_wanted: bool


def parse_chat(body: bytes, model: str, max_model_len: int) -> ChatOrder | Refusal:
    """Read one request for the engine that serves `model`.

    `max_tokens` or `max_completion_tokens` cuts the reply with finish reason `length`; so does the
    end of the context. With `ignore_eos` (vLLM's field) the reply fills the limit exactly.
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
    reply, finish_reason = _fit(
        compose(prompt), min([room, *limits]), is_endless=bool(asked.ignore_eos)
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
    message = {"role": "assistant", "content": "".join(order.reply)}
    choice = {"index": 0, "message": message, "finish_reason": order.finish_reason}
    return msgspec.json.encode({
        **_head(order, "chat.completion"),
        "choices": [choice],
        "usage": _usage(order),
    })


def render_chunk(
    order: ChatOrder, delta: dict[str, str], finish_reason: str | None = None
) -> bytes:
    """One event of a streamed answer."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _event({**_head(order, "chat.completion.chunk"), "choices": [choice]})


def render_end(order: ChatOrder) -> bytes:
    """The last events of a streamed answer: its finish reason, usage if asked for, `[DONE]`."""
    usage = {**_head(order, "chat.completion.chunk"), "choices": [], "usage": _usage(order)}
    return b"".join((
        render_chunk(order, {}, order.finish_reason),
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


def _fit(
    reply: tuple[str, ...], limit: int, *, is_endless: bool
) -> tuple[tuple[str, ...], Literal["stop", "length"]]:
    if is_endless:
        again = cycle((*reply[1:], f" {reply[0]}"))
        return (reply[0], *islice(again, limit - 1)), "length"
    return reply[:limit], "length" if len(reply) > limit else "stop"


def _text(message: _Message) -> str:
    if isinstance(message.content, list):
        return "".join(part.text for part in message.content)
    return message.content or ""


def _head(order: ChatOrder, kind: str) -> dict[str, object]:
    return {"id": order.id, "object": kind, "created": _CREATED, "model": order.model}


def _usage(order: ChatOrder) -> dict[str, int]:
    written = len(order.reply)
    return {
        "prompt_tokens": order.prompt_tokens,
        "completion_tokens": written,
        "total_tokens": order.prompt_tokens + written,
    }


def _event(value: dict[str, object]) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
