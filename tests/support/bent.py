"""A server with planted faults: a good one inside, and what is bent of what it says."""

import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import trio

from anvil_trio.demo.engine import Engine, EngineOptions
from anvil_trio.demo.slots import Pace
from anvil_trio.server.accept import Server
from anvil_trio.server.listen import listen
from anvil_trio.server.options import ServerOptions
from anvil_trio.upstream.stream import Head
from anvil_trio.upstream.transport import MemberTransport

__all__ = ["ENGINE_FAULTS", "GATEWAY_FAULTS", "Bent", "Forward", "open_bent_engine", "serve_app"]

Bend = Callable[[bytes], bytes]
_QUICK = Pace(tokens_per_second=400.0, prefill_tokens_per_second=100_000.0)
_METRICS = (
    'vllm:num_requests_running{model_name="demo-model"} %d\n'
    'vllm:num_requests_waiting{model_name="demo-model"} %d\n'
    'vllm:kv_cache_usage_perc{model_name="demo-model"} 0.0\n'
)
_FINISH = re.compile(rb'"finish_reason":"[a-z_]+"')
_TOTAL = re.compile(rb'"completion_tokens":\d+')
_MOST_BYTES = 1_000_000
_KEPT = {b"content-type", b"allow", b"retry-after"}
_TOO_LARGE = b'{"error":{"type":"invalid_request_error","message":"The body is too large."}}'
_BUSY = b'{"type":"error","error":{"type":"service_unavailable","message":"No place is free."}}'
_PLACES = 4
_HTML = b"<html><body>Something went wrong.</body></html>"


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault: `bend` changes each part of a body, `checks` are those that must fail."""

    checks: Collection[str]
    bend: Bend | None = None
    paths: str = "/v1/"
    status: Callable[[int], int] | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    is_error_only: bool = False


def _without_end(part: bytes) -> bytes:
    is_end = part.startswith(b"data:") and _FINISH.search(part) is not None
    return b"" if is_end else part


def _again(part: bytes) -> bytes:
    return part.replace(b"data: [DONE]\n\n", b"data: [DONE]\n\n" * 2)


def _broken_arguments(part: bytes) -> bytes:
    return part.replace(b'\\"}"', b'\\""') if b'"tool_calls"' in part else part


ENGINE_FAULTS: Mapping[str, Fault] = {
    "cut": Fault({"stream", "tool_call_stream", "tool_result_stream"}, _without_end),
    "deaf": Fault({"cancellation"}),
    "other-model": Fault(
        {"unary", "stream"},
        lambda part: part.replace(b'"model":"demo-model"', b'"model":"other-model"'),
    ),
    "other-list": Fault(
        {"identity"},
        lambda part: part.replace(b'"id":"demo-model"', b'"id":"other-model"'),
        "/v1/models",
    ),
    "wrong-counts": Fault(
        {"usage", "length"}, lambda part: _TOTAL.sub(b'"completion_tokens":7', part)
    ),
    "broken-calls": Fault({"tool_call", "tool_call_stream"}, _broken_arguments),
    "closes": Fault({"keepalive"}, headers=((b"connection", b"close"),)),
    "unknown-words": Fault(
        {"context"},
        lambda part: part.replace(b"context_length_exceeded", b"too_much").replace(
            b"longer than the context", b"too much"
        ),
    ),
    "fails-on-long": Fault({"context"}, status=lambda status: 500 if status == 400 else status),
    "answers-long": Fault({"context"}),
    "tags": Fault(
        {"thinking"},
        lambda part: re.sub(
            rb'"content":("[^"]*"),"reasoning_content":"', rb'"content":"<think>', part
        ),
    ),
    "prose-for-schema": Fault(
        {"json_schema"}, lambda part: part.replace(b'"content":"{', b'"content":"It is {')
    ),
    "half-metrics": Fault(
        {"metrics"},
        lambda part: part.replace(b"num_requests_", b"count_"),
        "/metrics",
    ),
    "no-length": Fault(
        {"length"},
        lambda part: part.replace(b'"finish_reason":"length"', b'"finish_reason":"weird"'),
    ),
}


class Bent:
    """An ASGI application that forwards to another one and bends what it says."""

    def __init__(self, inner: Any, faults: Mapping[str, Fault], engine: Engine | None = None):
        self.inner, self.faults, self.engine = inner, faults, engine
        self.left = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        if "deaf" in self.faults:
            scope = {**scope, "extensions": {}}
        send = partial(self._send, scope["path"], [0], send)
        if scope["path"] == "/metrics" and self.engine is not None:
            slots = self.engine.slots
            body = (_METRICS % (slots.running, slots.waiting)).encode()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": body, "more_body": False})
            return
        if self.left >= _PLACES:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": _BUSY, "more_body": False})
            return
        await self.inner(scope, receive, send)
        client = scope["extensions"].get("anvil.client")
        if "keeps-places" in self.faults and client is not None:
            self.left += client.gone

    async def _send(self, path: str, status: list[int], send: Any, message: Any) -> None:
        if message["type"] == "http.response.start":
            status[0] = message["status"]
        for fault in self.faults.values():
            if not path.startswith(fault.paths) and path != "/metrics":
                continue
            if fault.is_error_only and status[0] < 400:
                continue
            message = _bent(message, fault, path)
        await send(message)


def _bent(message: Any, fault: Fault, path: str) -> Any:
    if message["type"] == "http.response.start":
        status = message["status"] if fault.status is None else fault.status(message["status"])
        headers = [one for one in message["headers"] if one[0] != b"content-length"]
        return {**message, "status": status, "headers": [*headers, *fault.headers]}
    if fault.bend is None or not path.startswith(fault.paths):
        return message
    return {**message, "body": fault.bend(message["body"])}


@asynccontextmanager
async def serve_app(app: Any) -> AsyncIterator[str]:
    """Any application on a free loopback port, for as long as the block lasts; its URL."""
    listener = listen("127.0.0.1", 0)
    options = ServerOptions(shutdown_timeout_s=0.1)
    async with trio.open_nursery() as nursery:
        await nursery.start(Server(app, options, [listener]).run)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_bent_engine(*names: str, pace: Pace = _QUICK) -> AsyncIterator[str]:
    """A demo engine that also shows metrics, with these faults; its URL."""
    engine = Engine(EngineOptions(pace=pace, max_model_len=2048))
    inner: Any = engine
    if "answers-long" in names:
        inner = Engine(EngineOptions(pace=pace, max_model_len=100_000))
    if "answers-long" in names:
        bends = {"list": Fault((), lambda part: part.replace(b"100000", b"2048"), "/v1/models")}
    else:
        bends = {}
    faults = {**bends, **{name: ENGINE_FAULTS[name] for name in names}}
    async with serve_app(Bent(inner, faults, inner)) as url:
        yield url


@dataclass
class Forward:
    """Forwards to a real server, body by body; who leaves is left."""

    url: str

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        with trio.CancelScope() as life:
            client = (scope.get("extensions") or {}).get("anvil.client")
            if client is not None:
                client.on_gone = life.cancel
            await self._forward(scope, receive, send)

    async def _forward(self, scope: Any, receive: Any, send: Any) -> None:
        body, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size += len(message.get("body", b""))
            body.append(message.get("body", b""))
            more = message.get("more_body", False)
            if size > _MOST_BYTES:
                head = [(b"content-type", b"application/json")]
                await send({"type": "http.response.start", "status": 413, "headers": head})
                await send({"type": "http.response.body", "body": _TOO_LARGE, "more_body": False})
                return
        await self._relay(scope, b"".join(body), send)

    async def _relay(self, scope: Any, body: bytes, send: Any) -> None:
        skipped = {b"host", b"content-length", b"connection"}
        headers = [one for one in scope["headers"] if one[0] not in skipped]
        request = httpx.Request(scope["method"], f"{self.url}{scope['path']}", headers=headers)
        stream = await MemberTransport(self.url, keepalive_s=0).send(request, body)
        try:
            head = await stream.receive()
            assert isinstance(head, Head)
            kept = [one for one in head.headers if one[0] in _KEPT]
            start = {"type": "http.response.start", "status": head.status, "headers": kept}
            await send(start)
            while isinstance(part := await stream.receive(), bytes):
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await stream.aclose()


_THREE = ("chat", "messages", "responses")


def _of_all(*checks: str) -> set[str]:
    return {f"{voice}.{check}" for voice in _THREE for check in checks}


_STREAMS = ("stream", "limit", "tool_call")

GATEWAY_FAULTS: Mapping[str, Fault] = {
    "two-ends": Fault({"chat.stream", "chat.limit", "chat.counts", "chat.tool_call"}, _again),
    "messages-without-stop": Fault(
        {"messages.stream", "messages.limit", "messages.tool_call"},
        lambda part: part.replace(b'event: message_stop\ndata: {"type":"message_stop"}\n\n', b""),
    ),
    "responses-unnumbered": Fault(
        {"responses.stream", "responses.limit", "responses.tool_call"},
        lambda part: re.sub(rb'"sequence_number":\d+', b'"sequence_number":0', part),
    ),
    "pings": Fault(
        {"chat.heartbeats", "chat.stream", "chat.limit", "chat.counts", "chat.tool_call"},
        lambda part: part.replace(b"data: [DONE]", b"event: ping\ndata: {}\n\ndata: [DONE]"),
    ),
    "html-errors": Fault(
        _of_all("unknown_model", "refused_stream", "bad_field", "malformed", "key", "method")
        | {"chat.oversize"},
        lambda part: _HTML if part else part,
        is_error_only=True,
    ),
    "all-errors-500": Fault(
        _of_all("unknown_model", "refused_stream", "bad_field", "malformed", "key", "method")
        | {"chat.oversize"},
        status=lambda status: 500 if status >= 400 else status,
    ),
    "counts-for-all": Fault(
        {"chat.stream", "chat.limit", "chat.counts", "chat.tool_call"},
        lambda part: part.replace(
            b"data: [DONE]",
            b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
            b'"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
            b"\n\ndata: [DONE]",
        ),
    ),
    "keeps-places": Fault({"chat.leaving"}),
    "repeats-keys": Fault(
        {"chat.key", "messages.key", "responses.key"},
        lambda part: part.replace(b"credential", b"wrong-key-anvil-conform credential"),
    ),
}
