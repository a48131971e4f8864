"""The live feed on real sockets, with a client of another make."""

import json
import select
import signal
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import httpx
import pytest
import trio
import trio_websocket
from trio_websocket import ConnectionClosed, ConnectionRejected

from tests.support.running_router import TOKEN, RunningRouter, open_engines, open_router
from tests.support.wire import RawClient, until

pytestmark = pytest.mark.wire
EVENTS = "/v1/router/events"
BEARER = (b"authorization", b"Bearer " + TOKEN.encode())
BODY = {"model": "chat", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
HANDSHAKE = (
    b"GET %s HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"authorization: Bearer %s\r\n\r\n" % (EVENTS.encode(), TOKEN.encode())
)


@asynccontextmanager
async def follow(
    router: RunningRouter, *headers: tuple[bytes, bytes], tls: ssl.SSLContext | None = None
) -> AsyncIterator[trio_websocket.WebSocketConnection]:
    """A subscriber, until the block is left."""
    async with await RawClient.connect(router.port, tls=tls) as client:
        async with trio.open_nursery() as nursery:
            yield await trio_websocket.wrap_client_stream(
                nursery,
                client.stream,
                f"127.0.0.1:{router.port}",
                EVENTS,
                extra_headers=list(headers or (BEARER,)),
            )
            nursery.cancel_scope.cancel()


async def told(socket: trio_websocket.WebSocketConnection) -> dict[str, object]:
    """The next message."""
    with trio.fail_after(20):
        message: dict[str, object] = json.loads(await socket.get_message())
        return message


async def ended(socket: trio_websocket.WebSocketConnection) -> tuple[int, str | None]:
    """How the router closed it, read to the end."""
    with trio.fail_after(20), suppress(ConnectionClosed):
        while True:
            await socket.get_message()
    assert socket.closed is not None
    return socket.closed.code, socket.closed.reason


async def chat(router: RunningRouter) -> str:
    """One short request; its id."""
    async with httpx.AsyncClient(base_url=router.base_url, trust_env=False, timeout=30) as client:
        reply = await client.post(
            "/v1/chat/completions", json=BODY, headers={"authorization": f"Bearer {TOKEN}"}
        )
    assert reply.status_code == 200
    return reply.headers["x-anvil-request-id"]


async def test_a_subscriber_reads_what_happens(tmp_path):
    """Hello, then the record of a request made meanwhile; small messages and pings are taken."""
    async with open_engines() as urls, open_router(tmp_path, urls) as router:
        async with follow(router) as socket:
            assert (await told(socket))["schema"] == "anvil-router-events/v1"
            await socket.send_message("hello?")
            with trio.fail_after(10):
                await socket.ping(b"still there")
            request_id = await chat(router)
            message = await told(socket)
            assert message["type"] == "request"
            record = message["record"]
            assert isinstance(record, dict)
            assert record["gateway_request_id"] == request_id
            assert record == router.records()[-1]
        assert (await router.get("/v1/router/status"))["object"] == "router_status"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([(b"x-a", b"b")], 401),
        ([BEARER, (b"origin", b"http://canary.test")], 403),
        ([BEARER, (b"origin", b"http://127.0.0.1:1")], 403),
    ],
)
async def test_whoever_may_not_is_refused_over_http(headers, status, tmp_path):
    """With the error body that every page has."""
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        with pytest.RaisesGroup(ConnectionRejected) as caught:
            async with follow(router, *headers):
                pass
        [rejected] = caught.value.exceptions
        assert isinstance(rejected, ConnectionRejected)
        assert rejected.status_code == status
        assert rejected.body is not None
        assert b"error" in rejected.body
        assert b"canary" not in rejected.body


async def test_a_page_of_the_very_address_may_follow(tmp_path):
    """As libraries do that send an Origin of their own making."""
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        origin = (b"origin", router.base_url.encode())
        async with follow(router, BEARER, origin) as socket:
            assert (await told(socket))["type"] == "hello"


async def test_plain_http_is_told_to_upgrade(tmp_path):
    """426 names the protocol, and the connection can be used again."""
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        async with httpx.AsyncClient(base_url=router.base_url, trust_env=False) as client:
            for _ in range(2):
                reply = await client.get(EVENTS, headers={"authorization": f"Bearer {TOKEN}"})
                assert (reply.status_code, reply.headers["upgrade"]) == (426, "websocket")
            assert (await client.get(EVENTS)).status_code == 401


REASONS = {4_097: "message_too_big", 1_048_577: None, 3_000_000: None}


@pytest.mark.parametrize("size", REASONS)
async def test_a_big_message_closes_with_1009(size, tmp_path):
    """Whether the application or the server finds it too big."""
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        async with follow(router) as socket:
            await told(socket)
            with suppress(ConnectionClosed):
                await socket.send_message("x" * size)
            assert await ended(socket) == (1009, REASONS[size])
        assert await chat(router)


async def test_a_stop_closes_with_1001_and_ends_in_time(tmp_path):
    """Subscribers that read and one that does not: the process ends within seconds, status 0."""
    async with (
        open_engines("direct") as urls,
        open_router(tmp_path, urls, settings="heartbeat_interval_s = 0.2\n") as router,
        follow(router) as one,
        follow(router) as other,
        await RawClient.connect(router.port, rcvbuf=4096) as deaf,
    ):
        await deaf.send(HANDSHAKE)
        await told(one)
        await told(other)
        began = trio.current_time()
        router.process.send_signal(signal.SIGTERM)
        for socket in (one, other):
            assert await ended(socket) == (1001, "shutting_down")
        with trio.fail_after(10):
            assert await router.process.wait() == 0
        assert trio.current_time() - began < 5


async def test_a_client_that_takes_nothing_is_cut_off(tmp_path):
    """After `client_stall_timeout_s` its socket is reset; no request waited for it."""
    settings = "client_stall_timeout_s = 1\n"
    async with (
        open_engines("direct") as urls,
        open_router(tmp_path, urls, settings=settings) as router,
        await RawClient.connect(router.port, rcvbuf=1024) as deaf,
        trio.open_nursery() as nursery,
    ):
        await deaf.send(HANDSHAKE)
        hung_up = select.poll()
        hung_up.register(deaf.socket.fileno(), 0)  # errors and hang-ups only
        began = trio.current_time()
        for _ in range(8):
            nursery.start_soon(_chat_until, router, lambda: hung_up.poll(0))
        await until(lambda: hung_up.poll(0), within_s=50)
        assert trio.current_time() - began >= 1


async def _chat_until(router: RunningRouter, is_over: Callable[[], object]) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(base_url=router.base_url, trust_env=False, timeout=5) as client:
        while not is_over():
            reply = await client.post("/v1/chat/completions", json=BODY, headers=headers)
            assert reply.status_code == 200
