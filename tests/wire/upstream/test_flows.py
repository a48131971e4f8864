"""Replies that flow: handed on as they come, with and without a task for all of them."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest
import trio
import trio.testing

from anvil_trio.net.arrivals import Arrivals, open_arrivals
from anvil_trio.upstream.stream import Head, UpstreamStream
from anvil_trio.upstream.transport import MemberTransport
from tests.wire.upstream.raw_server import Peer, Serve, open_server, post

pytestmark = pytest.mark.wire

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


@dataclass(frozen=True)
class Way:
    """How a connection is read: by a call (`arrivals`), or by its own task; `tls` of both sides."""

    arrivals: Arrivals | None
    server_tls: ssl.SSLContext | None = None
    client_tls: ssl.SSLContext | None = None

    @property
    def is_told(self) -> bool:
        """Whether it is read by a call."""
        return self.arrivals is not None and self.client_tls is None


@pytest.fixture(params=["told", "alone", "tls"])
async def way(request, server_tls, client_tls) -> AsyncIterator[Way]:
    """Each of them."""
    async with open_arrivals() as arrivals:
        match request.param:
            case "told":
                yield Way(arrivals)
            case "alone":
                yield Way(None)
            case _:
                yield Way(arrivals, server_tls, client_tls)


def chunk(data: bytes) -> bytes:
    """A piece of a body that has no length."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def serving(said: trio.MemoryReceiveChannel[bytes | None]) -> Serve:
    """A server that says what the test says; None: a reset."""

    async def serve(peer: Peer) -> None:
        await peer.request()
        async for data in said:
            if data is None:
                peer.reset()
                return
            await peer.say(data)

    return serve


@dataclass
class Engine:
    """A server under a test's hand, and one reply of it whose head has been read."""

    transport: MemberTransport
    stream: UpstreamStream
    said: trio.MemorySendChannel[bytes | None]
    heard: list[bytes] = field(default_factory=list)

    def say(self, *parts: bytes | None) -> None:
        """Have it say so; None: a reset."""
        for part in parts:
            self.said.send_nowait(part)

    def hand_on(self, data: bytes) -> bool:
        """A piece that ends in an exclamation mark is enough for now."""
        self.heard.append(data)
        return not data.endswith(b"!")


@asynccontextmanager
async def flowing(way: Way) -> AsyncIterator[Engine]:
    """A reply that is about to flow."""
    say, said = trio.open_memory_channel[bytes | None](99)
    async with open_server(serving(said), tls=way.server_tls) as server:
        transport = server.transport(tls=way.client_tls, arrivals=way.arrivals)
        say.send_nowait(HEAD)
        stream = await post(transport, server.base_url)
        assert isinstance(await stream.receive(), Head)
        yield Engine(transport, stream, say)
        await stream.aclose()


async def test_what_comes_is_handed_on_up_to_the_end(way):
    """Each read once, in order; the connection is kept."""
    async with flowing(way) as engine, trio.open_nursery() as nursery:

        async def speak() -> None:
            for part in (chunk(b"one"), chunk(b"two"), chunk(b"three") + END):
                await trio.testing.wait_all_tasks_blocked(0.01)
                engine.say(part)

        nursery.start_soon(speak)
        assert await engine.stream.flow(engine.hand_on)
        await engine.stream.aclose()
        assert engine.heard == [b"one", b"two", b"three"]
        assert engine.transport.idle == 1


async def test_what_came_with_the_head_is_handed_on_first(way):
    """It is known already, and so may be the end."""
    async with flowing(way) as engine:
        engine.say(chunk(b"one") + END)
        assert await engine.stream.receive() == b"one"
        assert await engine.stream.flow(engine.hand_on)
        assert engine.heard == []


async def test_it_stops_where_no_more_is_wanted_and_goes_on_when_asked_again(way):
    """Nothing is lost in between, and nothing is handed on twice."""
    async with flowing(way) as engine:
        engine.say(chunk(b"one!"))
        assert not await engine.stream.flow(engine.hand_on)
        engine.say(chunk(b"two!"))
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert engine.heard == [b"one!"]
        assert not await engine.stream.flow(engine.hand_on)
        engine.say(END)
        assert await engine.stream.flow(engine.hand_on)
        assert engine.heard == [b"one!", b"two!"]


async def test_an_end_that_comes_with_the_last_piece_waits_for_who_asks_again(way):
    """Not wanting more is no end."""
    async with flowing(way) as engine:
        engine.say(chunk(b"one!") + END)
        assert not await engine.stream.flow(engine.hand_on)
        assert await engine.stream.flow(engine.hand_on)
        assert engine.heard == [b"one!"]


@pytest.mark.parametrize(
    ("last", "error"),
    [(b"nonsense\r\n", httpx.RemoteProtocolError), (None, httpx.ReadError)],
    ids=["malformed", "reset"],
)
async def test_what_came_before_a_fault_is_handed_on(way, last, error):
    """Then the fault is raised, as `receive` would."""
    async with flowing(way) as engine, trio.open_nursery() as nursery:

        async def speak() -> None:
            engine.say(chunk(b"good"))
            await trio.testing.wait_all_tasks_blocked(0.01)
            engine.say(last)

        nursery.start_soon(speak)
        with pytest.raises(error):
            await engine.stream.flow(engine.hand_on)
        assert engine.heard == [b"good"]


async def test_a_reply_that_is_cut_is_no_whole_one(way):
    """The connection ends before the reply does."""
    async with flowing(way) as engine:
        engine.say(chunk(b"good"))
        engine.said.close()
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            await engine.stream.flow(engine.hand_on)
        assert engine.heard == [b"good"]


async def test_cancelled_at_any_time_nothing_is_lost(way):
    """A lapse may cut in and the reply flow on."""
    async with flowing(way) as engine:
        for part in (b"a", b"b", b"c"):
            with trio.move_on_after(0.03) as scope:
                engine.say(chunk(part))
                await engine.stream.flow(engine.hand_on)
            assert scope.cancelled_caught
        engine.say(chunk(b"d") + END)
        assert await engine.stream.flow(engine.hand_on)
        assert engine.heard == [b"a", b"b", b"c", b"d"]


async def test_who_is_told_is_not_woken(way):
    """Only the end wakes the task of the reply; the pieces are another's."""
    tasks = set()

    def hand_on(_: bytes) -> bool:
        tasks.add(trio.lowlevel.current_task())
        return True

    async with flowing(way) as engine, trio.open_nursery() as nursery:

        async def speak() -> None:
            await trio.testing.wait_all_tasks_blocked(0.01)
            engine.say(chunk(b"x"))
            await trio.testing.wait_all_tasks_blocked(0.01)
            engine.say(END)

        nursery.start_soon(speak)
        assert await engine.stream.flow(hand_on)
    is_own = tasks == {trio.lowlevel.current_task()}
    assert is_own is not way.is_told
