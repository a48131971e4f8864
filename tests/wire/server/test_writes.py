"""Clients that do not read: writes end when they should, and lose nothing that they should not."""

import ssl

import pytest
import trio

from tests.support.wire import RawClient, post, serving, until
from tests.support.wire_apps import Receive, Scope, Send, client_of, part, read_body, sse_head

pytestmark = pytest.mark.wire

BLOCK = bytes(65_536)


@pytest.fixture(params=["plain", "tls"])
def secured(request, server_tls, client_tls) -> tuple[dict[str, object], ssl.SSLContext | None]:
    """Server options and client context, without and with TLS."""
    return ({}, None) if request.param == "plain" else ({"tls": server_tls}, client_tls)


def dechunked(data: bytes) -> bytes:
    """The body of a chunked reply, which must be complete."""
    rest, body = data.partition(b"\r\n\r\n")[2], b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            assert rest == b"\r\n"
            return body
        body, rest = body + rest[:length], rest[length + 2 :]


async def read_slowly(client: RawClient, end: bytes) -> bytes:
    """All up to `end`, at the pace of somebody who has other things to do."""
    data = b""
    while not data.endswith(end):
        part_ = await client.read_some()
        assert part_
        data += part_
        if len(data) < 2_000_000:
            await trio.sleep(0.001)
    return data


async def test_a_write_can_be_cancelled(secured):
    """`Channel.drained`: a send to a client that never reads ends with its cancel scope."""
    options, tls = secured
    took = trio.Event()
    seconds = 0.0

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal seconds
        await sse_head(send)
        start = trio.current_time()
        with trio.move_on_after(0.3):
            while True:
                await part(send, BLOCK)
        seconds = trio.current_time() - start
        took.set()

    async with serving(handler, **options) as served:
        async with await served.connect(rcvbuf=4096, tls=tls) as client:
            await client.send(post())
            with trio.fail_after(10):
                await took.wait()
            assert 0.3 <= seconds < 3


async def test_cancelled_writes_keep_their_place(secured):
    """`WriteQueue.write`: however many sends are cancelled, the body is complete and in order."""
    options, tls = secured
    cancelled = 0
    blocks = [b"%06d" % number * 3000 for number in range(200)]

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal cancelled
        await sse_head(send)
        for block in blocks:
            with trio.move_on_after(0.002) as patience:
                await part(send, block)
            cancelled += patience.cancelled_caught
            await client_of(scope).drained()
        await part(send, b"", is_last=True)

    async with serving(handler, **options) as served:
        async with await served.connect(rcvbuf=8192, tls=tls) as client:
            await client.send(post())
            data = await read_slowly(client, b"0\r\n\r\n")
    assert dechunked(data) == b"".join(blocks)
    assert cancelled > 0


async def test_a_cancelled_last_part_has_its_end():
    """`Tasks.spawn_app`: a head and a last part that are cancelled at once still arrive whole."""
    handed_over = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        with trio.CancelScope() as cut:
            cut.cancel()
            await sse_head(send)
            await part(send, BLOCK * 100)
        with trio.CancelScope() as cut:
            cut.cancel()
            await part(send, b"the end", is_last=True)
        assert cut.cancelled_caught
        handed_over.set()

    async with serving(handler) as served, await served.connect(rcvbuf=8192) as client:
        await client.send(post())
        with trio.fail_after(10):
            await handed_over.wait()
        data = await read_slowly(client, b"0\r\n\r\n")
        assert dechunked(data) == BLOCK * 100 + b"the end"


async def test_a_cut_write_can_be_waited_for_again():
    """`Inbox.drained`: returns once the client has taken what a cancelled send had handed over."""
    cut_off, drained = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        with trio.move_on_after(0.1) as cut:
            await part(send, BLOCK * 200)
        assert cut.cancelled_caught
        cut_off.set()
        await client_of(scope).drained()
        drained.set()
        await part(send, b"", is_last=True)

    async with serving(handler) as served, await served.connect(rcvbuf=8192) as client:
        await client.send(post())
        with trio.fail_after(10):
            await cut_off.wait()
        assert not drained.is_set()
        data = await read_slowly(client, b"0\r\n\r\n")
        assert drained.is_set()
        assert len(dechunked(data)) == 200 * len(BLOCK)


async def test_a_stalled_client_is_reset_and_the_application_told(secured):
    """`WriteQueue`: no byte taken within the stall deadline ends in RST and in `on_gone`."""
    options, tls = secured
    gone = trio.Event()
    kinds = []

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        client_of(scope).on_gone = gone.set
        await sse_head(send)
        while not gone.is_set():
            await part(send, BLOCK)
        kinds.append((await receive())["type"])
        kinds.append((await receive())["type"])

    async with serving(handler, stall_timeout_s=0.5, **options) as served:
        async with await served.connect(rcvbuf=4096, tls=tls) as client:
            await client.send(post())
            with trio.fail_after(15):
                await gone.wait()
            _, how = await client.read_to_end()
            assert how == "RST"
            await until(lambda: len(kinds) == 2)
    assert kinds == ["http.disconnect", "http.disconnect"]


async def test_a_slow_client_is_not_a_stalled_one():
    """`WriteQueue`: the stall deadline moves with every byte that the client takes."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        await part(send, BLOCK * 40, is_last=True)

    async with serving(handler, stall_timeout_s=0.5) as served:
        async with await served.connect(rcvbuf=65_536) as client:
            await client.send(post())
            start, data = trio.current_time(), b""
            while not data.endswith(b"0\r\n\r\n"):
                data += await client.read_some()
                if trio.current_time() - start < 1.5:
                    await trio.sleep(0.05)
            assert trio.current_time() - start > 1.0
            assert len(dechunked(data)) == 40 * len(BLOCK)


async def test_a_sender_that_does_not_wait_is_cut_off():
    """`WriteQueue.write`: behind more than `max_waiting_bytes` nothing is queued; RST ends it."""
    gone = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        client_of(scope).on_gone = gone.set
        await sse_head(send)
        while not gone.is_set():
            with trio.move_on_after(0):
                await part(send, BLOCK)
            await trio.lowlevel.checkpoint()

    async with serving(handler, max_waiting_bytes=1_000_000) as served:
        async with await served.connect(rcvbuf=4096) as client:
            await client.send(post())
            with trio.fail_after(10):
                await gone.wait()
            _, how = await client.read_to_end()
            assert how == "RST"


async def test_a_loop_of_sends_starves_nobody():
    """`Channel.drained`: sending on to a client that has left lets everybody else go on."""
    started = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        started.set()
        while scope["path"] == "/for-ever":
            await part(send, b"data: more\n\n")
        await part(send, b"", is_last=True)

    async with serving(handler) as served:
        async with await served.connect() as client:
            await client.send(post(b"/for-ever"))
            with trio.fail_after(10):
                await started.wait()
            client.leave()
        async with await served.connect() as client:
            await client.send(post(b"/once"))
            await client.read_until(b"0\r\n\r\n")
