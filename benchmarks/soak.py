"""Many kinds of clients against flapping, failing engines; afterwards nothing may be left.

Good, slow, leaving, stuck and malformed clients of all three dialects run side by side for some
minutes, then streams fail by the thousand, one after the other. At the end the router must count no
request, hold no more descriptors, tasks and threads than before, and its memory must have stopped
growing.
"""

import argparse
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import trio

from anvil_trio.decisions.ring import RING_SIZE
from benchmarks.counted_router import TASKS_FILE
from benchmarks.faulty_engine import FaultyEngine
from benchmarks.plot import Chart
from benchmarks.processes import Child, cpu_seconds, rss_kib, status_fields
from benchmarks.report import add_outputs, print_table, write_outputs
from benchmarks.routers import KEY, router_toml, running_router

__all__ = ["main"]

_AUTH = f"authorization: Bearer {KEY}\r\n"
_SETTINGS = {
    "startup_timeout_s": 4,
    "idle_timeout_s": 3,
    "total_timeout_s": 20,
    "heartbeat_interval_s": 0.5,
    "client_stall_timeout_s": 3,
    "max_event_bytes": 65_536,
    "max_body_bytes": 65_536,
}
_MESSAGES = [{"role": "user", "content": "hi"}]
_ASKED: dict[str, dict[str, object]] = {
    "/v1/chat/completions": {"messages": _MESSAGES},
    "/v1/messages": {"messages": _MESSAGES, "max_tokens": 64},
    "/v1/responses": {"input": "hi"},
}
"""What is asked in each dialect, by its path."""

_ERROR = b'"error":{'
_HABITS = ("unary", "stream", "stream", "slow", "leaving", "stuck", "malformed")
_POST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: r\r\n"
_POST_WITH_KEY = _POST + _AUTH.encode()
_MALFORMED = (
    b"\x16\x03\x01 no http at all\r\n\r\n",
    _POST + b"x: " + b"y" * 100_000,
    _POST + b"content-length: -1\r\n\r\n",
    _POST_WITH_KEY + b"content-length: 90\r\n\r\nhalf",
    _POST_WITH_KEY
    + b"transfer-encoding: chunked\r\n\r\n"
    + (b"ffff\r\n%b\r\n" % (b"z" * 0xFFFF)) * 2,
    _POST_WITH_KEY + b"content-length: 4\r\n\r\n{}}}",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 64,
)


@dataclass
class Soak:
    """One run: what was sent, and what the router looked like on the way."""

    port: int
    rng: random.Random
    failed_in_a_row: int = 0
    sent: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)

    async def lane(self, until: float) -> None:
        """One client after another."""
        while trio.current_time() < until:
            habit = self.rng.choice(_HABITS)
            self.sent[habit] += 1
            path = self.rng.choice(tuple(_ASKED))
            self.asked[path] += habit != "malformed"
            try:
                with trio.move_on_after(15):
                    await self.client(habit, path)
            except (OSError, trio.BrokenResourceError):
                self.answers["connection ended"] += 1

    async def client(self, habit: str, path: str) -> None:
        """One client of that habit."""
        async with await trio.open_tcp_stream("127.0.0.1", self.port) as stream:
            if habit == "malformed":
                await stream.send_all(self.rng.choice(_MALFORMED))
                await self.read(stream, self.rng.uniform(0, 1))
                return
            await stream.send_all(_question(path, is_stream=habit != "unary"))
            match habit:
                case "leaving":
                    await self.read(stream, self.rng.uniform(0, 0.4))
                case "stuck":
                    await trio.sleep(self.rng.uniform(0, 5))
                case "slow":
                    await self.read(stream, 10, pause_s=0.02)
                case _:
                    await self.read(stream, 12)

    async def failing_streams(self, count: int) -> None:
        """As many streams in a row as `count` says, on one connection, that begin and then fail."""
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        async with stream:
            paths = itertools.cycle(_ASKED)
            while self.failed_in_a_row < count:
                path = next(paths)
                await stream.send_all(_question(path, is_stream=True))
                received = b""
                with trio.fail_after(30):
                    while not received.endswith(b"\r\n0\r\n\r\n") and not _is_whole(received):
                        received += (data := await stream.receive_some(65_536))
                        assert data, "the router closed"
                assert received.count(_ERROR) == 1, "a stream that did not fail once"
                self.failed_in_a_row += received.startswith(b"HTTP/1.1 200 ")

    async def read(self, stream: trio.SocketStream, patience_s: float, pause_s: float = 0) -> None:
        """Read to the end of one reply, or as long as this client cares."""
        received = b""
        with trio.move_on_after(patience_s):
            while b"\r\n0\r\n\r\n" not in received[-16:] and not _is_whole(received):
                data = await stream.receive_some(4096)
                if not data:
                    break
                received += data
                await trio.sleep(pause_s)
        if received:
            self.answers[received[9:12].decode("latin-1")] += 1


