"""An embedded engine: OpenAI's API over deterministic texts and tones, as its slots allow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

import trio

from anvil_trio.demo.beside import PATHS, answer_beside
from anvil_trio.demo.chat import (
    ChatOrder,
    Refusal,
    parse_chat,
    render_end,
    render_models,
    render_piece,
    render_refusal,
    render_reply,
    render_start,
)
from anvil_trio.demo.realtime import converse
from anvil_trio.demo.slots import Pace, SlotPool
from anvil_trio.demo.tones import Sounded
from anvil_trio.web.asgi_types import Receive, Scope, Send

__all__ = ["Engine", "EngineOptions"]

_MAX_BODY_BYTES = 33_554_432
_CLIENT_GONE = "http.disconnect"
_NOT_FOUND = Refusal(404, "There is nothing at this path.", "not_found")
_TOO_LARGE = Refusal(413, "The body is too large.", "payload_too_large")


class _Client(Protocol):
    """What our server tells of the client of one request, as `scope["extensions"]`."""

    gone: bool
    on_gone: Callable[[], None] | None
    max_message_chars: int | None  # of a WebSocket


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What one engine serves and how fast it is."""

    model: str = "demo-model"
    slots: int = 4
    max_model_len: int = 8_192
    pace: Pace = field(default_factory=Pace)


class Engine:
    """One model server as an ASGI application.

    `GET /health`, `GET /v1/models` and `POST /v1/chat/completions`, plain and streamed, the paths
    beside chat, and `/v1/realtime` over a WebSocket. Equal requests get equal bytes. A client that
    leaves frees its slot in the step in which the server learns of it.
    """

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        self.slots = SlotPool(options.slots, options.pace)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one realtime session. A lifespan is left unanswered."""
        if scope["type"] == "websocket":
            with trio.CancelScope() as life:
                _watch(scope, life)
                await converse(scope, receive, send, model=self.options.model, slots=self.slots)
            return
        if scope["type"] != "http":
            return
        with trio.CancelScope() as life:
            _watch(scope, life)
            match (scope["method"], scope["path"]):
                case ("GET", "/health"):
                    await _reply(send, 200, b'{"status":"ok"}')
                case ("GET", "/v1/models"):
                    models = render_models(self.options.model, self.options.max_model_len)
                    await _reply(send, 200, models)
                case ("POST", "/v1/chat/completions"):
                    await self._chat(receive, send)
                case ("POST", path) if path in PATHS:
                    await self._beside(str(path), scope, receive, send)
                case _:
                    await _refuse(send, _NOT_FOUND)

    async def _chat(self, receive: Receive, send: Send) -> None:
        body = await _read_body(receive)
        if body is None:
            return
        order = (
            body
            if isinstance(body, Refusal)
            else parse_chat(body, self.options.model, self.options.max_model_len)
        )
        if isinstance(order, Refusal):
            await _refuse(send, order)
        elif order.is_stream:
            await self._stream(order, send)
        else:
            async with self.slots.slot(order.prompt_tokens) as slot:
                await slot.written(len(order.reply))
            await _reply(send, 200, render_reply(order))

    async def _beside(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Each piece of the answer is as long in the making as a token."""
        body = await _read_body(receive)
        if body is None:
            return
        answer = (
            body
            if isinstance(body, Refusal)
            else answer_beside(path, _content_type(scope), body, self.options.model)
        )
        if isinstance(answer, Refusal):
            await _refuse(send, answer)
        else:
            await self._sound(answer, send)

    async def _sound(self, answer: Sounded, send: Send) -> None:
        *parts, last = answer.pieces
        async with self.slots.slot(0) as slot:
            await slot.written(1)
            await _start(send, 200, answer.content_type)
            for written, part in enumerate(parts, start=2):
                await _part(send, part)
                await slot.written(written)
        await _part(send, last, is_last=True)

    async def _stream(self, order: ChatOrder, send: Send) -> None:
        """The head goes out at once, each token when it is due; the slot is left before the end."""
        await _start(send, 200, b"text/event-stream")
        async with self.slots.slot(order.prompt_tokens) as slot:
            await _part(send, render_start(order))
            for written, piece in enumerate(order.reply, start=1):
                await slot.written(written)
                await _part(send, render_piece(order, piece))
        await _part(send, render_end(order), is_last=True)


def _watch(scope: Scope, life: trio.CancelScope) -> None:
    extensions = cast("Mapping[str, _Client]", scope.get("extensions") or {})
    client = extensions.get("anvil.client")
    if client is None:
        return
    client.on_gone = life.cancel
    client.max_message_chars = _MAX_BODY_BYTES
    if client.gone:
        life.cancel()


def _content_type(scope: Scope) -> bytes:
    headers = cast("list[tuple[bytes, bytes]]", scope["headers"])
    return dict(headers).get(b"content-type", b"")


async def _read_body(receive: Receive) -> bytes | Refusal | None:
    """The whole body, or why not; None if the client left before its end."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == _CLIENT_GONE:
            return None
        part = cast("bytes", message.get("body", b""))
        size += len(part)
        if size > _MAX_BODY_BYTES:
            return _TOO_LARGE
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def _start(send: Send, status: int, content_type: bytes, length: int | None = None) -> None:
    headers = [(b"content-type", content_type)]
    if length is not None:
        headers.append((b"content-length", b"%d" % length))
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _part(send: Send, body: bytes, *, is_last: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": not is_last})


async def _reply(send: Send, status: int, body: bytes) -> None:
    await _start(send, status, b"application/json", len(body))
    await _part(send, body, is_last=True)


async def _refuse(send: Send, refusal: Refusal) -> None:
    await _reply(send, refusal.status, render_refusal(refusal))
