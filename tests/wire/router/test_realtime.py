"""Realtime sessions on real sockets: many at once, floods, ends and stops."""

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from random import Random

import httpx
import pytest
import trio
import trio_websocket
from trio_websocket import ConnectionClosed, ConnectionRejected, WebSocketConnection
from wsproto import ConnectionType
from wsproto.connection import Connection
from wsproto.events import BytesMessage, CloseConnection, TextMessage

from anvil_trio.demo.engine import Engine, EngineOptions
from anvil_trio.server.accept import Server
from anvil_trio.server.listen import listen
from anvil_trio.server.options import ServerOptions
from anvil_trio.web.asgi_types import Receive, Scope, Send
from tests.support.running_router import (
    QUICK,
    TOKEN,
    RunningRouter,
    eventually,
    open_engines,
    open_router,
)
from tests.support.wire import H2Client, RawClient, until

pytestmark = pytest.mark.wire

PATH = "/v1/realtime?model=chat"
BEARER = (b"authorization", b"Bearer " + TOKEN.encode())
REALTIME = "realtime = true\n"
SESSIONS, MESSAGES = 200, 12
QUICK_PROBES = """
[router]
availability_probe_interval = 0.25
availability_failures = 1
"""


class FlappingEngine:
    """A demo engine whose health comes and goes; its sessions go on."""

    def __init__(self) -> None:
        self._engine = Engine(EngineOptions(slots=2_000, pace=QUICK))
        self.is_well = True
        self.url = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The engine's own answer, but for a 503 to the question how it is while it is not well."""
        if scope.get("path") == "/health" and not self.is_well:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        await self._engine(scope, receive, send)

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Serve until cancelled."""
        listener = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with trio.open_nursery() as nursery:
            await nursery.start(Server(self, ServerOptions(), [listener]).run)
            task_status.started()


@asynccontextmanager
async def session(
    router: RunningRouter, *headers: tuple[bytes, bytes], subprotocols: tuple[str, ...] = ()
) -> AsyncIterator[WebSocketConnection]:
    """An accepted session, vanished from when the block is left."""
    async with await RawClient.connect(router.port) as client:
        async with trio.open_nursery() as nursery:
            yield await trio_websocket.wrap_client_stream(
                nursery,
                client.stream,
                f"127.0.0.1:{router.port}",
                PATH,
                subprotocols=subprotocols,
                extra_headers=list(headers or (BEARER,)),
                max_message_size=2**25,
            )
            nursery.cancel_scope.cancel()


async def created(socket: WebSocketConnection) -> dict[str, object]:
    """The engine's first word."""
    with trio.fail_after(20):
        event: dict[str, object] = json.loads(await socket.get_message())
    assert event["type"] == "session.created"
    return event


async def ended(socket: WebSocketConnection) -> list[str | bytes]:
    """All that is still said, to the end."""
    said: list[str | bytes] = []
    with trio.fail_after(20), suppress(ConnectionClosed):
        while True:
            said.append(await socket.get_message())
    return said


async def talk(router: RunningRouter, rng: Random, refused: list[int]) -> None:
    """One client: as many messages as it sends come back, in order; refused, it asks again."""
    while not await _is_served(router, rng, refused):
        await trio.sleep(0.2)


async def _is_served(router: RunningRouter, rng: Random, refused: list[int]) -> bool:
    before = len(refused)
    try:
        with trio.fail_after(60):
            await _talk_once(router, rng)
    except* ConnectionRejected as rejected:
        refused.extend(one.status_code for one in rejected.exceptions)  # type: ignore[union-attr]
    return len(refused) == before


async def _talk_once(router: RunningRouter, rng: Random) -> None:
    async with session(router) as socket:
        await created(socket)
        numbers = [b"%d" % number for number in range(MESSAGES)]
        heard: list[str | bytes] = []
        for number in numbers:
            await socket.send_message(number)
            if rng.random() < 0.5:
                heard.append(await socket.get_message())
            await trio.sleep(rng.random() * 0.2)
        while len(heard) < MESSAGES:
            heard.append(await socket.get_message())
        assert heard == numbers, "a message was lost"
        await socket.aclose(1000)


async def flap(engines: list[FlappingEngine]) -> None:
    """One of them at a time is not well, and then again it is."""
    while True:
        for engine in engines:
            engine.is_well = False
            await trio.sleep(0.6)
            engine.is_well = True
            await trio.sleep(0.5)


