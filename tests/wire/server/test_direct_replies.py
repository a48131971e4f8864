"""What a connection does for an application that knows it: whole replies, and one task for all."""

import gc
from collections.abc import Iterator
from contextvars import ContextVar
from weakref import ref

import pytest
import trio

from tests.support.wire import post, serving, until
from tests.support.wire_apps import Receive, Scope, Send, client_of, direct_of, read_body, reply

pytestmark = pytest.mark.wire

VISITS: ContextVar[int] = ContextVar("visits", default=0)


async def test_a_whole_reply_needs_no_messages():
    """`Exchange.answer`: head and body leave at once, and the connection takes the next request."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        answer = direct_of(scope).answer
        assert answer(200, [(b"content-length", b"%d" % len(body))], body), "all of it is written"

    async with serving(handler) as served, await served.connect() as client:
        for body in (b"one", b"two"):
            await client.send(post(b"/", body))
            data = await client.read_until(body)
            assert b"content-length: 3" in data


async def test_whoever_left_is_answered_in_vain():
    """`Exchange.answer`: to a client that has left nothing is sent, and nothing breaks."""
    asked: list[bytes] = []
    answered: list[bool] = []

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        gone, client = trio.Event(), client_of(scope)
        client.on_gone = gone.set
        asked.append(await read_body(receive))
        await gone.wait()
        answered.append(direct_of(scope).answer(200, [], b"late"))

    async with serving(handler) as served:
        async with await served.connect() as client:
            await client.send(post())
            await until(lambda: asked)
        await until(lambda: answered)
    assert answered == [True]


async def test_a_header_that_is_none_is_a_500_and_no_reply():
    """`Exchange.answer`: an application cannot break out of a line, and its client is told."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        answer = direct_of(scope).answer
        answer(200, [(b"x", b"a\r\nb: c")], b"never seen")

    async with serving(handler) as served, await served.connect() as client:
        await client.send(post())
        data, _ = await client.read_to_end()
    assert data.startswith(b"HTTP/1.1 500 ")
    assert b"never seen" not in data


async def test_one_task_serves_a_connections_requests():
    """`Tasks`: the next request finds the same task, and nothing of the request before."""
    tasks, visits = [], []

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        VISITS.set(VISITS.get() + 1)
        visits.append(VISITS.get())
        tasks.append(trio.lowlevel.current_task())
        await reply(send, b"done")

    async with serving(handler) as served, await served.connect() as client:
        for _ in range(3):
            await client.send(post())
            await client.read_until(b"done")
    assert visits == [1, 1, 1]
    assert len(set(tasks)) == 1


class Life:
    """What an application keeps of a request: it knows the client, who knows how to end it."""

    def __init__(self, scope: Scope) -> None:
        self.client = client_of(scope)
        self.client.on_gone = self.end

    def end(self) -> None:
        """The client has left."""


@pytest.fixture
def no_collector() -> Iterator[None]:
    """A block in which nothing that is in a cycle is freed."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
async def test_a_request_that_is_over_is_no_garbage():
    """`Inbox.end`: all of it is freed at once, and no collector is needed for that."""
    lives: list[ref[Life]] = []

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        lives.append(ref(Life(scope)))
        await read_body(receive)
        if len(lives) == 1:
            direct_of(scope).answer(200, [(b"content-length", b"4")], b"done")
        else:
            await reply(send, b"done")

    async with serving(handler) as served, await served.connect() as client:
        for _ in range(2):
            await client.send(post())
            await client.read_until(b"done")
        await until(lambda: [life() for life in lives] == [None, None])


async def test_a_connection_that_ends_leaves_no_task():
    """`Tasks.dismiss`: whoever rests ends with the connection, and the server can stop at once."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        await reply(send, b"done")

    async with serving(handler) as served:
        async with await served.connect() as client:
            await client.send(post())
            await client.read_until(b"done")
        await until(lambda: served.server.open_connections == 0)


async def test_a_large_body_comes_in_few_pieces():
    """`Channel.read`: what has arrived is read at once, up to 256 KiB."""
    sizes: list[int] = []

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await trio.sleep(0.05)
        while True:
            message = await receive()
            assert message["type"] == "http.request"
            body = message["body"]
            assert isinstance(body, bytes)
            sizes.append(len(body))
            if not message.get("more_body", False):
                break
        await reply(send, b"done")

    async with serving(handler) as served, await served.connect() as client:
        await client.send(post(b"/", b"z" * 200_000))
        await client.read_until(b"done")
    assert sum(sizes) == 200_000
    assert len(sizes) <= 3, "64 KiB at a time would be four"
