"""Whatever is cancelled, and when, no socket stays open."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from anvil_trio.upstream.transport import MemberTransport
from tests.wire.upstream.raw_server import OK, Peer, answering, exchange, open_server, post, sockets

pytestmark = [
    pytest.mark.wire,
    pytest.mark.skipif(
        not Path("/proc/self/fd").is_dir(), reason="descriptors are counted in /proc"
    ),
]

HALF = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"


@asynccontextmanager
async def cancelled_when_blocked() -> AsyncIterator[None]:
    """Run the block until nothing moves any more, then cancel it."""

    async def cancel() -> None:
        await trio.testing.wait_all_tasks_blocked(0.02)  # a blocked writer looks up every 50 ms
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(cancel)
        yield


@pytest.fixture
def full_backlog() -> Iterator[int]:
    """A port whose listener takes nobody any more: connecting to it waits."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(3)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(address)
        yield address[1]
        for client in waiting:
            client.close()


async def test_a_cancelled_connect_leaves_no_socket(full_backlog):
    """Cancelled while the connection is being made, its socket is closed at once."""
    transport = MemberTransport(f"http://127.0.0.1:{full_backlog}", keepalive_s=4)
    before = sockets()
    opened = False
    async with cancelled_when_blocked():
        await post(transport, f"http://127.0.0.1:{full_backlog}")
        opened = True
    assert not opened
    assert sockets() == before


async def mute(peer: Peer) -> None:
    """Never read, never answer."""
    await trio.sleep_forever()


async def halfway(peer: Peer) -> None:
    """Answer one half of a body, then nothing more."""
    await peer.request()
    await peer.say(HALF)
    await trio.sleep_forever()


async def silent(peer: Peer) -> None:
    """Read the request and say nothing."""
    await peer.request()
    await trio.sleep_forever()


@pytest.mark.parametrize(
    ("serve", "size"), [(mute, 64 << 20), (silent, 2), (halfway, 2)], ids=["write", "head", "body"]
)
async def test_a_cancelled_exchange_leaves_no_socket(serve, size):
    """Cancelled while writing, before the head or in the midst of the body: closed at once."""
    async with open_server(serve) as server:
        transport = server.transport()
        before = sockets(besides=server.port)
        async with cancelled_when_blocked():
            await exchange(transport, server.base_url, b"x" * size)
        assert sockets(besides=server.port) == before
        assert (len(server.peers), transport.idle) == (1, 0)


async def test_a_cancelled_handshake_leaves_no_socket():
    """A server that takes a connection but never speaks TLS costs nothing once given up."""
    async with open_server(mute) as server:
        base_url = server.base_url.replace("http:", "https:")
        transport = MemberTransport(base_url, keepalive_s=4)
        before = sockets(besides=server.port)
        async with cancelled_when_blocked():
            await exchange(transport, base_url)
        assert sockets(besides=server.port) == before


async def test_a_cancel_before_anything_happens_leaves_no_socket():
    """A request in a scope that is cancelled already opens nothing that stays."""
    async with open_server(answering(OK)) as server:
        transport = server.transport()
        before = sockets(besides=server.port)
        with trio.CancelScope() as scope:
            scope.cancel()
            await exchange(transport, server.base_url)
        assert sockets(besides=server.port) == before


async def test_many_cancelled_exchanges_leave_no_socket():
    """Cancelled at every moment of its life, an exchange never leaves a socket behind."""

    async def serve(peer: Peer) -> None:
        while await peer.request() is not None:
            await trio.sleep(0.001)
            await peer.say(HALF)
            await trio.sleep(0.001)
            await peer.say(b" body")

    async with open_server(serve) as server:
        transport = server.transport()
        before = sockets(besides=server.port)
        whole = 0
        for tenths_ms in range(80):
            with trio.move_on_after(tenths_ms / 10_000):
                assert await exchange(transport, server.base_url) == b"half body"
                whole += 1
            assert len(sockets(besides=server.port) - before) == transport.idle <= 1
        assert 0 < whole < 80
