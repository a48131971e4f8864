"""The real thing for wire tests: a router process over engines on loopback sockets."""

import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Literal

import httpx
import trio

from anvil_trio.demo.engine import EngineOptions
from anvil_trio.demo.router_toml import ROUTER_KEY_ENV, render_router_toml
from anvil_trio.demo.serve import serve_engine
from anvil_trio.demo.slots import Pace

TOKEN = "wire-token"
Kind = Literal["direct", "replica"]
QUICK = Pace(tokens_per_second=2_000.0, prefill_tokens_per_second=100_000.0)


@dataclass(slots=True)
class RunningRouter:
    """A router that listens; `base_url` and `port` say where."""

    port: int
    process: trio.Process
    log_path: Path
    stderr: bytearray = field(default_factory=bytearray)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def records(self) -> list[dict[str, object]]:
        """Every whole line of the decision log."""
        whole = self.log_path.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    async def get(self, path: str) -> dict[str, object]:
        """One read-only page."""
        async with httpx.AsyncClient(trust_env=False) as client:
            headers = {"authorization": f"Bearer {TOKEN}"}
            reply = await client.get(self.base_url + path, headers=headers)
            reply.raise_for_status()
            page: dict[str, object] = reply.json()
            return page

    async def counts(self) -> tuple[int, int]:
        """How many requests run and wait, over all tiers."""
        tiers = (await self.get("/v1/router/status"))["tiers"]
        assert isinstance(tiers, list)
        return (
            sum(tier["active_requests"] for tier in tiers),
            sum(tier["waiting_requests"] for tier in tiers),
        )

    async def wait_for_rest(self) -> None:
        """Until nothing runs or waits."""
        await eventually(self._is_at_rest)

    async def _is_at_rest(self) -> bool:
        return await self.counts() == (0, 0)

    def open_sockets(self) -> int:
        """How many sockets the router's process has open."""
        return sum(map(_is_socket, Path(f"/proc/{self.process.pid}/fd").iterdir()))


def _is_socket(descriptor: Path) -> bool:
    """Whether a descriptor is a socket; one that is closed while we look is none."""
    try:
        return str(descriptor.readlink()).startswith("socket:")
    except FileNotFoundError:
        return False


async def eventually(is_so: Callable[[], Awaitable[bool]], within_s: float = 10.0) -> None:
    """Poll until something is so; a failure after `within_s`."""
    with trio.fail_after(within_s):
        while not await is_so():
            await trio.sleep(0.02)


@asynccontextmanager
async def open_engines(
    kind: Kind = "replica", *, slots: int = 2_000, pace: Pace = QUICK
) -> AsyncIterator[list[str]]:
    """One or two demo engines; their URLs."""
    options = EngineOptions(slots=slots, pace=pace)
    async with trio.open_nursery() as nursery:
        count = 1 if kind == "direct" else 2
        yield [await nursery.start(serve_engine, options) for _ in range(count)]
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_router(
    folder: Path,
    urls: list[str],
    *,
    settings: str = "",
    tier_settings: str = "",
    more: str = "",
    port: int = 0,
    **environ: str,
) -> AsyncIterator[RunningRouter]:
    """A router process over these engines; more lines of `[server]`, of its tier, and tables."""
    log_path = folder / "decisions.jsonl"
    text = render_router_toml(
        {"chat": urls}, model="demo-model", context_limit=8192, log_path=str(log_path)
    )
    for line in settings.splitlines():  # in the place of what the demo says
        text = re.sub(rf"^{line.partition('=')[0]}=.*\n", "", text, flags=re.MULTILINE)
    text = text.replace("[server]\n", f"[server]\n{settings}", 1)
    text = text.replace('dialect = "openai"\n', f'dialect = "openai"\n{tier_settings}', 1)
    (folder / "router.toml").write_text(text + more)
    command = [sys.executable, "-m", "anvil_trio", "router", "run", "--config", "router.toml"]
    env = {**os.environ, ROUTER_KEY_ENV: TOKEN, "PYTHONPATH": str(Path.cwd()), **environ}
    async with trio.open_nursery() as nursery:
        run = partial(
            trio.run_process,
            [*command, "--port", str(port)],
            cwd=folder,
            env=env,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            check=False,
            deliver_cancel=_end,
        )
        process = await nursery.start(run)
        router = RunningRouter(await _announced(process), process, log_path)
        nursery.start_soon(_drain, process, router.stderr)
        await eventually(lambda: _is_ready(router), 30)
        yield router
        nursery.cancel_scope.cancel()


async def _announced(process: trio.Process) -> int:
    """The port in the line that says where the router listens."""
    assert process.stdout is not None
    line = b""
    with trio.fail_after(30):
        while not line.endswith(b"\n"):
            data = await process.stdout.receive_some(4096)
            assert data, "the router did not start"
            line += data
    return int(line.split()[2].rpartition(b":")[2])


async def _drain(process: trio.Process, into: bytearray) -> None:
    assert process.stderr is not None
    async for data in process.stderr:
        into += data


async def _is_ready(router: RunningRouter) -> bool:
    rows = (await router.get("/v1/models/capacity"))["data"]
    assert isinstance(rows, list)
    return all(
        row["readiness"]["reason"] in {"replicas_ready", "health_passed", "identity_passed"}
        for row in rows
    )


async def _end(process: trio.Process) -> None:
    """Stop it as an operator would; kill it if that is not enough."""
    with trio.CancelScope(shield=True):
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        with trio.move_on_after(5):
            await process.wait()
            return
        process.kill()
        await process.wait()


class RawClient:
    """One plain socket to a router: what the kernel sees is what the test says."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.received = b""

    async def send_chat(self, *, stream: bool = True, after: bytes = b"", **more: object) -> None:
        """One chat request; `after` are bytes that follow its body in the same write."""
        body = json.dumps({
            "model": "chat",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": stream,
            **more,
        }).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: r\r\nauthorization: Bearer {TOKEN}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        await self.stream.send_all(head.encode() + body + after)

    async def read_until(self, mark: bytes) -> bytes:
        """Read until `mark` was received; all that was."""
        with trio.fail_after(60):
            while mark not in self.received:
                data = await self.stream.receive_some(65536)
                assert data, "the router closed"
                self.received += data
        return self.received


@asynccontextmanager
async def raw_client(router: RunningRouter, *, receive_buffer: int = 0) -> AsyncIterator[RawClient]:
    """A connection; a small receive buffer makes a reader that is soon full."""
    sock = trio.socket.socket()
    if receive_buffer:
        sock.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, receive_buffer)
    with sock:
        await sock.connect(("127.0.0.1", router.port))
        async with trio.SocketStream(sock) as stream:
            yield RawClient(stream)
