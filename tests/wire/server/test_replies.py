"""What a reply looks like on the wire, HTTP/1.1."""

import re
import socket
import sys

import pytest
import trio

from tests.support.wire import post, serving, until
from tests.support.wire_apps import Receive, Scope, Send, echo, part, read_body, reply, sse_head

pytestmark = pytest.mark.wire

DATA_SEGMENTS_IN = slice(152, 156)  # tcpi_data_segs_in of Linux's struct tcp_info

EXPECTING = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n"


def segments_received(sock: trio.socket.SocketType) -> int:
    """How many segments with data have come."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int.from_bytes(info[DATA_SEGMENTS_IN], "little")


async def chunked(scope: Scope, receive: Receive, send: Send) -> None:
    """A whole reply without a length."""
    await read_body(receive)
    await sse_head(send)
    await part(send, b"data: 1\n\n", is_last=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts segments")
@pytest.mark.parametrize("handler", [echo, chunked])
async def test_a_unary_reply_is_one_segment(handler):
    """`Channel.gather`: head, body and the end of the body leave in a single write."""
    async with serving(handler) as served, await served.connect() as client:
        for count in range(1, 4):
            await client.send(post(body=b"hello"))
            await client.read_until(b"hello" if handler is echo else b"0\r\n\r\n")
            assert segments_received(client.socket) == count


async def test_an_early_head_is_not_held_back():
    """`Flusher.run`: a head that no body follows at once is with the client before the body is."""
    go_on = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        await go_on.wait()
        await part(send, b"data: late\n\n", is_last=True)

    async with serving(handler) as served, await served.connect() as client:
        await client.send(post())
        head = await client.read_until(b"\r\n\r\n")
        assert b"data:" not in head
        go_on.set()
        await client.read_until(b"data: late\n\n\r\n0\r\n\r\n")


async def test_replies_name_no_software_and_are_dated():
    """`HypercornSettings.reply_lines`: one date, and a server header without a version."""
    async with serving(echo) as served, await served.connect() as client:
        await client.send(post())
        lines = (await client.read_reply()).lower().split(b"\r\n")
        assert lines.count(b"server: anvil") == 1
        dates = [line for line in lines if line.startswith(b"date: ")]
        assert len(dates) == 1
        assert re.fullmatch(rb"date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d gmt", dates[0])
        assert not any(b"hypercorn" in line or b"h11" in line for line in lines)


async def test_the_date_of_a_reply_goes_on(monkeypatch):
    """`Server._keep_time`: on a connection that stays open replies get new dates."""
    dates = iter(range(1_000_000))
    monkeypatch.setattr("anvil_trio.server.settings.formatdate", lambda **_: f"d{next(dates)}")
    async with serving(echo, keep_alive_timeout_s=1.0) as served, await served.connect() as client:
        seen: set[bytes] = set()
        while len(seen) < 3:
            await client.send(post())
            seen |= set(re.findall(rb"date: d\d+", (await client.read_reply()).lower()))


async def test_pipelined_requests_are_answered_in_order():
    """`Http1.feed`: three requests sent at once get their three replies, one after another."""
    async with serving(echo) as served, await served.connect() as client:
        await client.send(post(body=b"one") + post(body=b"two") + post(body=b"three"))
        data = await client.read_until(b"three")
        assert re.findall(rb"one|two|three", data) == [b"one", b"two", b"three"]


async def test_a_large_reply_and_a_request_pipelined_behind_it_both_arrive():
    """`Http1`: a reply of 5 MB to a slow reader does not break the reply that waits behind it."""
    size = 5_000_000

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        await reply(send, b"z" * size if scope["path"] == "/large" else b"the end")

    async with serving(handler) as served, await served.connect(rcvbuf=8192) as client:
        await client.send(post(b"/large") + post(b"/small"))
        data = await client.read_until(b"the end")
        assert data.count(b"z") == size


async def test_connection_close_in_a_reply_closes():
    """`Channel.finish`: a reply that says `Connection: close` is followed by the end."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, b"bye", 200, (b"connection", b"close"))

    async with serving(handler) as served, await served.connect() as client:
        await client.send(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        data, how = await client.read_to_end()
        assert data.endswith(b"bye")
        assert data.lower().count(b"connection: close") == 1
        assert how == "FIN"


async def test_a_body_is_asked_for_only_when_the_application_wants_it():
    """`Http1`: `100 Continue` goes out at the application's first `receive`, not before."""
    checked = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await checked.wait()
        await reply(send, await read_body(receive))

    async with serving(handler) as served, await served.connect() as client:
        await client.send(EXPECTING)
        with trio.move_on_after(0.2) as scope:
            await client.stream.receive_some(1)
        assert scope.cancelled_caught
        checked.set()
        assert await client.read_until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"hello")
        assert (await client.read_reply()).endswith(b"hello")


async def test_a_refusal_before_the_body_asks_for_no_body():
    """`Http1`: an answer without `receive` gets no `100 Continue`, and says that it closes."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, b"no", 401)

    async with serving(handler) as served, await served.connect() as client:
        await client.send(EXPECTING)
        data, how = await client.read_to_end()
        assert data.startswith(b"HTTP/1.1 401 ")
        assert b"connection: close" in data.lower()
        assert how == "FIN"


async def test_a_refusal_is_readable_over_an_unread_body_and_leaks_nothing():
    """`Channel.linger`: a 401 with 3 MB of body unread arrives, and its connection is gone."""
    ended = 0

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal ended
        await reply(send, b"no", 401)
        ended += 1

    async with serving(handler) as served:
        for count in range(1, 6):
            async with await served.connect() as client:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(client.send, post(body=b"b" * 3_000_000))
                    data, how = await client.read_to_end()
                assert data.startswith(b"HTTP/1.1 401 ")
                assert data.endswith(b"no")
                assert how == "FIN"
            assert ended == count
        await until(lambda: served.server.open_connections == 0)