@pytest.mark.timeout(120)
async def test_two_hundred_sessions_with_members_flapping(tmp_path):
    """No message is lost, none is sent twice, and in the end nothing is counted."""
    engines = [FlappingEngine(), FlappingEngine()]
    refused: list[int] = []
    async with trio.open_nursery() as nursery:
        for engine in engines:
            await nursery.start(engine.run)
        urls = [engine.url for engine in engines]
        async with open_router(tmp_path, urls, tier_settings=REALTIME, more=QUICK_PROBES) as router:
            sockets = router.open_sockets()
            flapping = trio.CancelScope()

            async def keep_flapping() -> None:
                with flapping:
                    await flap(engines)

            nursery.start_soon(keep_flapping)
            async with trio.open_nursery() as clients:
                for number in range(SESSIONS):
                    clients.start_soon(talk, router, Random(number), refused)
            flapping.cancel()
            await eventually(partial(_at_rest, router), within_s=1)  # the engine's goodbyes
            records = router.records()
            ends = [record["workload_outcome"] for record in records]
            assert ends.count("success") == SESSIONS
            assert ends.count("rejected") == len(refused) == len(records) - SESSIONS
            assert set(refused) <= {503}
            served = {str(record.get("replica_member_id")) for record in records}
            assert {"a", "b"} <= served
            await until(lambda: router.open_sockets() <= sockets + 4)
        nursery.cancel_scope.cancel()


async def test_a_client_that_vanishes_frees_its_place_within_a_second(tmp_path):
    """CAN-04's kind: by a reset, by hanging up, and by half of a close."""
    async with open_engines("direct") as urls:
        async with open_router(tmp_path, urls, tier_settings=REALTIME) as router:
            for way in ("reset", "leave", "half"):
                async with await RawClient.connect(router.port) as client:
                    async with trio.open_nursery() as nursery:
                        socket = await trio_websocket.wrap_client_stream(
                            nursery, client.stream, "a", PATH, extra_headers=[BEARER]
                        )
                        await created(socket)
                        assert (await router.counts())[0] == 1
                        if way == "reset":
                            client.reset()
                        elif way == "leave":
                            client.leave()
                        else:
                            await client.stream.send_eof()
                        await eventually(partial(_at_rest, router), within_s=1)
                        nursery.cancel_scope.cancel()
            ends = [record["workload_outcome"] for record in router.records()]
            assert ends == ["disconnected"] * 3


async def _at_rest(router: RunningRouter) -> bool:
    return await router.counts() == (0, 0)


async def test_large_messages_pass(tmp_path):
    """Eight MiB, in both directions, as one message."""
    async with open_engines("direct") as urls:
        async with open_router(tmp_path, urls, tier_settings=REALTIME) as router:
            async with session(router) as socket:
                await created(socket)
                large = bytes(range(256)) * 32_768
                with trio.fail_after(30):
                    await socket.send_message(large)
                    assert await socket.get_message() == large
                await socket.aclose()
            await router.wait_for_rest()


async def test_a_message_beyond_the_bound_is_1009(tmp_path):
    """`max_event_bytes` bounds a client's messages, however many parts they come in."""
    settings = "max_event_bytes = 4096\n"
    async with open_engines("direct") as urls:
        async with open_router(tmp_path, urls, settings=settings, tier_settings=REALTIME) as router:
            async with session(router) as socket:
                await created(socket)
                await socket.send_message(b"x" * 4096)
                assert await socket.get_message() == b"x" * 4096
                await socket.send_message(b"x" * 4097)
                await ended(socket)
                assert socket.closed is not None
                assert socket.closed.code == 1009
            await eventually(partial(_at_rest, router), within_s=1)


async def test_a_key_as_a_subprotocol_is_shown_nowhere(tmp_path):
    """Not in the acceptance, not in a refusal, a record or a line of the log."""
    offered = ("realtime", f"openai-insecure-api-key.{TOKEN}")
    other = (b"x-nothing", b"1")
    async with open_engines("direct") as urls:
        async with open_router(tmp_path, urls, tier_settings=REALTIME) as router:
            async with session(router, other, subprotocols=offered) as socket:
                await created(socket)
                assert socket.subprotocol == "realtime"
                assert TOKEN.encode() not in repr(socket.handshake_headers).encode()
                await socket.aclose()
            with pytest.raises(ExceptionGroup) as refused:
                async with session(
                    router, other, subprotocols=("realtime", "openai-insecure-api-key.not-it")
                ):
                    pass
            (rejected,) = refused.value.exceptions
            assert isinstance(rejected, ConnectionRejected)
            assert rejected.status_code == 401
            assert b"not-it" not in (rejected.body or b"")
            await router.wait_for_rest()
            kept = bytes(router.stderr) + router.log_path.read_bytes()
            assert TOKEN.encode() not in kept
            assert b"not-it" not in kept


