"""Replies that flow: handed on as they come, with and without a task for all of them."""

from collections.abc import AsyncIterator

import httpx
import pytest
import trio
import trio.testing

from anvil_trio.net.arrivals import open_arrivals
from anvil_trio.upstream.stream import Head
from tests.wire.upstream.raw_server import Peer, Serve, open_server, post

pytestmark = pytest.mark.wire

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


@pytest.fixture(params=["told", "alone", "tls"])
async def way(request, server_tls, client_tls) -> AsyncIterator[dict[str, object]]:
    """How a connection is read: by a call, by its own task, or by its own task under TLS."""
    async with open_arrivals() as arrivals:
        yield {
            "arrivals": None if request.param == "alone" else arrivals,
            "tls": (server_tls, client_tls) if request.param == "tls" else None,
        }


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


class Engine:
    """A server under a test's hand, and one reply of it whose head has been read."""

    def __init__(self, way: dict[str, object]) -> None:
        self._arrivals, self._tls = way["arrivals"], way["tls"]
        self.heard: list[bytes] = []
        self._say, self._said = trio.open_memory_channel[bytes | None](99)

    async def __aenter__(self) -> "Engine":
        server_tls, client_tls = self._tls or (None, None)
        self._opened = open_server(serving(self._said), tls=server_tls)
        server = await self._opened.__aenter__()
        self.transport = server.transport(tls=client_tls, arrivals=self._arrivals)
        self.say(HEAD)
        self.stream = await post(self.transport, server.base_url)
        assert isinstance(await self.stream.receive(), Head)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stream.aclose()
        await self._opened.__aexit__(None, None, None)

    def say(self, *parts: bytes | None) -> None:
        for part in parts:
            self._say.send_nowait(part)

    def end(self) -> None:
        self._say.close()

    def hand_on(self, data: bytes) -> bool:
        """A piece that ends in an exclamation mark is enough for now."""
        self.heard.append(data)
        return not data.endswith(b"!")


async def test_what_comes_is_handed_on_up_to_the_end(way):
    """Each read once, in order; the connection is kept."""
    async with Engine(way) as engine, trio.open_nursery() as nursery:

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
    async with Engine(way) as engine:
        engine.say(chunk(b"one") + END)
        assert await engine.stream.receive() == b"one"
        assert await engine.stream.flow(engine.hand_on)
        assert engine.heard == []


async def test_it_stops_where_no_more_is_wanted_and_goes_on_when_asked_again(way):
    """Nothing is lost in between, and nothing is handed on twice."""
    async with Engine(way) as engine:
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
    async with Engine(way) as engine:
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
    async with Engine(way) as engine, trio.open_nursery() as nursery:

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
    async with Engine(way) as engine:
        engine.say(chunk(b"good"))
        engine.end()
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            await engine.stream.flow(engine.hand_on)
        assert engine.heard == [b"good"]


async def test_cancelled_at_any_time_nothing_is_lost(way):
    """A lapse may cut in and the reply flow on."""
    async with Engine(way) as engine:
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

    async with Engine(way) as engine, trio.open_nursery() as nursery:

        async def speak() -> None:
            await trio.testing.wait_all_tasks_blocked(0.01)
            engine.say(chunk(b"x"))
            await trio.testing.wait_all_tasks_blocked(0.01)
            engine.say(END)

        nursery.start_soon(speak)
        assert await engine.stream.flow(hand_on)
    is_own = tasks == {trio.lowlevel.current_task()}
    assert is_own == (way["arrivals"] is None or way["tls"] is not None)
