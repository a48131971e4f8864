"""WebSockets through hypercorn's stream, with a client of another make."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import trio
import trio_websocket
from hypercorn.protocol.ws_stream import Handshake
from trio_websocket import ConnectionClosed, ConnectionRejected
from wsproto.events import TextMessage

from anvil_trio.server.hypercorn_names import FrameTooLargeError, WebsocketBuffer, WSStream
from anvil_trio.server.inbox import Inbox
from anvil_trio.server.tasks import EXTENSION
from anvil_trio.server.websockets import bound_messages
from tests.support.wire import RawClient, serving, until
from tests.support.wire_apps import Receive, Scope, Send, client_of

pytestmark = pytest.mark.wire


class Chat:
    """Answers each text with an exclamation mark and notes how its client left."""

    def __init__(self) -> None:
        self.ends: list[object] = []
        self.lost = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "websocket"
        client_of(scope).on_gone = self._lose
        assert (await receive())["type"] == "websocket.connect"
        if scope["path"] == "/refuse":
            await send({"type": "websocket.close", "code": 1008})
            return
        await send({"type": "websocket.accept"})
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                self.ends.append(message["code"])
                return
            if message["text"] == "close":
                await send({"type": "websocket.close", "code": 1000})
            else:
                await send({"type": "websocket.send", "text": f"{message['text']}!"})

    def _lose(self) -> None:
        self.lost += 1


@asynccontextmanager
async def open_socket(
    port: int, tls: ssl.SSLContext | None = None, path: str = "/"
) -> AsyncIterator[trio_websocket.WebSocketConnection]:
    """A WebSocket over a stream of ours, closed with the block: the library leaves some open."""
    async with await RawClient.connect(port, tls=tls) as client:
        async with trio.open_nursery() as nursery:
            yield await trio_websocket.wrap_client_stream(nursery, client.stream, "localhost", path)
            nursery.cancel_scope.cancel()


@pytest.fixture(params=["ws", "wss"])
def secured(request, server_tls, client_tls) -> tuple[dict[str, object], ssl.SSLContext | None]:
    """Server options and client context, without and with TLS."""
    return ({}, None) if request.param == "ws" else ({"tls": server_tls}, client_tls)


async def test_messages_pass_both_ways(secured):
    """`Tasks.spawn_app`: short and long messages are answered, and the client's leaving is seen."""
    options, tls = secured
    chat = Chat()
    async with serving(chat, **options) as served:
        async with open_socket(served.port, tls) as socket:
            for text in ("hi", "x" * 300_000):
                await socket.send_message(text)
                assert await socket.get_message() == f"{text}!"
        await until(lambda: chat.ends)
        await until(lambda: served.server.open_connections == 0)
    assert chat.lost == 1


async def test_a_close_of_the_application_is_no_leaving(secured):
    """`Inbox.put`: after its own close the application reads a normal end and is not cancelled."""
    options, tls = secured
    chat = Chat()
    async with serving(chat, **options) as served:
        async with open_socket(served.port, tls) as socket:
            await socket.send_message("close")
            with pytest.raises(ConnectionClosed):
                await socket.get_message()
        await until(lambda: chat.ends)
        await until(lambda: served.server.open_connections == 0)
    assert chat.ends == [1000]
    assert chat.lost == 0


async def test_a_refused_handshake_ends_its_connection(secured):
    """`Http1.feed`: a WebSocket that the application refuses gets its 403 and the end."""
    options, tls = secured
    async with serving(Chat(), **options) as served:
        with pytest.RaisesGroup(ConnectionRejected):
            async with open_socket(served.port, tls, "/refuse"):
                pass
        await until(lambda: served.server.open_connections == 0)


async def test_a_client_that_vanishes_is_seen():
    """`Tasks.lose_client`: a WebSocket whose TCP connection is reset is told to its application."""
    chat = Chat()
    async with serving(chat) as served, await served.connect() as client:
        async with trio.open_nursery() as nursery:
            socket = await trio_websocket.wrap_client_stream(nursery, client.stream, "a", "/")
            await socket.send_message("hi")
            assert await socket.get_message() == "hi!"
            client.reset()
            await until(lambda: chat.ends)
            nursery.cancel_scope.cancel()
    assert chat.ends == [1006]
    assert chat.lost == 1


