"""How a WebSocket ends, and what its application is told: codes, faults, floods and bounds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from tests.support.wire import RawClient, Served, serving, until
from tests.support.wire_apps import Receive, Scope, Send, client_of
from tests.wire.server.test_websocket import HANDSHAKE

pytestmark = pytest.mark.wire

MASK = bytes(4)


def frame(first: int, payload: bytes = b"", *, is_masked: bool = True) -> bytes:
    """One short frame as a client sends it."""
    assert len(payload) < 126
    return bytes([first, (0x80 if is_masked else 0) | len(payload)]) + MASK * is_masked + payload


class Listener:
    """Keeps what it hears, and how its client left."""

    def __init__(self, most: int | None = None) -> None:
        self.heard: list[object] = []
        self.ends: list[object] = []
        self.lost_with: list[int | None] = []
        self.most = most
        self.scopes: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        inbox = client_of(scope)
        self.scopes.append(scope)
        inbox.on_gone = lambda: self.lost_with.append(inbox.close_code)
        inbox.max_message_chars = self.most
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            self.heard.append(message.get("text") or message.get("bytes"))
        self.ends.append(message["code"])


@asynccontextmanager
async def shaken(app: Listener, **options: Any) -> AsyncIterator[tuple[Served, RawClient]]:
    """A client whose handshake was accepted."""
    async with serving(app, **options) as served, await served.connect() as client:
        await client.send(HANDSHAKE)
        await client.read_until(b"\r\n\r\n")
        yield served, client


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"\x03\xe8", 1000),
        (b"\x03\xe9bye", 1001),
        (b"\x10\xe1", 4321),
        (b"", 1005),
    ],
)
async def test_the_clients_code_is_told(payload, code):
    """`Inbox.close_code`: a close in good order is told with its code, in that step and after."""
    app = Listener()
    async with shaken(app) as (served, client):
        await client.send(frame(0x81, b"last words") + frame(0x88, payload))
        data, end = await client.read_to_end()
        assert data[:1] == b"\x88"
        assert end == "FIN"
        await until(lambda: app.ends)
        await until(lambda: served.server.open_connections == 0)
    assert (app.heard, app.ends, app.lost_with) == (["last words"], [code], [code])


async def test_a_client_that_hangs_up_has_no_code():
    """`Inbox.close_code`: a connection that ends without a close frame is 1006."""
    app = Listener()
    async with shaken(app) as (_, client):
        client.leave()
        await until(lambda: app.ends)
    assert (app.ends, app.lost_with) == ([1006], [None])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(0x81, b"\xff\xfe"), 1007),
        (frame(0x81, b"\xed\xa0\x80"), 1007),
        (frame(0x01, b"\xe2\x82") + frame(0x80, b"x"), 1007),
        (frame(0xC1, b"x\x9c"), 1002),
        (frame(0x83, b"x"), 1002),
        (frame(0x81, b"x", is_masked=False), 1002),
        (frame(0x80, b"x"), 1002),
        (frame(0x09, b"x"), 1002),
        (frame(0x88, b"\x03"), 1002),
        (frame(0x88, b"\x03\xed"), 1002),
        (frame(0x88, b"\x03\xe8\xff"), 1007),
    ],
    ids=[
        "no UTF-8",
        "a lone surrogate",
        "half a character",
        "compressed",
        "unknown opcode",
        "unmasked",
        "a part of nothing",
        "a ping in parts",
        "half a close code",
        "a reserved close code",
        "a close reason that is no UTF-8",
    ],
)
async def test_what_is_no_websocket_is_told_its_code(data, code):
    """`bound_messages`: bad text and bad frames are closed with the code that names the fault."""
    app = Listener()
    async with shaken(app) as (served, client):
        await client.send(frame(0x81, b"good") + data)
        said, end = await client.read_to_end()
        assert said == b"\x88\x02" + code.to_bytes(2, "big")
        assert end == "FIN"
        await until(lambda: app.ends)
        await until(lambda: served.server.open_connections == 0)
    assert app.heard == ["good"]
    assert (app.ends, app.lost_with) == ([1006], [None]), "it said no goodbye of its own"


async def test_the_application_may_say_how_long_a_message_may_be():
    """`Inbox.max_message_chars`: more or less than the server's own bound; 1009 beyond."""
    app = Listener(most=2000)
    async with shaken(app, max_message_bytes=1000) as (_, client):
        await client.send(b"\x81\xfe\x07\xd0" + MASK + b"x" * 2000)
        await until(lambda: app.heard)
        await client.send(b"\x01\xfe\x07\xd0" + MASK + b"x" * 2000 + frame(0x80, b"x"))
        assert await client.read_to_end() == (b"\x88\x02\x03\xf1", "FIN")
        await until(lambda: app.ends == [1006])
    assert app.heard == ["x" * 2000]


async def test_a_message_in_a_thousand_parts_is_one():
    """`bound_messages`: parts are put together, with pings between them answered at once."""
    app = Listener()
    async with shaken(app) as (_, client):
        await client.send(frame(0x01, b"x") + frame(0x00, b"x") * 998)
        await client.send(frame(0x89, b"mid"))
        assert await client.read_until(b"mid") == b"\x8a\x03mid"
        await client.send(frame(0x80, b"x"))
        await until(lambda: app.heard)
    assert app.heard == ["x" * 1000]


async def test_a_flood_of_pings_is_answered_and_bounded():
    """`Channel.send`: a client that reads gets its pongs; one that does not is cut off."""
    app = Listener()
    async with shaken(app) as (_, client):
        await client.send(frame(0x89, b"p" * 100) * 1000)
        data = b""
        while len(data) < 1000 * 102:
            data += await client.read_some()
        assert data == (b"\x8a\x64" + b"p" * 100) * 1000
    app = Listener()
    async with serving(app, max_waiting_bytes=65_536) as served:
        async with await RawClient.connect(served.port, rcvbuf=4096) as client:
            await client.send(HANDSHAKE)
            await client.read_until(b"\r\n\r\n")
            with trio.move_on_after(10):
                while served.server.open_connections:
                    await client.send(frame(0x89, b"p" * 100) * 1000)
            await until(lambda: served.server.open_connections == 0)
    assert app.ends == [1006]


async def test_an_application_may_ping():
    """`Inbox.ping`: an empty ping goes out while the WebSocket is open, and nothing after."""
    app = Listener()
    async with shaken(app) as (_, client):
        inbox = client_of(app.scopes[0])
        assert inbox.ping is not None
        await inbox.ping()
        assert await client.read_until(b"\x89\x00") == b"\x89\x00"
        await client.send(frame(0x8A))
        await client.send(frame(0x88, b"\x03\xe8"))
        assert await client.read_to_end() == (b"\x88\x02\x03\xe8", "FIN")
        await inbox.ping()


async def test_a_ping_before_the_handshake_is_none():
    """`Inbox.ping`: nothing is sent on what is no WebSocket yet."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        ping = client_of(scope).ping
        assert ping is not None
        await ping()
        await send({"type": "websocket.close"})

    async with serving(handler) as served, await served.connect() as client:
        await client.send(HANDSHAKE)
        data, _ = await client.read_to_end()
        assert data.startswith(b"HTTP/1.1 403 ")
