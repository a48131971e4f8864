"""The main job on real sockets: a router process, engines, plain clients; direct and replica."""

import json
import signal

import httpx
import pytest
import trio

from anvil_trio.demo.slots import Pace
from tests.support.running_router import (
    TOKEN,
    Kind,
    eventually,
    open_engines,
    open_router,
    raw_client,
)

pytestmark = pytest.mark.wire
kinds = pytest.mark.parametrize("kind", ["replica", "direct"])
CHAT = "/v1/chat/completions"
BODY = {"model": "chat", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 8}
SLOW = Pace(tokens_per_second=5.0)
HEADERS = {"authorization": f"Bearer {TOKEN}"}


@kinds
async def test_plain_and_streamed(kind: Kind, tmp_path):
    """Four plain requests and a stream: members a, b, a, b, a (R008), one record each."""
    async with open_engines(kind) as urls, open_router(tmp_path, urls) as router:
        async with httpx.AsyncClient(base_url=router.base_url, headers=HEADERS) as client:
            for _ in range(4):
                reply = await client.post(CHAT, json=BODY)
                assert reply.status_code == 200
                assert reply.json()["model"] == "chat"
            async with client.stream("POST", CHAT, json={**BODY, "stream": True}) as stream:
                text = b"".join([data async for data in stream.aiter_raw()])
        assert text.endswith(b"data: [DONE]\n\n")
        await eventually(lambda: _recorded(router, 5))
        members = [record.get("replica_member_id") for record in router.records()]
        assert members == (["a", "b", "a", "b", "a"] if kind == "replica" else [None] * 5)
        await router.wait_for_rest()


@kinds
async def test_a_client_that_leaves_frees_everything_within_a_second(kind: Kind, tmp_path):
    """Decision 17: FIN in mid-stream closes the engine's connection and frees the lease."""
    async with open_engines(kind, pace=SLOW) as urls, open_router(tmp_path, urls) as router:
        base = router.open_sockets()
        async with raw_client(router) as client:
            await client.send_chat()
            await client.read_until(b"data: ")
            assert await router.counts() == (1, 0)
        left_at = trio.current_time()
        await router.wait_for_rest()
        assert trio.current_time() - left_at < 1
        await eventually(lambda: _sockets(router, base), 2)
        await eventually(lambda: _recorded(router))
        [record] = router.records()
        assert record["workload_outcome"] == "disconnected"


@kinds
@pytest.mark.parametrize("after", [b"\r\n", b"POST /v1/chat/completions HTTP/1.1\r\nhost: r\r\n"])
async def test_stray_bytes_do_not_hide_that_the_client_left(kind: Kind, after, tmp_path):
    """A client that leaves in silence is seen, even if bytes followed its request."""
    silent = Pace(tokens_per_second=0.05)
    async with open_engines(kind, pace=silent) as urls, open_router(tmp_path, urls) as router:
        async with raw_client(router) as client:
            await client.send_chat(stream=False, after=after)
            await eventually(lambda: _runs(router, 1))
        await router.wait_for_rest()
        await eventually(lambda: _recorded(router))
        assert router.records()[0]["workload_outcome"] == "disconnected"


@kinds
async def test_a_stuck_reader_is_given_up(kind: Kind, tmp_path):
    """A client that stops reading for client_stall_timeout_s loses its connection and its lease."""
    flood = Pace(tokens_per_second=1e6)
    settings = "client_stall_timeout_s = 1\nheartbeat_interval_s = 0.3\n"
    async with (
        open_engines(kind, pace=flood) as urls,
        open_router(tmp_path, urls, settings=settings) as router,
        raw_client(router, receive_buffer=4096) as client,
    ):
        await client.send_chat(max_tokens=8000, messages=[{"role": "user", "content": "x" * 9000}])
        await client.read_until(b"data: ")
        await eventually(lambda: _recorded(router), 20)
        await router.wait_for_rest()


@kinds
async def test_a_slow_reader_loses_nothing(kind: Kind, tmp_path):
    """Pauses longer than a heartbeat, while a write waits, leave the stream whole and in order."""
    settings = "client_stall_timeout_s = 20\nheartbeat_interval_s = 0.05\n"
    flood = Pace(tokens_per_second=1e6)
    async with (
        open_engines(kind, pace=flood) as urls,
        open_router(tmp_path, urls, settings=settings) as router,
    ):
        async with httpx.AsyncClient(base_url=router.base_url, headers=HEADERS) as http:
            whole = await http.post(CHAT, json={**BODY, "max_tokens": 3000}, timeout=30)
        wanted = whole.json()["choices"][0]["message"]["content"]
        async with raw_client(router, receive_buffer=4096) as client:
            await client.send_chat(max_tokens=3000)
            while b"data: [DONE]" not in client.received:
                await trio.sleep(0.01)
                client.received += await client.stream.receive_some(16_384)
        events = [
            line for line in _unchunked(client.received).split(b"\n") if line[:6] == b"data: "
        ]
        pieces = [
            json.loads(line[6:])["choices"][0]["delta"].get("content", "") for line in events[:-1]
        ]
        assert "".join(pieces) == wanted
        await router.wait_for_rest()


