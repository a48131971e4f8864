"""Parts of a running reply that an application hands over without waiting, HTTP/1.1."""

from functools import partial

import pytest
import trio

from tests.support.wire import post, serving
from tests.support.wire_apps import (
    Receive,
    Scope,
    Send,
    client_of,
    direct_of,
    part,
    read_body,
    sse_head,
)

pytestmark = pytest.mark.wire

LARGE = b"x" * 262_144


async def test_parts_and_messages_are_one_body():
    """In the order in which they were said, each a chunk of its own."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        await sse_head(send)
        await part(send, b"one")
        side = direct_of(scope)
        assert side.more(b"two")
        assert side.more(b"")
        await part(send, b"three")
        assert side.more(b"four")
        await part(send, b"", is_last=True)

    async with serving(handler) as served, await served.connect() as client:
        for _ in range(2):
            await client.send(post())
            whole = await client.read_until(b"0\r\n\r\n")
            body = whole.partition(b"\r\n\r\n")[2]
            assert body == b"3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n4\r\nfour\r\n0\r\n\r\n"


async def test_a_reply_that_is_said_in_parts_needs_no_messages():
    """Each leaves at once; after the last the connection takes the next request."""
    go_on, gone_on = trio.open_memory_channel[None](2)

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        side = direct_of(scope)
        assert side.first(200, [(b"content-type", b"text/plain")], b"one")
        await gone_on.receive()
        assert side.more(b"two")
        await gone_on.receive()
        assert side.last(b"three")

    async with serving(handler) as served, await served.connect() as client:
        for _ in range(2):
            await client.send(post())
            head = await client.read_until(b"3\r\none\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert b"content-type: text/plain" in head
            go_on.send_nowait(None)
            assert await client.read_until(b"two\r\n") == b"3\r\ntwo\r\n"
            go_on.send_nowait(None)
            assert await client.read_until(b"0\r\n\r\n") == b"5\r\nthree\r\n0\r\n\r\n"


async def test_a_first_part_with_a_header_that_is_none_is_a_500():
    """Nothing of it has left by then."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        direct_of(scope).first(200, [(b"x", b"a\r\nb: c")], b"never seen")

    async with serving(handler) as served, await served.connect() as client:
        await client.send(post())
        data, _ = await client.read_to_end()
    assert data.startswith(b"HTTP/1.1 500 ")
    assert b"never seen" not in data


async def large(told: list[bool], scope: Scope, receive: Receive, send: Send) -> None:
    """Parts until one is not written at once; the rest is waited for."""
    await read_body(receive)
    await sse_head(send)
    await part(send, b"first")
    side = client_of(scope)
    while direct_of(scope).more(LARGE):
        told.append(True)
    told.append(False)
    await side.drained()
    await part(send, b"last", is_last=True)


async def test_who_does_not_read_must_be_waited_for():
    """`more` says so; not a byte is lost."""
    told: list[bool] = []
    async with serving(partial(large, told)) as served, await served.connect() as client:
        await client.send(post())
        whole = await client.read_until(b"4\r\nlast\r\n0\r\n\r\n")
    assert told[-1] is False
    assert whole.partition(b"first")[2].count(b"x") == len(told) * len(LARGE)


async def test_to_a_client_that_has_left_nothing_is_said():
    """It neither fails nor has anything to wait for."""
    told: list[bool] = []
    left = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        client_of(scope).on_gone = left.set
        await sse_head(send)
        await part(send, b"first")
        await left.wait()
        side = direct_of(scope)
        told.extend((side.more(b"second"), side.last(b"third")))

    async with serving(handler) as served:
        async with await served.connect() as client:
            await client.send(post())
            await client.read_until(b"first")
        with trio.fail_after(5):
            while not told:
                await trio.sleep(0.01)
    assert told == [True, True]