HANDSHAKE = (
    b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def test_data_before_the_handshake_is_accepted_ends_both_sides():
    """`Http1.feed`: a client that does not wait gets a 400 and its application is told."""
    lost, begun = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        client_of(scope).on_gone = lost.set
        begun.set()
        await lost.wait()

    async with serving(handler) as served, await served.connect() as client:
        await client.send(HANDSHAKE)
        with trio.fail_after(10):
            await begun.wait()
        await client.send(b"\x81\x85\0\0\0\0hello")
        data, _ = await client.read_to_end()
        assert data.startswith(b"HTTP/1.1 400 ")
        with trio.fail_after(10):
            await lost.wait()


async def test_sending_to_a_websocket_that_has_closed_starves_nobody():
    """`Channel.drained`: a loop of sends after the client's close still lets the server go on."""
    begun = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        begun.set()
        while True:
            await send({"type": "websocket.send", "text": "more"})

    async with serving(handler, linger_s=0.1) as served:
        async with open_socket(served.port) as socket:
            with trio.fail_after(10):
                await begun.wait()
            with trio.move_on_after(0.1):
                while True:
                    await socket.get_message()
        await trio.sleep(0.1)
        async with await served.connect() as client:
            await client.send(b"GET / HTTP/1.1\r\n\r\n")
            assert (await client.read_to_end())[0].startswith(b"HTTP/1.1 400 ")


COMPRESSED = HANDSHAKE.replace(
    b"host: a\r\n", b"host: a\r\nsec-websocket-extensions: permessage-deflate\r\n"
)


async def test_no_compression_is_agreed_on():
    """`bound_messages`: what comes compressed could not be bounded before it is inflated."""
    async with serving(Chat()) as served, await served.connect() as client:
        await client.send(COMPRESSED)
        head = await client.read_until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        assert b"permessage-deflate" not in head.lower()


async def test_a_message_that_is_too_large_is_not_kept():
    """`bound_messages`: its parts are dropped from the bound on, and so is all that follows it."""
    stream = WSStream.__new__(WSStream)
    stream.buffer = WebsocketBuffer(10)
    inbox = Inbox("websocket", trio.lowlevel.checkpoint)
    stream.scope = cast("Any", {"extensions": {EXTENSION: inbox}})
    stream.handshake = Handshake([(b"sec-websocket-extensions", b"permessage-deflate")], "1.1")
    bound_messages(stream)
    assert stream.handshake.extensions is None
    assert not inbox.gone
    stream.buffer.extend(TextMessage("x" * 10, message_finished=False))
    for _ in range(3):
        with pytest.raises(FrameTooLargeError):
            stream.buffer.extend(TextMessage("x", message_finished=False))
        assert (stream.buffer.value, stream.buffer.length) == (None, 0)
        assert inbox.gone


async def test_a_websocket_message_has_a_bound():
    """`bound_messages`: over `max_message_bytes` the server closes with 1009; below all passes."""
    chat = Chat()
    async with serving(chat, max_message_bytes=1000) as served:
        async with open_socket(served.port) as socket:
            await socket.send_message("x" * 1000)
            assert await socket.get_message() == "x" * 1000 + "!"
            await socket.send_message("x" * 1001)
            with pytest.raises(ConnectionClosed) as closed:
                await socket.get_message()
        assert closed.value.reason is not None
        assert closed.value.reason.code == 1009
        await until(lambda: chat.ends)


async def test_a_message_that_is_too_large_ends_a_websocket_whose_client_stays():
    """`bound_messages`: a client that does not answer the 1009 loses application and connection."""
    chat = Chat()
    async with serving(chat, max_message_bytes=1000) as served:
        async with await served.connect() as client:
            await client.send(HANDSHAKE)
            await client.read_until(b"\r\n\r\n")
            await client.send(b"\x81\xfe\x03\xe9" + bytes(4) + b"x" * 1001)
            assert await client.read_to_end() == (b"\x88\x02\x03\xf1", "FIN")
            await until(lambda: chat.ends == [1006])
