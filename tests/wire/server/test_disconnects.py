"""A client's leaving is seen, whatever it sent before, and only when it did leave."""

import socket

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from anvil_trio.net.sockets import close, receive_some
from tests.support.wire import post, serving, until
from tests.support.wire_apps import Receive, Scope, Send, client_of, read_body, reply

pytestmark = pytest.mark.wire


class Silent:
    """Reads the request, answers nothing, and notes when it is told of the client's leaving."""

    def __init__(self) -> None:
        self.ready, self.gone, self.ended = trio.Event(), trio.Event(), trio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = client_of(scope)
        client.on_gone = self.gone.set
        await read_body(receive)
        self.ready.set()
        await self.gone.wait()
        assert client.gone
        assert (await receive())["type"] == "http.disconnect"
        self.ended.set()


@pytest.mark.parametrize(
    "stray",
    [b"", b"\r\n", post(b"/next"), post(b"/next", b"z" * 40_000), b"z" * 30_000],
    ids=["nothing", "CRLF", "pipelined", "large-pipelined", "junk"],
)
@pytest.mark.parametrize("goodbye", ["leave", "reset"])
async def test_leaving_in_silence_is_seen(stray, goodbye):
    """`Http1`: FIN and RST are seen while nothing is sent, also behind bytes sent ahead."""
    silent = Silent()
    async with serving(silent) as served, await served.connect() as client:
        await client.send(post() + stray[:10])
        with trio.fail_after(10):
            await silent.ready.wait()
        await client.send(stray[10:])
        assert not silent.gone.is_set()
        getattr(client, goodbye)()
        with trio.fail_after(10):
            await silent.ended.wait()
        await until(lambda: served.server.open_connections == 0)


async def test_leaving_is_seen_over_tls(server_tls, client_tls):
    """`Channel.read`: behind TLS, bytes sent ahead and a bare FIN are seen as well."""
    silent = Silent()
    async with serving(silent, tls=server_tls) as served:
        async with await served.connect(tls=client_tls) as client:
            await client.send(post() + post(b"/next"))
            with trio.fail_after(10):
                await silent.ready.wait()
            client.leave()
            with trio.fail_after(10):
                await silent.ended.wait()


async def test_leaving_behind_a_refused_upgrade_is_seen():
    """`Http1`: a request that offers another protocol does not hide its client's leaving."""
    silent = Silent()
    offer = post(b"/", b"x", b"connection: upgrade", b"upgrade: something")
    async with serving(silent) as served, await served.connect() as client:
        await client.send(offer)
        with trio.fail_after(10):
            await silent.ready.wait()
        client.leave()
        with trio.fail_after(10):
            await silent.ended.wait()


async def test_too_much_sent_ahead_ends_the_connection():
    """`Http1`: more than `max_ahead_bytes` behind an unanswered request ends the connection."""
    silent = Silent()
    async with serving(silent) as served, await served.connect() as client:
        await client.send(post())
        with trio.fail_after(10):
            await silent.ready.wait()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.send, b"z" * 500_000)
            await client.read_to_end()
            with trio.fail_after(10):
                await silent.ended.wait()


async def test_pipelining_faster_than_answers_come_ends_the_connection():
    """`Http1`: what was sent ahead is bounded, so nobody fills our memory."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, b"x")

    async with serving(handler) as served, await served.connect() as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.send, post() * 50_000)
            data, _ = await client.read_to_end()
        assert data.count(b"HTTP/1.1 200") < 50_000
        await until(lambda: served.server.open_connections == 0)


async def test_leaving_amid_the_body_is_seen():
    """`Inbox.receive`: half a body and then the end gives `http.disconnect` after what came."""
    kinds: list[object] = []

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        while not kinds or kinds[-1] != "http.disconnect":
            kinds.append((await receive())["type"])

    async with serving(handler) as served, await served.connect() as client:
        await client.send(post(body=b"half")[:-2])
        await until(lambda: kinds)
        client.leave()
        await until(lambda: kinds[-1] == "http.disconnect")
    assert kinds[0] == "http.request"


async def test_leaving_after_the_reply_is_not_leaving():
    """`Inbox.lose`: once the reply is complete, its client may go without `gone` or `on_gone`."""
    told, go_on, ended = trio.Event(), trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        client = client_of(scope)
        client.on_gone = told.set
        await read_body(receive)
        await reply(send, b"ok", 200, (b"connection", b"close"))
        await go_on.wait()
        assert not client.gone
        assert (await receive())["type"] == "http.disconnect"
        ended.set()

    async with serving(handler) as served, await served.connect() as client:
        await client.send(post())
        await client.read_to_end()
        client.leave()
        await wait_all_tasks_blocked(0.1)
        go_on.set()
        with trio.fail_after(10):
            await ended.wait()
    assert not told.is_set()


async def test_a_client_that_left_before_anyone_listened_is_known_to_be_gone():
    """`Inbox.gone`: an application that sets `on_gone` too late can still see it."""
    go_on, seen = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await go_on.wait()
        await until(lambda: client_of(scope).gone)
        seen.set()

    async with serving(handler) as served, await served.connect() as client:
        await client.send(post())
        await until(lambda: served.server.open_connections == 1)
        client.leave()
        go_on.set()
        with trio.fail_after(10):
            await seen.wait()


async def test_a_socket_that_was_closed_is_not_read():
    """`receive_some`: who reads on after a close is told; trio would keep its task under fd -1."""
    ours, theirs = socket.socketpair()
    with theirs:
        close(ours)
        for _ in range(2):
            with pytest.raises(trio.ClosedResourceError):
                await receive_some(ours, 1)