@kinds
async def test_keep_alive_serves_request_after_request(kind: Kind, tmp_path):
    """One connection, many requests, no connection left behind (TCP_NODELAY: no 40 ms mode)."""
    async with open_engines(kind) as urls, open_router(tmp_path, urls) as router:
        async with raw_client(router) as client:
            began = trio.current_time()
            for _ in range(50):
                client.received = b""
                await client.send_chat(stream=False, max_tokens=1)
                await client.read_until(b'"total_tokens"')
            assert trio.current_time() - began < 50 * 0.04
        await router.wait_for_rest()


@kinds
async def test_bad_requests_get_a_clear_4xx(kind: Kind, tmp_path):
    """Bad input is a 4xx in the OpenAI shape that names the field; nothing leaks or is lost."""
    async with open_engines(kind) as urls, open_router(tmp_path, urls) as router:
        async with httpx.AsyncClient(base_url=router.base_url, headers=HEADERS) as client:
            for body, status, param in [
                (b"{", 400, None),
                (b'{"model":"chat"}', 400, "messages"),
                (b'{"model":"canary","messages":[{"role":"user","content":"x"}]}', 404, "model"),
            ]:
                reply = await client.post(CHAT, content=body)
                error = reply.json()["error"]
                assert (reply.status_code, error["param"]) == (status, param)
                assert "canary" not in reply.text
            assert (await client.get("/nowhere")).status_code == 404
            assert (await client.get(CHAT)).headers["allow"] == "POST"
        async with httpx.AsyncClient(base_url=router.base_url) as stranger:
            assert (await stranger.get("/v1/models")).status_code == 401


@kinds
async def test_a_thousand_slow_streams_at_once(kind: Kind, tmp_path):
    """1,000 concurrent slow streams: no error, and afterwards every count is 0."""
    pace = Pace(tokens_per_second=2.0, prefill_tokens_per_second=100_000.0)
    done: list[bool] = []

    async def one(number: int) -> None:
        await trio.sleep(number / 500)
        async with raw_client(router) as client:
            await client.send_chat(max_tokens=8)
            received = await client.read_until(b"data: [DONE]")
            done.append(received.count(b'"content"') == 9 and b'"error"' not in received)

    async with (
        open_engines(kind, pace=pace) as urls,
        open_router(tmp_path, urls, settings="max_concurrency = 1024\n") as router,
    ):
        async with trio.open_nursery() as nursery:
            for number in range(1000):
                nursery.start_soon(one, number)
        assert len(done) == 1000
        assert all(done)
        await router.wait_for_rest()
        await eventually(lambda: _recorded(router, 1000))
        outcomes = [record["workload_outcome"] for record in router.records()]
        assert outcomes == ["success"] * 1000


@kinds
async def test_sigterm_lets_running_streams_end(kind: Kind, tmp_path):
    """Decision 25: new connections are refused, the running stream ends well, exit status 0."""
    async with open_engines(kind, pace=SLOW) as urls, open_router(tmp_path, urls) as router:
        async with raw_client(router) as client:
            await client.send_chat(max_tokens=6)
            await client.read_until(b"data: ")
            router.process.send_signal(signal.SIGTERM)
            await eventually(lambda: _refuses(router), 5)
            received = await client.read_until(b"0\r\n\r\n")
        assert b"data: [DONE]" in received
        with trio.fail_after(5):
            assert await router.process.wait() == 0


@kinds
async def test_the_end_of_the_shutdown_bound_is_told_to_running_streams(kind: Kind, tmp_path):
    """Decision 25: at the end of shutdown_timeout_s a stream gets its terminal frame; exit 0."""
    async with open_engines(kind, pace=SLOW) as urls, open_router(tmp_path, urls) as router:
        async with raw_client(router) as client:
            await client.send_chat(max_tokens=1000)
            await client.read_until(b"data: ")
            router.process.send_signal(signal.SIGTERM)
            received = await client.read_until(b"0\r\n\r\n")
        assert b'"code":"shutting_down"' in received
        assert b"[DONE]" not in received
        with trio.fail_after(5):
            assert await router.process.wait() == 0


async def test_a_second_signal_ends_at_once(tmp_path):
    """Whoever insists is not made to wait for running streams."""
    async with open_engines(pace=SLOW) as urls, open_router(tmp_path, urls) as router:
        async with raw_client(router) as client:
            await client.send_chat(max_tokens=1000)
            await client.read_until(b"data: ")
            router.process.send_signal(signal.SIGTERM)
            await trio.sleep(0.2)
            router.process.send_signal(signal.SIGTERM)
            with trio.fail_after(3):
                await router.process.wait()


async def _sockets(router, base: int) -> bool:
    return bool(router.open_sockets() <= base + 1)


async def _refuses(router) -> bool:
    try:
        async with raw_client(router):
            return False
    except OSError:
        return True


async def _runs(router, count: int) -> bool:
    return bool(await router.counts() == (count, 0))


async def _recorded(router, count: int = 1) -> bool:
    return bool(len(router.records()) == count)


def _unchunked(received: bytes) -> bytes:
    """A chunked body without its framing."""
    rest = received.partition(b"\r\n\r\n")[2]
    parts = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        parts.append(rest[:length])
        rest = rest[length + 2 :]
        if not length:
            break
    return b"".join(parts)