def _question(path: str, *, is_stream: bool) -> bytes:
    body = json.dumps({"model": "chat", "stream": is_stream, **_ASKED[path]})
    head = f"POST {path} HTTP/1.1\r\nhost: r\r\n{_AUTH}content-length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def _is_whole(received: bytes) -> bool:
    head, mark, body = received.partition(b"\r\n\r\n")
    _, has_length, rest = head.lower().partition(b"content-length: ")
    return bool(mark and has_length) and len(body) >= int(rest.split(b"\r\n")[0])


@dataclass(frozen=True)
class Look:
    """The router's process at one moment."""

    descriptors: int
    threads: int
    tasks: int
    rss_kib: int
    cpu_s: float

    @classmethod
    def at(cls, router: Child, tasks_file: Path) -> "Look":
        """Read from /proc, and from what it says of its tasks when it is asked. Waits."""
        tasks_file.unlink(missing_ok=True)
        os.kill(router.pid, signal.SIGUSR1)
        until = time.monotonic() + 10
        while not (tasks_file.exists() and tasks_file.read_text().endswith("\n")):
            assert time.monotonic() < until, "the router does not answer"
            time.sleep(0.01)
        return cls(
            descriptors=len(list(Path(f"/proc/{router.pid}/fd").iterdir())),
            threads=int(status_fields(router.pid)["Threads"]),
            tasks=int(tasks_file.read_text()),
            rss_kib=rss_kib(router.pid),
            cpu_s=cpu_seconds(router.pid),
        )

    def more_than(self, base: "Look") -> int:
        """How many descriptors, threads and tasks there are too many."""
        return (
            max(0, self.descriptors - base.descriptors)
            + max(0, self.threads - base.threads)
            + max(0, self.tasks - base.tasks)
        )


async def _active(client: httpx.AsyncClient) -> int:
    tiers = (await client.get("/v1/router/status")).json()["tiers"]
    return sum(tier["active_requests"] + tier["waiting_requests"] for tier in tiers)


async def _run(options: argparse.Namespace) -> int:
    engines = [FaultyEngine(random.Random(options.seed + n)) for n in range(2)]
    with ExitStack() as children:
        folder = Path(children.enter_context(tempfile.TemporaryDirectory()))
        async with trio.open_nursery() as nursery:
            ports = [await nursery.start(engine.serve) for engine in engines]
            urls = [f"http://127.0.0.1:{port}" for port in ports]
            text = router_toml({"chat": urls}, "soak", server=_SETTINGS)
            tasks_file = folder / "tasks"
            env = {TASKS_FILE: str(tasks_file)}
            counted = running_router(text, env, module="benchmarks.counted_router")
            router = children.enter_context(counted)
            result = await _soak(options, router, tasks_file, engines)
            nursery.cancel_scope.cancel()
    return result


