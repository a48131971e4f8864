"""Bounds on connections and on their patience."""

import h2.events
import pytest
import trio

from tests.support.wire import H2Client, RawClient, child_process, post, serving, until
from tests.support.wire_apps import Receive, Scope, Send, echo, part, reply, sse_head

pytestmark = pytest.mark.wire


class Gate:
    """Answers `/wait` only once the gate is open; else echoes."""

    def __init__(self) -> None:
        self.open, self.waiting = trio.Event(), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/wait":
            self.waiting += 1
            await self.open.wait()
            await reply(send, b"done")
        else:
            await echo(scope, receive, send)


async def test_open_connections_never_exceed_their_limit():
    """`Server.run`: beyond `max_connections` a client waits unharmed until another one leaves."""
    gate = Gate()
    async with serving(gate, max_connections=2) as served:
        async with await served.connect() as first, await served.connect() as second:
            await first.send(post(b"/wait"))
            await second.send(post(b"/wait"))
            await until(lambda: gate.waiting == 2)
            third = await served.connect()
            await third.send(post(body=b"at last"))
            with trio.move_on_after(0.3) as patience:
                await third.stream.receive_some(1)
            assert patience.cancelled_caught
            assert served.server.open_connections == 2
            first.leave()
            gate.open.set()
            assert (await third.read_reply()).endswith(b"at last")
            third.leave()


async def test_an_idle_connection_makes_room():
    """`Server.run`: at the limit the connection that has been idle for longest is closed."""
    async with serving(echo, max_connections=2, spare_idle_s=0.1) as served:
        async with await served.connect() as oldest, await served.connect() as newer:
            for client in (oldest, newer):
                await client.send(post(body=b"one"))
                await client.read_reply()
            async with await served.connect() as newcomer:
                await newcomer.send(post(body=b"room"))
                assert (await newcomer.read_reply()).endswith(b"room")
                assert await oldest.read_to_end() == (b"", "FIN")
                await newer.send(post(body=b"still here"))
                assert (await newer.read_reply()).endswith(b"still here")


async def test_a_connection_that_becomes_idle_makes_room():
    """`Server.run`: a client that waits at the limit is served once a busy one falls idle."""
    gate = Gate()
    async with serving(gate, max_connections=1, spare_idle_s=0.1) as served:
        async with await served.connect() as busy:
            await busy.send(post(b"/wait"))
            await until(lambda: gate.waiting == 1)
            waiting = await served.connect()
            await waiting.send(post(body=b"at last"))
            gate.open.set()
            assert (await busy.read_reply()).endswith(b"done")
            assert (await waiting.read_reply()).endswith(b"at last")
            waiting.leave()


async def test_running_out_of_file_descriptors_is_survived():
    """`Server.run`: at the process's limit accepting pauses, is logged once, and goes on later."""
    async with child_process("echo", "--files", "40") as child:
        clients = [await RawClient.connect(child.port) for _ in range(120)]
        await until(lambda: b"accept_paused" in child.output)
        await trio.sleep(0.3)  # several more pauses
        for client in clients:
            client.leave()
        async with await RawClient.connect(child.port) as client:
            await client.send(post(body=b"well"))
            assert (await client.read_reply()).endswith(b"well")
        child.process.terminate()
        assert await child.wait() == 0
    assert child.output.count(b"accept_paused") == 1
    assert b"file_descriptors" in child.output


async def test_an_idle_connection_is_closed_at_its_deadline():
    """`ServerOptions.keep_alive_timeout_s`: after a reply, silence for that long ends in FIN."""
    async with serving(echo, keep_alive_timeout_s=0.5) as served, await served.connect() as client:
        await client.send(post())
        await client.read_reply()
        start = trio.current_time()
        assert await client.read_to_end() == (b"", "FIN")
        assert 0.3 < trio.current_time() - start < 5


async def test_half_a_head_is_closed_at_the_deadline():
    """`ServerOptions.keep_alive_timeout_s`: bytes that make no whole head gain no time."""
    async with serving(echo, keep_alive_timeout_s=0.5) as served, await served.connect() as client:
        start = trio.current_time()
        for byte in (b"P", b"O", b"S"):
            await client.send(byte)
            await trio.sleep(0.1)
        await client.read_to_end()
        assert 0.3 < trio.current_time() - start < 5


async def test_a_busy_connection_outlives_the_deadline():
    """`ServerOptions.keep_alive_timeout_s`: it does not run while a request is being answered."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        await trio.sleep(0.6)
        await part(send, b"late", is_last=True)

    async with serving(handler, keep_alive_timeout_s=0.2) as served:
        async with await served.connect() as client:
            await client.send(post())
            await client.read_until(b"late\r\n0\r\n\r\n")


async def test_a_slow_reader_outlives_the_deadline():
    """`Connection`: a connection is not idle before its client has taken the reply."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, bytes(3_000_000))

    async with serving(handler, keep_alive_timeout_s=0.2) as served:
        async with await served.connect(rcvbuf=32_768) as client:
            await client.send(post())
            await trio.sleep(0.6)
            assert (await client.read_reply()).endswith(bytes(1000))


async def test_an_idle_http2_connection_is_closed_with_a_goodbye():
    """`Connection.evict`: at its deadline an idle HTTP/2 client gets GOAWAY before the end."""
    async with serving(echo, keep_alive_timeout_s=0.3) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
        assert await client.reply(await client.ask(body=b"well")) == b"well"
        await client.read_until(lambda: client.saw(h2.events.ConnectionTerminated))


async def test_a_handshake_that_never_ends_is_closed(server_tls):
    """`Channel.handshake`: a client that says nothing to a TLS port is closed in time."""
    async with serving(echo, tls=server_tls, handshake_timeout_s=0.3) as served:
        async with await served.connect() as client:
            assert await client.read_to_end() == (b"", "FIN")
