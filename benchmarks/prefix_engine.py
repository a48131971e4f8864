"""The demo's engine with a memory of prompts, and with metrics, as a process of its own.

`python -m benchmarks.prefix_engine --slots 8 --tokens-per-second 40 --prefill 2000 --remembered 64`
prints `listening on URL` when it takes requests. A prompt's first message names its conversation.
"""

import argparse
import json
from collections.abc import Sequence

import trio

from anvil_trio.demo.chat import Refusal, parse_chat, render_models, render_reply
from anvil_trio.demo.slots import Pace, SlotPool
from anvil_trio.server.accept import Server
from anvil_trio.server.listen import listen
from anvil_trio.server.options import ServerOptions
from anvil_trio.server.signals import run_until_signalled
from anvil_trio.web.asgi_types import Receive, Scope, Send
from benchmarks.conversations import PrefixMemory

__all__ = ["PrefixEngine", "main"]

MODEL = "demo-model"
CONTEXT = 1_000_000


class PrefixEngine:
    """An ASGI application: health, models, metrics as vLLM names them, and unary chat."""

    def __init__(self, slots: int, pace: Pace, remembered: int) -> None:
        self._pool = SlotPool(slots, pace)
        self._memory = PrefixMemory(remembered)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        match scope["path"]:
            case "/v1/chat/completions":
                await _reply(send, await self._chat(await _body(receive)))
            case "/v1/models":
                await _reply(send, render_models(MODEL, CONTEXT))
            case "/metrics":
                await _reply(send, self._metrics().encode())
            case _:
                await _reply(send, b"{}")

    async def _chat(self, body: bytes) -> bytes:
        order = parse_chat(body, MODEL, CONTEXT)
        assert not isinstance(order, Refusal), order
        first = json.loads(body)["messages"][0]["content"]
        left = self._memory.tokens_to_read(first, order.prompt_tokens)
        async with self._pool.slot(left) as slot:
            await slot.written(len(order.reply))
        return render_reply(order)

    def _metrics(self) -> str:
        return (
            f"vllm:num_requests_running {self._pool.running}\n"
            f"vllm:num_requests_waiting {self._pool.waiting}\n"
            f"vllm:prefix_cache_queries_total {self._memory.read + self._memory.reused}\n"
            f"vllm:prefix_cache_hits_total {self._memory.reused}\n"
        )


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve one engine until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prefix_engine")
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--tokens-per-second", type=float, required=True)
    parser.add_argument("--prefill", type=float, required=True)
    parser.add_argument("--remembered", type=int, required=True)
    given = parser.parse_args(arguments)
    pace = Pace(given.tokens_per_second, given.prefill)
    listener = listen("127.0.0.1", 0)
    engine = PrefixEngine(given.slots, pace, given.remembered)
    server = Server(engine, ServerOptions(shutdown_timeout_s=2), [listener])
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    trio.run(run_until_signalled, server, lambda: print(f"listening on {url}", flush=True))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
