"""Overload and hostile clients against a router process whose limits are lowered, never ours.

What is looked at is the process as the kernel sees it: its descriptors, memory and CPU time.
"""

import re
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio

from anvil_trio.demo.slots import Pace
from tests.support.loose_engine import CHUNK, STREAM_HEAD, LooseEngine, open_loose_engine
from tests.support.running_router import (
    TOKEN,
    RawClient,
    RunningRouter,
    eventually,
    open_engines,
    open_router,
    raw_client,
)

pytestmark = pytest.mark.wire
MIB = 1 << 20
SLACK_BYTES = 160 * MIB
"""Address space that the router may still take, over what it has at rest: a leak ends it."""

QUICK_STALL = "client_stall_timeout_s = 1\n"
POST = (
    f"POST /v1/chat/completions HTTP/1.1\r\nhost: r\r\nauthorization: Bearer {TOKEN}\r\n"
    "content-type: application/json\r\n"
).encode()


class Seen:
    """One process, from outside."""

    def __init__(self, router: RunningRouter) -> None:
        self.pid = router.process.pid

    def descriptors(self) -> int:
        """How many are open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def memory(self, field: str = "VmRSS") -> int:
        """A field of its status, in bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024

    def cpu_s(self) -> float:
        """The time that all of its threads have worked."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def lower(self, limit: int, value: int) -> None:
        """Lower one of its limits, for good: it cannot raise it again."""
        resource.prlimit(self.pid, limit, (value, value))

    def bound_memory(self) -> None:
        """From now on it may grow by `SLACK_BYTES` and no more."""
        self.lower(resource.RLIMIT_AS, self.memory("VmSize") + SLACK_BYTES)


@asynccontextmanager
async def loose_router(
    folder: Path, answer, *, settings: str = ""
) -> AsyncIterator[tuple[LooseEngine, RunningRouter, Seen]]:
    """A router over one engine that answers as told, its memory bounded."""
    async with (
        open_loose_engine(answer) as engine,
        open_router(folder, [engine.url], settings=settings) as router,
    ):
        seen = Seen(router)
        seen.bound_memory()
        yield engine, router, seen


async def settled(router: RunningRouter, seen: Seen, base: int) -> None:
    """Nothing runs, nothing waits, and no descriptor is left."""
    await router.wait_for_rest()

    async def is_back() -> bool:
        return seen.descriptors() <= base

    await eventually(is_back)


async def read_to_end(client: RawClient, within_s: float = 15) -> bytes:
    """All that comes until the router closes."""
    with trio.fail_after(within_s):
        while True:
            try:
                data = await client.stream.receive_some(65_536)
            except trio.BrokenResourceError:
                data = b""
            if not data:
                return client.received
            client.received += data


async def test_slow_readers_slow_their_engine_and_fill_no_memory(tmp_path):
    """Back-pressure: eight clients that do not read stop eight endless replies at their source."""
    async with loose_router(tmp_path, LooseEngine.flood) as (engine, router, seen):
        base, at_rest = seen.descriptors(), seen.memory()
        async with AsyncExitStack() as clients:
            for _ in range(8):
                client = await clients.enter_async_context(raw_client(router, receive_buffer=4096))
                await client.send_chat()
                await client.read_until(b"data: ")

            async def is_held() -> bool:
                before = dict(engine.sent)
                await trio.sleep(0.4)
                return len(before) == 8 and before == dict(engine.sent)

            await eventually(is_held, 20)
            worked = seen.cpu_s()
            await trio.sleep(0.5)
            assert seen.cpu_s() - worked < 0.25, "it waits, and does not poll"
            assert await router.counts() == (8, 0)
            assert seen.memory() - at_rest < 8 * 4 * MIB
        await settled(router, seen, base)


async def test_half_sent_bodies_are_given_up(tmp_path):
    """Thirty bodies that stop half way: each is a 408 in its time, and then nothing is held."""
    async with loose_router(tmp_path, LooseEngine.flood, settings=QUICK_STALL) as world:
        engine, router, seen = world
        base = seen.descriptors()
        async with trio.open_nursery() as nursery:

            async def one() -> None:
                async with raw_client(router) as client:
                    await client.stream.send_all(POST + b"content-length: 900\r\n\r\n" + b"{" * 450)
                    assert (await read_to_end(client)).startswith(b"HTTP/1.1 408 ")

            for _ in range(30):
                nursery.start_soon(one)
        await settled(router, seen, base)
        assert engine.asked == 0
        assert [record["attempts"] for record in router.records()] == [[]] * 30


async def test_endless_chunked_bodies_are_cut_off(tmp_path):
    """Ten bodies without an end: each is a 413 at the cap, and no more of it is kept."""
    part = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    settings = f"max_body_bytes = {MIB}\n"
    async with loose_router(tmp_path, LooseEngine.flood, settings=settings) as world:
        engine, router, seen = world
        base, at_rest = seen.descriptors(), seen.memory()

        async def one() -> None:
            async with raw_client(router) as client:
                await client.stream.send_all(POST + b"transfer-encoding: chunked\r\n\r\n")
                async with trio.open_nursery() as inner:
                    inner.start_soon(pour, client)
                    received = await read_to_end(client)
                    inner.cancel_scope.cancel()
                assert received.startswith(b"HTTP/1.1 413 ")

        async def pour(client: RawClient) -> None:
            try:
                while True:
                    await client.stream.send_all(part)
            except trio.BrokenResourceError:
                pass

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(one)
        await settled(router, seen, base)
        assert engine.asked == 0
        assert seen.memory() - at_rest < 10 * 4 * MIB


async def test_oversized_headers_are_refused(tmp_path):
    """Heads of half a megabyte and without an end: a 4xx, and the connection is closed."""
    async with loose_router(tmp_path, LooseEngine.flood) as (_, router, seen):
        base, at_rest = seen.descriptors(), seen.memory()
        for head in (b"x: " + b"y" * (MIB // 2), b"x: y\r\n" * (MIB // 12)):
            for _ in range(5):
                async with raw_client(router) as client:
                    with suppress(trio.BrokenResourceError):
                        await client.stream.send_all(POST + head)
                    received = await read_to_end(client)
                    assert re.match(rb"HTTP/1\.1 4\d\d ", received) or not received
        await settled(router, seen, base)
        assert seen.memory() - at_rest < 16 * MIB
        assert (await router.get("/v1/models"))["object"] == "list"


async def test_a_thousand_failing_streams_in_a_row_leave_nothing(tmp_path):
    """Each ends in one error frame; afterwards counts are 0 and descriptors at their base."""

    async def break_off(_: LooseEngine, stream: trio.SocketStream) -> None:
        await stream.send_all(STREAM_HEAD + CHUNK)
        await stream.aclose()

    async with loose_router(tmp_path, break_off) as (engine, router, seen):
        base = seen.descriptors()
        async with raw_client(router) as client:
            for _ in range(1000):
                client.received = b""
                await client.send_chat()
                received = await client.read_until(b"0\r\n\r\n")
                assert received.count(b'"code":"upstream_error"') == 1
                assert b"[DONE]" not in received
        await settled(router, seen, base)
        assert engine.asked == 1000

        async def is_recorded() -> bool:
            return len(router.records()) == 1000

        await eventually(is_recorded)
        outcomes = {record["workload_outcome"] for record in router.records()}
        assert outcomes == {"error"}


async def test_without_descriptors_it_waits_and_serves_again(tmp_path):
    """EMFILE on accept is no busy loop and no end: who is there is served, who comes later too."""
    async with open_engines() as urls, open_router(tmp_path, urls) as router:
        seen = Seen(router)
        async with AsyncExitStack() as clients:
            inside = await clients.enter_async_context(raw_client(router))
            await inside.send_chat(stream=False, max_tokens=1)
            await inside.read_until(b'"total_tokens"')
            seen.lower(resource.RLIMIT_NOFILE, seen.descriptors() + 8)
            for _ in range(60):
                await clients.enter_async_context(raw_client(router))

            async def is_paused() -> bool:
                return b"accept_paused" in router.stderr

            await eventually(is_paused)
            worked = seen.cpu_s()
            await trio.sleep(1)
            assert seen.cpu_s() - worked < 0.3, "a busy loop"
        async with raw_client(router) as client:
            await client.send_chat(stream=False, max_tokens=1)
            await client.read_until(b'"total_tokens"')
        await router.wait_for_rest()
        assert bytes(router.stderr).count(b"accept_paused") == 1


async def test_a_stop_under_load_ends_every_stream_in_its_own_words(tmp_path):
    """Decision 25: forty streams, a queue behind them, SIGTERM: all are told, status 0, in time."""
    slow = Pace(tokens_per_second=5.0)
    settings = "shutdown_timeout_s = 1\nadmission_timeout_s = 30\n"
    ends: list[bytes] = []

    async def one() -> None:
        async with raw_client(router) as client:
            await client.send_chat(max_tokens=1000)
            ends.append(await read_to_end(client))

    async with (
        open_engines(pace=slow) as urls,
        open_router(
            tmp_path, urls, settings=settings, tier_settings="max_concurrency = 20\n"
        ) as router,
    ):
        async with trio.open_nursery() as nursery:
            for _ in range(40):
                nursery.start_soon(one)

            async def is_full() -> bool:
                return await router.counts() == (20, 20)

            await eventually(is_full)
            began = trio.current_time()
            router.process.send_signal(signal.SIGTERM)
            with trio.fail_after(10):
                assert await router.process.wait() == 0
            assert trio.current_time() - began < 4
        streams = [end for end in ends if end.startswith(b"HTTP/1.1 200 ")]
        queued = [end for end in ends if end.startswith(b"HTTP/1.1 503 ")]
        assert (len(streams), len(queued)) == (20, 20)
        assert all(end.count(b'"code":"shutting_down"') == 1 for end in ends)
        assert all(end.endswith(b"0\r\n\r\n") and b"[DONE]" not in end for end in streams)
        assert [line.split(b'"event": "')[1].split(b'"')[0] for line in router.stderr.splitlines()][
            -2:
        ] == [b"draining", b"stopped"]
