"""What may arrive, and what may break, while a reply is read."""

import httpx
import pytest
import trio
import trio.testing

from anvil_trio.upstream.stream import END, Head
from tests.unit.upstream.captured import CAPTURES, captured
from tests.wire.upstream.raw_server import (
    OK,
    Peer,
    Serve,
    answer,
    answering,
    collect,
    exchange,
    open_server,
    post,
)

pytestmark = pytest.mark.wire

STREAM_HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
MIB = 1 << 20


def saying(*pieces: bytes, reset: bool = False, gap_s: float = 0.0) -> Serve:
    """Serve one request with these pieces, then end the connection one way or the other."""

    async def serve(peer: Peer) -> None:
        await peer.request()
        for piece in pieces:
            await peer.say(piece)
            await trio.sleep(gap_s)
        if reset:
            await trio.sleep(0.02)  # a reset may overtake what was written before it
            peer.reset()

    return serve


@pytest.mark.parametrize("name", CAPTURES)
async def test_a_captured_reply_that_drips_byte_by_byte_is_the_same_reply(name):
    """An engine that writes one byte at a time is understood as one that writes all at once."""
    raw = captured(name)
    results = []
    for pieces in ([raw], [bytes([byte]) for byte in raw]):
        async with open_server(saying(*pieces)) as server:
            transport = server.transport()
            stream = await post(transport, server.base_url)
            results.append(await collect(stream))
            await stream.aclose()
    assert results[0] == results[1]


async def test_a_slow_drip_survives_any_number_of_timeouts_round_receive():
    """A heartbeat that cuts into a read loses not a byte of it."""
    pieces = [b"4\r\n%04d\r\n" % number for number in range(60)]
    async with open_server(saying(STREAM_HEAD, *pieces, b"0\r\n\r\n", gap_s=0.003)) as server:
        transport = server.transport()
        stream = await post(transport, server.base_url)
        items, beats = [], 0
        while END not in items:
            with trio.move_on_after(0.002) as patience:
                items.append(await stream.receive())
            beats += patience.cancelled_caught
        await stream.aclose()
    assert b"".join(item for item in items if isinstance(item, bytes)) == b"".join(
        b"%04d" % number for number in range(60)
    )
    assert beats > 10