async def test_a_stop_lets_a_session_finish_and_then_ends_it(tmp_path):
    """As a stream: within `shutdown_timeout_s` it goes on, then it is told and closed."""
    settings = "shutdown_timeout_s = 2\n"
    async with open_engines("direct") as urls:
        async with open_router(tmp_path, urls, settings=settings, tier_settings=REALTIME) as router:
            async with session(router) as socket:
                await created(socket)
                router.process.send_signal(signal.SIGTERM)
                await trio.sleep(0.5)
                await socket.send_message(b"still here")
                assert await socket.get_message() == b"still here"
                (error,) = await ended(socket)
                assert json.loads(error)["error"]["code"] == "shutting_down"
                assert socket.closed is not None
                assert (socket.closed.code, socket.closed.reason) == (1001, "shutting_down")
            with trio.fail_after(10):
                await router.process.wait()
            (record,) = router.records()
            assert record["workload_outcome"] == "cancelled"


async def test_a_session_over_http_2(tmp_path):
    """By an extended CONNECT, beside other requests on the same connection."""
    async with open_engines("direct") as urls:
        async with open_router(tmp_path, urls, tier_settings=REALTIME) as router:
            async with await RawClient.connect(router.port) as raw:
                client = await H2Client(raw).start()
                stream_id = client.h2.get_next_available_stream_id()
                client.h2.send_headers(
                    stream_id,
                    [
                        (b":method", b"CONNECT"),
                        (b":protocol", b"websocket"),
                        (b":scheme", b"http"),
                        (b":path", PATH.encode()),
                        (b":authority", b"a"),
                        (b"sec-websocket-version", b"13"),
                        BEARER,
                    ],
                )
                await client.flush()
                await client.read_until(lambda: b"session.created" in client.body(stream_id))
                assert client.headers(stream_id)[b":status"] == b"200"
                socket = Connection(ConnectionType.CLIENT)
                for event in (BytesMessage(b"over two"), TextMessage("nothing that it knows")):
                    client.h2.send_data(stream_id, socket.send(event))
                await client.flush()
                await client.read_until(lambda: b"unknown_event" in _text(client, stream_id))
                assert b"over two" in client.body(stream_id)
                client.h2.send_data(stream_id, socket.send(CloseConnection(1000)))
                await client.flush()
                await router.wait_for_rest()
                (record,) = router.records()
                assert record["workload_outcome"] == "success"


def _text(client: H2Client, stream_id: int) -> bytes:
    return client.body(stream_id).replace(b"invalid_event", b"unknown_event")


async def test_hostile_bytes_end_their_session_alone(tmp_path):
    """Random frames behind a good handshake: the router goes on, nothing is held."""
    async with open_engines("direct") as urls:
        async with open_router(tmp_path, urls, tier_settings=REALTIME) as router:
            for seed in range(40):
                rng = Random(seed)
                async with await RawClient.connect(router.port) as client:
                    await client.send(
                        b"GET %s HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\n"
                        b"upgrade: websocket\r\nsec-websocket-version: 13\r\n"
                        b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                        b"authorization: Bearer %s\r\n\r\n" % (PATH.encode(), TOKEN.encode())
                    )
                    head = await client.read_until(b"\r\n\r\n")
                    assert head.startswith(b"HTTP/1.1 101 ")
                    await client.send(_frames(rng))
            with trio.fail_after(10):
                await router.wait_for_rest()
            async with session(router) as socket:
                await created(socket)
                await socket.aclose()
            await router.wait_for_rest()
            assert len(router.records()) == 41
            assert b"exchange_failed" not in router.stderr
            assert b"connection_failed" not in router.stderr


def _frames(rng: Random) -> bytes:
    """Good and bad frames, then noise."""
    parts = []
    for _ in range(rng.randint(1, 8)):
        payload = rng.choice((b"{}", b"\xff", b'{"session":{"model":', rng.randbytes(100)))
        first = rng.choice((0x81, 0x82, 0x01, 0x00, 0x80, 0x89, 0x8A, 0x88, 0xC1, 0x83))
        parts.append(bytes([first, 0x80 | len(payload)]) + bytes(4) + payload)
    return b"".join([*parts, rng.randbytes(rng.randint(0, 50))])


async def test_a_plain_request_and_an_engine_without_sessions(tmp_path):
    """426 where no WebSocket is asked for; an engine that has no such path is a 502."""
    async with open_engines("direct") as urls:
        async with open_router(tmp_path, urls, tier_settings=REALTIME) as router:
            async with httpx.AsyncClient(base_url=router.base_url, trust_env=False) as client:
                reply = await client.get(PATH, headers={"authorization": f"Bearer {TOKEN}"})
                assert reply.status_code == 426
