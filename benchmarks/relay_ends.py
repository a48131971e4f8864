"""The two ends of what is measured: an engine that costs little, and a bare reply to compare to.

`python -m benchmarks.relay_ends engine` serves Chat Completions and Messages on the router's own
server; `python -m benchmarks.relay_ends bare` serves the same replies on stock hypercorn, made in
the application. Each prints `listening on URL` when it takes requests.
"""

import argparse
import json
import time
from collections.abc import Sequence

import hypercorn.trio
import trio
from hypercorn.config import Config

from anvil_trio.server.accept import Server
from anvil_trio.server.listen import listen
from anvil_trio.server.options import ServerOptions
from anvil_trio.server.signals import run_until_signalled, watch_signals
from anvil_trio.web.asgi_types import Receive, Scope, Send
from benchmarks.flow import Flow, parse_flow

__all__ = ["MODEL", "answer", "main"]

MODEL = "relay-model"

_TOKEN = " token"
_TOKENS = Flow().events
_USAGE = {"prompt_tokens": 5, "completion_tokens": _TOKENS, "total_tokens": 5 + _TOKENS}


def _chunk(delta: dict[str, object], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    data = {
        "id": "chatcmpl-KXJ0Lrhft1pA1mIqsumcFIpiNiMAzpym",
        "object": "chat.completion.chunk",
        "created": 1795999447,
        "model": MODEL,
        "system_fingerprint": "b0-unknown",
        "choices": [choice],
    }
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


def _event(kind: str, **members: object) -> bytes:
    data = json.dumps({"type": kind, **members}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _message(content: list[object], reason: str | None) -> dict[str, object]:
    usage = {"input_tokens": 5, "output_tokens": _TOKENS if reason else 0}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }


_STREAMS: dict[str, tuple[bytes, bytes, bytes]] = {  # beginning, what is repeated, end
    "/v1/chat/completions": (
        _chunk({"role": "assistant", "content": ""}),
        _chunk({"content": _TOKEN}),
        _chunk({}, "stop") + b"data: [DONE]\n\n",
    ),
    "/v1/messages": (
        _event("message_start", message=_message([], None))
        + _event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        _event("content_block_delta", index=0, delta={"type": "text_delta", "text": _TOKEN}),
        _event("content_block_stop", index=0)
        + _event(
            "message_delta",
            delta={"stop_reason": "end_turn", "stop_sequence": None},
            usage={"output_tokens": _TOKENS},
        )
        + _event("message_stop"),
    ),
}
_WHOLE: dict[str, bytes] = {
    "/v1/chat/completions": json.dumps({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1795999447,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": _TOKEN},
                "finish_reason": "stop",
            }
        ],
        "usage": _USAGE,
    }).encode(),
    "/v1/messages": json.dumps(_message([{"type": "text", "text": _TOKEN}], "end_turn")).encode(),
    "/v1/models": json.dumps({"object": "list", "data": [{"id": MODEL}]}).encode(),
}


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI application: the same replies whatever is asked, in the flow that is asked for."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
        return
    path = str(scope["path"])
    body = await _body(receive)
    asked = json.loads(body) if body else {}
    if not asked.get("stream"):
        await _reply(send, _WHOLE.get(path, b"{}"))
        return
    await _stream(send, _STREAMS[path], parse_flow(body))


async def _stream(send: Send, parts: tuple[bytes, bytes, bytes], flow: Flow) -> None:
    first, token, last = parts
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": first, "more_body": True})
    before, _, after = token.partition(_TOKEN.encode())
    for _ in range(flow.events):
        if flow.gap_s:
            await trio.sleep(flow.gap_s)
        if flow.are_timed:
            token = b"%b@%.6f %b" % (before, time.monotonic(), after)
        await send({"type": "http.response.body", "body": token, "more_body": True})
    await send({"type": "http.response.body", "body": last})


async def _live(receive: Receive, send: Send) -> None:
    kind: object = ""
    while kind != "lifespan.shutdown":
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        part = message.get("body", b"")
        assert isinstance(part, bytes)
        body += part
        if not message.get("more_body", False):
            return body


async def _reply(send: Send, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _serve_stock(url: str, fd: int) -> None:
    config = Config()
    config.bind = [f"fd://{fd}"]
    config.keep_alive_max_requests = 10**9
    config.errorlog = None
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(watch_signals, stop, nursery.cancel_scope)
        print(f"listening on {url}", flush=True)
        await hypercorn.trio.serve(answer, config, shutdown_trigger=stop.wait)  # type: ignore[arg-type]
        nursery.cancel_scope.cancel()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve one of the two until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relay_ends")
    parser.add_argument("end", choices=["engine", "bare"])
    given = parser.parse_args(arguments)
    listener = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    if given.end == "bare":
        trio.run(_serve_stock, url, listener.detach())
        return 0
    server = Server(answer, ServerOptions(max_connections=65_536, shutdown_timeout_s=2), [listener])
    trio.run(run_until_signalled, server, lambda: print(f"listening on {url}", flush=True))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