@pytest.mark.parametrize("interim", [b"100 Continue", b"103 Early Hints\r\nlink: x"])
async def test_interim_heads_are_passed_over(interim):
    """The first head that is received is the final one, and the connection is kept."""
    async with open_server(answering(b"HTTP/1.1 " + interim + b"\r\n\r\n" + OK)) as server:
        transport = server.transport()
        for _ in range(2):
            stream = await post(transport, server.base_url)
            head, _ = await collect(stream)
            assert head.status == 200
            await stream.aclose()
        assert len(server.peers) == 1


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_mebibyte_goes_both_ways(chunked):
    """Bodies far above any buffer arrive whole in both directions, and the connection is kept."""
    back = bytes(range(256)) * (MIB // 256)
    framed = STREAM_HEAD + b"%x\r\n" % MIB + back + b"\r\n0\r\n\r\n" if chunked else answer(back)
    there = back[::-1]
    seen = []

    async def serve(peer: Peer) -> None:
        while (request := await peer.request()) is not None:
            seen.append(request.partition(b"\r\n\r\n")[2])
            await peer.say(framed)

    async with open_server(serve) as server:
        transport = server.transport()
        for _ in range(2):
            assert await exchange(transport, server.base_url, there) == back
        assert seen == [there, there]
        assert len(server.peers) == 1


async def test_a_body_without_a_length_is_read_until_the_end():
    """An engine that frames a body by closing is understood."""
    async with open_server(saying(b"HTTP/1.1 200 OK\r\n\r\nall of ", b"it")) as server:
        transport = server.transport()
        assert await exchange(transport, server.base_url) == b"all of it"
        assert transport.idle == 0


@pytest.mark.parametrize(
    ("serve", "fault"),
    [
        (saying(), httpx.RemoteProtocolError),
        (saying(b"HTTP/1.1 20"), httpx.RemoteProtocolError),
        (saying(STREAM_HEAD, b"3\r\none\r\n"), httpx.RemoteProtocolError),
        (saying(b"SSH-2.0-OpenSSH\r\n"), httpx.RemoteProtocolError),
        (saying(b"HTTP/1.1 200 OK\r\nx: " + b"v" * 70_000), httpx.RemoteProtocolError),
        (saying(reset=True), httpx.ReadError),
        (saying(STREAM_HEAD, b"3\r\none\r\n", reset=True), httpx.ReadError),
        (saying(b"HTTP/1.1 200 OK\r\n\r\npart", reset=True), httpx.ReadError),
    ],
)
async def test_a_broken_reply_is_one_failed_attempt(serve, fault):
    """R009: a cut, a reset or no HTTP at all raises, and nothing is asked twice."""
    async with open_server(serve) as server:
        transport = server.transport()
        with pytest.raises(fault) as caught:
            await exchange(transport, server.base_url)
        assert "127.0.0.1" not in str(caught.value)
        await trio.sleep(0.05)
        assert (len(server.peers), transport.idle) == (1, 0)


async def test_a_reused_connection_that_breaks_is_not_replaced():
    """R009: a request that went out on a connection just ended is lost and never sent again."""
    asked = 0

    async def serve(peer: Peer) -> None:
        nonlocal asked
        while await peer.request() is not None:
            asked += 1
            if asked == 2:
                return
            await peer.say(OK)

    async with open_server(serve) as server:
        transport = server.transport()
        await exchange(transport, server.base_url)
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            await exchange(transport, server.base_url)
        await trio.sleep(0.05)
        assert (asked, len(server.peers)) == (2, 1)


@pytest.mark.parametrize("headers", [(), (b"connection: close",)], ids=["keeps", "ends"])
@pytest.mark.parametrize("then", ["waits", "closes", "resets"])
async def test_a_refusal_that_comes_before_the_whole_body_is_heard(then, headers):
    """A server that refuses a body while it is being written is heard, its connection not kept."""
    refusal = answer(b"too big", *headers, status=b"413 Content Too Large")

    async def serve(peer: Peer) -> None:
        await peer.hear()
        await peer.say(refusal)
        if then == "waits":
            await trio.sleep(5)
        elif then == "resets":
            await trio.sleep(0.02)
            peer.reset()

    async with open_server(serve) as server:
        transport = server.transport()
        with trio.fail_after(3):
            stream = await post(transport, server.base_url, b"x" * (64 * MIB))
            head, body = await collect(stream)
            await stream.aclose()
        assert (head.status, body) == (413, b"too big")
        assert transport.idle == 0


async def test_an_early_interim_head_does_not_stop_the_body():
    """`100 Continue` while the body is on its way is no refusal."""
    size = 16 * MIB

    async def serve(peer: Peer) -> None:
        await peer.hear()
        await peer.say(b"HTTP/1.1 100 Continue\r\n\r\n")
        await trio.sleep(0.2)
        while len(peer.heard) < size:
            await peer.hear()
        await peer.say(OK)

    async with open_server(serve) as server:
        transport = server.transport()
        assert await exchange(transport, server.base_url, b"x" * size) == b"ok"


async def test_a_server_that_breaks_a_body_off_without_a_word_is_a_write_error():
    """A reset in the midst of the body, with no answer, fails the attempt."""

    async def serve(peer: Peer) -> None:
        await peer.hear()
        peer.reset()

    async with open_server(serve) as server:
        transport = server.transport()
        with pytest.raises(httpx.WriteError):
            await post(transport, server.base_url, b"x" * (64 * MIB))


async def test_a_stream_closed_by_another_task_ends_its_reader():
    """Closing is effective at once, also for a task that waits in `receive`."""
    async with open_server(saying(STREAM_HEAD, gap_s=5.0)) as server:
        transport = server.transport()
        stream = await post(transport, server.base_url)
        assert isinstance(await stream.receive(), Head)
        ended = []

        async def read() -> None:
            with pytest.raises(httpx.ReadError):
                await stream.receive()
            ended.append(True)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await trio.testing.wait_all_tasks_blocked(0.01)
            await stream.aclose()
        assert ended == [True]


async def test_the_first_thing_received_is_the_head():
    """Head and body of one read come one after the other."""
    async with open_server(answering(OK)) as server:
        transport = server.transport(keepalive_s=0)
        stream = await post(transport, server.base_url)
        items = [await stream.receive() for _ in range(3)]
        assert items == [Head(200, ((b"content-length", b"2"),)), b"ok", END]
        await stream.aclose()