async def _soak(
    options: argparse.Namespace, router: Child, tasks_file: Path, engines: list[FaultyEngine]
) -> int:
    soak = Soak(int(router.url.rpartition(":")[2]), random.Random(options.seed))
    headers = {"authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(base_url=router.url, headers=headers, timeout=20) as client:
        await _fill_ring(client)
        await _load(soak, options.lanes, 5)  # warm: pools, caches, the allocator
        base = await _rest(client, router, tasks_file)
        begun = trio.current_time()
        looks = [base]
        while trio.current_time() - begun < options.minutes * 60:
            await _load(soak, options.lanes, min(20.0, options.minutes * 60))
            looks.append(await _rest(client, router, tasks_file))
            print(f"{trio.current_time() - begun:6.0f} s  {looks[-1]}", flush=True)
        for engine in engines:
            engine.is_only_failing = True
        await soak.failing_streams(options.failing)
        looks.append(await _rest(client, router, tasks_file))
        print(f"{soak.failed_in_a_row} failing streams in a row  {looks[-1]}", flush=True)
        left = await _active(client)
    return _report(options, soak, engines, looks, left)


async def _fill_ring(client: httpx.AsyncClient) -> None:
    """As many failing requests in a row as the decision log keeps in memory."""
    for _ in range(RING_SIZE):
        await client.post("/v1/chat/completions", json={"model": "none", "messages": _MESSAGES})


async def _load(soak: Soak, lanes: int, seconds: float) -> None:
    until = trio.current_time() + seconds
    async with trio.open_nursery() as nursery:
        for _ in range(lanes):
            nursery.start_soon(soak.lane, until)


async def _rest(client: httpx.AsyncClient, router: Child, tasks_file: Path) -> Look:
    """How the router looks once nothing runs and the last connections have lingered."""
    with trio.move_on_after(30):
        while await _active(client):  # noqa: ASYNC110 - a process is seen from outside
            await trio.sleep(0.1)
    await trio.sleep(6)
    return await trio.to_thread.run_sync(Look.at, router, tasks_file)


def _report(
    options: argparse.Namespace,
    soak: Soak,
    engines: list[FaultyEngine],
    looks: list[Look],
    left: int,
) -> int:
    faults = sum((engine.faults for engine in engines), Counter[str]())
    base, last = looks[0], looks[-1]
    middle = looks[len(looks) // 2]
    leaks = left + last.more_than(base)
    requests = soak.sent.total() + soak.failed_in_a_row
    growth = last.rss_kib - middle.rss_kib
    print_table(["clients", "sent"], [[name, str(n)] for name, n in sorted(soak.sent.items())])
    print_table(["answers", ""], [[name, str(n)] for name, n in sorted(soak.answers.items())])
    print_table(["faults of engines", ""], [[name, str(n)] for name, n in sorted(faults.items())])
    print_table(["dialects", "asked"], [[path, str(n)] for path, n in sorted(soak.asked.items())])
    print(f"requests: {requests}   faults: {faults.total()}   leaks: {leaks}")
    print(f"memory: {base.rss_kib} KiB at first, {middle.rss_kib} half way, {last.rss_kib} at last")
    print(f"the router's CPU: {last.cpu_s:.1f} s")
    names = [f"look {number}" for number in range(len(looks))]
    counted: dict[str, list[float]] = {
        "descriptors": [look.descriptors for look in looks],
        "tasks": [look.tasks for look in looks],
        "threads": [look.threads for look in looks],
    }
    write_outputs(
        options,
        "What the router holds at rest, load after load",
        {
            "sent": dict(soak.sent),
            "asked": dict(soak.asked),
            "failed_in_a_row": soak.failed_in_a_row,
            "answers": dict(soak.answers),
            "faults": dict(faults),
            "leaks": leaks,
            "looks": [vars(look) for look in looks],
        },
        [
            Chart("KiB in memory", names, {"memory": [look.rss_kib for look in looks]}),
            Chart("how many", names, counted),
        ],
    )
    return 1 if leaks or growth > options.growth_kib else 0


def main() -> int:
    """Run the soak; 1 if anything was left."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--failing", type=int, default=10_000, help="streams that fail in a row")
    parser.add_argument("--lanes", type=int, default=40, help="clients at once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--growth-kib", type=int, default=8192, help="allowed in the second half")
    add_outputs(parser, "soak")
    return trio.run(_run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
