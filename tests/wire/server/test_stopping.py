"""How the server stops: who ends at once, who may finish, and what ends those who do not."""

import signal

import pytest
import trio

from anvil_trio.server.accept import Server
from anvil_trio.server.listen import listen
from anvil_trio.server.options import ServerOptions
from tests.support.wire import RawClient, Served, child_process, post, serving, until
from tests.support.wire_apps import (
    Receive,
    Scope,
    Send,
    client_of,
    echo,
    part,
    read_body,
    reply,
    sse_head,
)

pytestmark = pytest.mark.wire


class Busy:
    """Answers `/busy` when told to; else echoes."""

    def __init__(self) -> None:
        self.begun, self.go_on = trio.Event(), trio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/busy":
            await read_body(receive)
            self.begun.set()
            await self.go_on.wait()
            await reply(send, b"done")
        else:
            await echo(scope, receive, send)


async def stopped(served: Served, within_s: float = 10.0) -> float:
    """How long the server takes from now to its end."""
    start = trio.current_time()
    with trio.fail_after(within_s):
        await served.stopped.wait()
    return trio.current_time() - start


async def test_an_idle_server_stops_at_once():
    """`Server.stop`: without clients `run` returns immediately, and the hook was called."""
    called = []
    async with serving(echo, on_stopping=lambda: called.append("stopping")) as served:
        served.server.stop.set()
        assert await stopped(served) < 1
        assert called == ["stopping"]


async def test_stopping_closes_the_idle_refuses_the_new_and_lets_the_busy_finish():
    """`Server.run`: idle clients get FIN, new ones are refused, a late reply says it closes."""
    busy = Busy()
    called = []
    async with serving(busy, on_stopping=lambda: called.append("stopping")) as served:
        async with await served.connect() as idle, await served.connect() as working:
            await idle.send(post(body=b"well"))
            await idle.read_reply()
            await working.send(post(b"/busy"))
            with trio.fail_after(10):
                await busy.begun.wait()
            served.server.stop.set()
            assert await idle.read_to_end() == (b"", "FIN")
            assert called == ["stopping"]
            with pytest.raises(ConnectionRefusedError):
                await served.connect()
            assert not served.stopped.is_set()
            busy.go_on.set()
            data, how = await working.read_to_end()
            assert data.endswith(b"done")
            assert b"\r\nconnection: close\r\n" in data.lower()
            assert how == "FIN"
        assert await stopped(served) < 2


async def test_a_connection_that_sent_half_a_head_is_closed_at_once():
    """`Connection.retire`: a request that has not been read is nobody's to finish."""
    async with serving(echo) as served, await served.connect() as client:
        await client.send(b"POST / HTTP/1.1\r\n")
        await until(lambda: served.server.open_connections == 1)
        served.server.stop.set()
        await client.read_to_end()
        assert await stopped(served) < 2


async def test_a_connection_still_in_its_handshake_is_closed_at_once(server_tls):
    """`Connection.retire`: a client that never began to speak TLS delays nothing."""
    async with serving(echo, tls=server_tls) as served, await served.connect():
        await until(lambda: served.server.open_connections == 1)
        served.server.stop.set()
        assert await stopped(served) < 2


async def test_a_stuck_client_ends_with_the_deadline():
    """`ServerOptions.shutdown_timeout_s`: what never ends is cut off then, after the farewell."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        begun.set()
        while True:
            await part(send, bytes(65_536))

    begun = trio.Event()
    called = []
    async with serving(
        handler,
        on_deadline=lambda: called.append(trio.current_time()),
        shutdown_timeout_s=0.5,
        farewell_s=0.2,
    ) as served:
        async with await served.connect(rcvbuf=4096) as client:
            await client.send(post())
            with trio.fail_after(10):
                await begun.wait()
            start = trio.current_time()
            served.server.stop.set()
            assert 0.6 < await stopped(served) < 4
            assert 0.4 < called[0] - start < 2
            _, how = await client.read_to_end()
            assert how == "RST"


async def test_last_words_are_sent_at_the_deadline():
    """`Server`, `on_deadline`: a running stream may say why it ends, and its client reads it."""
    deadline, begun = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        begun.set()
        await deadline.wait()
        await part(send, b"data: shutting down\n\n", is_last=True)

    async with serving(handler, on_deadline=deadline.set, shutdown_timeout_s=0.3) as served:
        async with await served.connect() as client:
            await client.send(post())
            with trio.fail_after(10):
                await begun.wait()
            served.server.stop.set()
            data, how = await client.read_to_end()
            assert data.endswith(b"data: shutting down\n\n\r\n0\r\n\r\n")
            assert how == "FIN"
        assert await stopped(served) < 2


async def test_lingering_is_short_while_stopping():
    """`ServerOptions.stopping_linger_s`: a client that never closes delays a stop briefly."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, b"no", 401)

    async with serving(handler, linger_s=8, stopping_linger_s=0.3) as served:
        async with await served.connect() as client:
            await client.send(post(body=b"unread")[:-1])
            assert (await client.read_reply()).endswith(b"no")
            assert await client.read_some() == b""
            assert served.server.open_connections == 1  # lingering: the client has not closed
            served.server.stop.set()
            assert await stopped(served) < 4


async def test_a_client_is_lingered_for():
    """`ServerOptions.linger_s`: after our end a client that does not close has that long."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, b"no", 200, (b"connection", b"close"))

    async with serving(handler, linger_s=0.4) as served, await served.connect() as client:
        await client.send(post())
        await client.read_to_end()
        start = trio.current_time()
        await until(lambda: served.server.open_connections == 0)
        assert 0.2 < trio.current_time() - start < 4


async def test_a_client_that_leaves_while_stopping_is_not_waited_for():
    """`Server.run`: a stop ends as soon as the last busy client has gone."""
    gone, begun = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        client_of(scope).on_gone = gone.set
        begun.set()
        await gone.wait()

    async with serving(handler) as served, await served.connect() as client:
        await client.send(post())
        with trio.fail_after(10):
            await begun.wait()
        served.server.stop.set()
        client.leave()
        assert await stopped(served) < 2


async def test_an_application_that_refuses_to_start_is_reported():
    """`Server.run`: a failed lifespan start-up is raised; nothing was accepted."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no"})

    listener = listen("127.0.0.1", 0)
    with pytest.RaisesGroup(Exception, flatten_subgroups=True):
        await Server(app, ServerOptions(), [listener]).run()
    assert listener.fileno() == -1


async def refused(port: int) -> None:
    """Wait until nobody listens any more."""
    with trio.fail_after(10):
        while True:
            try:
                async with await RawClient.connect(port):
                    await trio.sleep(0.01)
            except OSError:
                return


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_gracefully(number):
    """`run_until_signalled`: the busy reply is completed, nobody new is served, the exit is 0."""
    async with child_process("slow") as child, await RawClient.connect(child.port) as client:
        await client.send(post())
        await client.read_until(b"data: 0")
        child.process.send_signal(number)
        await client.read_until(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        with pytest.raises(OSError):  # noqa: PT011 - refused, or reset by the end of the process
            await RawClient.connect(child.port)
        client.leave()
        assert await child.wait() == 0


async def test_a_second_signal_ends_at_once():
    """`watch_signals`: the second signal cuts off what the first one waits for."""
    async with child_process("silent", "--shutdown", "60") as child:
        async with await RawClient.connect(child.port) as client:
            await client.send(post())
            await client.read_until(b"\r\n\r\n")
            child.process.terminate()
            await refused(child.port)
            child.process.terminate()
            assert await child.wait() == 3
