"""The live feed over HTTP/2, over TLS, and from a server that is short of seats."""

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import h2.events
import pytest
import trio
import trustme

from anvil_trio.cli import feed_client
from anvil_trio.cli.feed_client import follow_feed
from anvil_trio.cli.reach import Reach
from anvil_trio.decisions.events import IntentChanged
from anvil_trio.exchange.house import House
from anvil_trio.names import TierId
from anvil_trio.net.tls import server_context
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import BEARER, TOKEN
from tests.support.asgi_socket import EVENTS
from tests.support.small_house import open_small_house
from tests.support.wire import H2Client, Served, serving, until

pytestmark = pytest.mark.wire
CHANGE = IntentChanged(TierId("primary"), None, is_quiesced=True)


@asynccontextmanager
async def serving_house(**options: Any) -> AsyncIterator[tuple[House, Served]]:
    """A house without engines behind our own server, and its address."""
    async with open_small_house() as small:
        app = App(small.house, lambda: small.generation, Authenticator(TOKEN))
        async with serving(app, on_stopping=small.house.drain, **options) as served:
            yield small.house, served


async def ask_for_feed(client: H2Client, *more: tuple[bytes, bytes]) -> int:
    """The stream of one WebSocket over HTTP/2."""
    stream_id = int(client.h2.get_next_available_stream_id())
    head = [
        (b":method", b"CONNECT"),
        (b":protocol", b"websocket"),
        (b":scheme", b"http"),
        (b":authority", b"127.0.0.1"),
        (b":path", EVENTS.encode()),
        (b"sec-websocket-version", b"13"),
        *more,
    ]
    client.h2.send_headers(stream_id, head)
    await client.flush()
    return stream_id


def messages(data: bytes) -> list[Any]:
    """What short text frames of a server hold."""
    found = []
    while len(data) > 2 and data[0] == 0x81:
        assert data[1] < 126, "a short frame"
        found.append(json.loads(data[2 : 2 + data[1]]))
        data = data[2 + data[1] :]
    return found


async def test_the_feed_over_http2():
    """RFC 8441: hello and an event on one stream, pages on others, 1001 at the stop."""
    async with serving_house(linger_s=0.1) as (house, served), await served.connect() as raw:
        client = await H2Client(raw).start()
        refused = await ask_for_feed(client)
        await client.reply(refused)
        assert client.headers(refused)[b":status"] == b"401"
        feed = await ask_for_feed(client, BEARER)
        await client.read_until(lambda: len(messages(client.body(feed))) == 1)
        assert client.headers(feed)[b":status"] == b"200"
        house.bus.publish(CHANGE)
        await client.read_until(lambda: len(messages(client.body(feed))) == 2)
        assert [one["type"] for one in messages(client.body(feed))] == ["hello", "intent"]
        served.server.stop.set()
        await client.read_until(lambda: client.saw(h2.events.StreamEnded, feed))
        assert client.body(feed).endswith(b"\x88\x0f\x03\xe9shutting_down")
        with trio.fail_after(5):
            await served.stopped.wait()
        assert len(house.subscribers) == 0


@pytest.fixture
def authority() -> trustme.CA:
    """Who signs."""
    return trustme.CA()


async def test_the_feed_over_tls(authority, tmp_path, monkeypatch):
    """`router top` follows a router that serves https, if it trusts its certificate."""
    issued = authority.issue_cert("127.0.0.1")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)

    def trusting() -> ssl.SSLContext:
        context = ssl.create_default_context()
        authority.configure_trust(context)
        return context

    heard: list[Any] = []
    async with serving_house(tls=server_context(str(chain), str(key))) as (house, served):
        reach = Reach(f"https://127.0.0.1:{served.port}", TOKEN, 5.0)
        follow = partial(follow_feed, reach, partial(heard.append, "open"), heard.append)
        assert await follow()  # nobody vouches for it yet
        assert heard == []
        monkeypatch.setattr(feed_client, "client_context", trusting)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow)
            await until(lambda: heard == ["open"])
            house.bus.publish(CHANGE)
            await until(lambda: len(heard) == 2)
            assert heard[1]["type"] == "intent"
            nursery.cancel_scope.cancel()
        await until(lambda: len(house.subscribers) == 0)


async def test_a_subscriber_that_vanishes_frees_its_seat_at_once():
    """Decision 17: within a second after its socket is reset, also while nothing happens."""
    async with serving_house() as (house, served), await served.connect() as client:
        await client.send(
            b"GET %s HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            b"authorization: Bearer %s\r\n\r\n" % (EVENTS.encode(), TOKEN.encode())
        )
        await client.read_until(b"anvil-router-events/v1")
        assert len(house.subscribers) == 1
        client.reset()
        await until(lambda: len(house.subscribers) == 0, within_s=1)
        await until(lambda: served.server.open_connections == 0, within_s=1)


async def test_a_feed_that_goes_silent_is_taken_for_lost():
    """Not a heartbeat for three intervals: then a new try is worth it."""
    hello = {"schema": "anvil-router-events/v1", "heartbeat_interval_s": 0.1}

    async def mute(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": json.dumps(hello)})
        await receive()

    heard: list[Any] = []
    async with serving(mute) as served:
        reach = Reach(f"http://127.0.0.1:{served.port}", TOKEN, 5.0)
        with trio.fail_after(3):
            assert await follow_feed(reach, partial(heard.append, "open"), heard.append)
    assert heard == ["open"]


@pytest.mark.parametrize(
    "hello",
    [
        {},
        {"schema": "anvil-router-events/v1"},
        {"schema": "x", "heartbeat_interval_s": 1},
        *(
            {"schema": "anvil-router-events/v1", "heartbeat_interval_s": never}
            for never in (0, -1, -0.5, 86_401, 10**400)
        ),
    ],
)
async def test_a_feed_of_another_schema_is_not_read(hello):
    """It is not asked for again at once either."""

    async def other(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": json.dumps(hello)})
        await receive()

    heard: list[Any] = []
    async with serving(other) as served:
        reach = Reach(f"http://127.0.0.1:{served.port}", TOKEN, 5.0)
        with trio.fail_after(3):
            assert not await follow_feed(reach, partial(heard.append, "open"), heard.append)
    assert heard == []
