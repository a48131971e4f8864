"""HTTP/2: streams that fail, stall, are cut or are hostile harm no other, and are told so."""

import h2.connection
import h2.errors
import h2.events
import pytest
import trio

from tests.support.wire import H2Client, RawClient, serving, until
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

BLOCK = bytes(65_536)


async def h2_client(client: RawClient, *, hostile: bool = False) -> H2Client:
    return await H2Client(client, hostile=hostile).start()


async def test_prior_knowledge_is_spoken():
    """`Connection.run`: the HTTP/2 preface on a plain connection is answered in HTTP/2."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await h2_client(raw)
        stream_id = await client.ask(body=b"hello")
        assert await client.reply(stream_id) == b"hello"
        assert client.headers(stream_id)[b"server"] == b"anvil"


async def test_alpn_chooses_the_protocol(server_tls, client_tls):
    """`Tls.alpn`: a client that offers h2 over TLS gets it."""
    client_tls.set_alpn_protocols(["h2", "http/1.1"])
    async with serving(echo, tls=server_tls) as served:
        async with await served.connect(tls=client_tls) as raw:
            client = await h2_client(raw)
            assert await client.reply(await client.ask(body=b"hello")) == b"hello"


async def test_an_upgrade_to_h2c_is_taken():
    """`Connection.run`: `Upgrade: h2c` on a request without body switches, and answers it."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, str(scope["http_version"]).encode())

    async with serving(handler) as served, await served.connect() as raw:
        client = H2Client(raw)
        settings = client.h2.initiate_upgrade_connection()
        assert settings is not None
        await raw.send(
            b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings\r\n"
            b"upgrade: h2c\r\nhttp2-settings: " + settings + b"\r\n\r\n"
        )
        data = await raw.read_until(b"upgrade: h2c\r\n\r\n")
        assert data.startswith(b"HTTP/1.1 101 ")
        await client.take(data.partition(b"\r\n\r\n")[2])
        assert await client.reply(1) == b"2"


async def test_a_body_larger_than_the_window_arrives():
    """`Http2`: a body's bytes of the window are given back as the application reads it."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await h2_client(raw)
        stream_id = await client.ask(body=None, stays_open=True)
        sent = 0
        while sent < 300_000:
            await client.read_until(lambda: client.h2.local_flow_control_window(stream_id) > 0)
            size = min(client.h2.local_flow_control_window(stream_id), 16_384, 300_000 - sent)
            client.h2.send_data(stream_id, bytes(size))
            await client.flush()
            sent += size
        client.h2.end_stream(stream_id)
        await client.flush()
        assert len(await client.reply(stream_id)) == 300_000


async def test_a_body_that_nobody_reads_stops_no_other_stream():
    """`Http2`: while one application leaves its body alone, another stream's is read and answered."""
    go_on = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/late":
            await go_on.wait()
        await echo(scope, receive, send)

    async with serving(handler) as served, await served.connect() as raw:
        client = await h2_client(raw)
        late = await client.ask(b"/late", None, stays_open=True)
        for _ in range(30):
            client.h2.send_data(late, bytes(1000))
        await client.flush()
        for _ in range(20):
            other = await client.ask(b"/other", b"z" * 10_000)
            assert await client.reply(other) == b"z" * 10_000
        client.h2.end_stream(late)
        await client.flush()
        go_on.set()
        assert len(await client.reply(late)) == 30_000


async def test_a_shut_window_holds_the_application_back():
    """`Http2`: with its window shut a stream buffers one part; its sender waits, can be cancelled."""
    parts = 0
    ended = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal parts
        await sse_head(send)
        if scope["path"] == "/flood":
            with trio.move_on_after(0.5):
                while True:
                    await part(send, BLOCK)
                    parts += 1
            ended.set()
        else:
            await part(send, b"other", is_last=True)

    async with serving(handler) as served, await served.connect() as raw:
        client = await h2_client(raw)
        client.acknowledges = False
        client.h2.increment_flow_control_window(10_000_000)  # of the connection only
        flood = await client.ask(b"/flood")
        other = await client.ask(b"/other")
        assert await client.reply(other) == b"other"
        await client.read_until(lambda: client.saw(h2.events.StreamReset, flood))
        assert ended.is_set()
        assert parts <= 2


async def test_a_stream_that_stalls_is_reset_alone():
    """`Http2`: a window shut for the stall deadline resets that stream and tells its application."""
    gone = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/flood":
            client_of(scope).on_gone = gone.set
            await sse_head(send)
            while not gone.is_set():
                await part(send, BLOCK)
        else:
            await echo(scope, receive, send)

    async with serving(handler, stall_timeout_s=0.4) as served, await served.connect() as raw:
        client = await h2_client(raw)
        client.acknowledges = False
        client.h2.increment_flow_control_window(10_000_000)
        flood = await client.ask(b"/flood")
        await client.read_until(lambda: client.saw(h2.events.StreamReset, flood))
        with trio.fail_after(10):
            await gone.wait()
        assert await client.reply(await client.ask(b"/other", b"well")) == b"well"


async def test_a_sender_that_does_not_wait_for_a_shut_window_is_cut_off():
    """`Http2`: behind more than `max_waiting_bytes` of a stream nothing is kept; it is reset."""
    gone = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        client_of(scope).on_gone = gone.set
        await sse_head(send)
        while not gone.is_set():
            with trio.move_on_after(0):
                await part(send, BLOCK)
            await trio.lowlevel.checkpoint()

    async with serving(handler, max_waiting_bytes=300_000) as served, await served.connect() as raw:
        client = await h2_client(raw)
        client.acknowledges = False
        stream_id = await client.ask()
        await client.read_until(lambda: client.saw(h2.events.StreamReset, stream_id))
        with trio.fail_after(10):
            await gone.wait()


async def test_a_cancelled_last_part_has_its_end():
    """`Tasks.spawn_app`: over HTTP/2 too, a send that is cancelled is complete, its end included."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        with trio.CancelScope() as cut:
            cut.cancel()
            await sse_head(send)
            await part(send, BLOCK * 4)
        with trio.CancelScope() as cut:
            cut.cancel()
            await part(send, b"the end", is_last=True)

    async with serving(handler) as served, await served.connect() as raw:
        client = await h2_client(raw)
        assert await client.reply(await client.ask()) == BLOCK * 4 + b"the end"


async def test_an_application_that_fails_amid_its_reply_resets_the_stream():
    """`Http2`: the client of a reply that broke is told by RST_STREAM; other streams go on."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/die":
            await sse_head(send)
            await part(send, b"data: 1\n\n")
            raise RuntimeError
        await echo(scope, receive, send)

    async with serving(handler) as served, await served.connect() as raw:
        client = await h2_client(raw)
        dying = await client.ask(b"/die")
        await client.read_until(lambda: client.saw(h2.events.StreamReset, dying))
        codes = [e.error_code for e in client.events if isinstance(e, h2.events.StreamReset)]
        assert codes == [h2.errors.ErrorCodes.INTERNAL_ERROR]
        assert await client.reply(await client.ask(b"/other", b"well")) == b"well"


class Watched:
    """Answers nothing on `/silent` and notes that its client has left; else echoes."""

    def __init__(self) -> None:
        self.begun, self.gone = 0, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/silent":
            await echo(scope, receive, send)
            return
        gone = trio.Event()
        client_of(scope).on_gone = gone.set
        self.begun += 1
        await gone.wait()
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone += 1


@pytest.mark.parametrize("goodbye", ["leave", "reset"])
async def test_a_client_that_closes_is_seen_by_all_its_streams(goodbye):
    """`Connection.run`: the end of an HTTP/2 connection reaches the application of each stream."""
    watched = Watched()
    async with serving(watched) as served, await served.connect() as raw:
        client = await h2_client(raw)
        for _ in range(3):
            await client.ask(b"/silent")
        await until(lambda: watched.begun == 3)
        getattr(raw, goodbye)()
        await until(lambda: watched.gone == 3)
        await until(lambda: served.server.open_connections == 0)


async def test_a_thousand_cancelled_streams_leave_nothing_behind():
    """`Http2`: each reset is seen by its application, and the connection serves on afterwards."""
    watched = Watched()
    async with serving(watched) as served, await served.connect() as raw:
        client = await h2_client(raw)
        for count in range(1, 13):
            streams = [await client.ask(b"/silent") for _ in range(100)]
            await until(lambda: watched.begun == count * 100)  # noqa: B023 - ends in this turn
            for stream_id in streams:
                client.h2.reset_stream(stream_id)
            await client.flush()
            await until(lambda: watched.gone == count * 100)  # noqa: B023
        assert await client.reply(await client.ask(b"/other", b"well")) == b"well"


@pytest.mark.parametrize("path", [b"/\xff", b"/caf\xc3\xa9"])
async def test_a_byte_beyond_ascii_in_the_path_ends_that_stream(path):
    """`Http2`: hypercorn would end the whole server; here that request gets a 400."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await h2_client(raw, hostile=True)
        bad = await client.ask(path, b"body")
        await client.reply(bad)
        assert client.headers(bad)[b":status"] == b"400"
        assert await client.reply(await client.ask(body=b"well")) == b"well"


async def test_a_body_that_comes_after_the_answer_harms_nobody():
    """`Http2`: what is still sent for an answered stream is dropped, and its window given back."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/refuse":
            await reply(send, b"no", 401)
        else:
            await echo(scope, receive, send)

    async with serving(handler) as served, await served.connect() as raw:
        client = await h2_client(raw)
        refused = await client.ask(b"/refuse", None, stays_open=True)
        assert await client.reply(refused) == b"no"
        for _ in range(20):
            await client.read_until(lambda: client.h2.local_flow_control_window(refused) > 10_000)
            client.h2.send_data(refused, bytes(10_000))
            await client.flush()
        assert await client.reply(await client.ask(b"/other", b"well")) == b"well"


async def test_priorities_cannot_fill_the_tree():
    """`Http2`: thousands of PRIORITY frames for streams that never come are ignored."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await h2_client(raw)
        for number in range(2000):
            client.h2.prioritize(2 * number + 10_001, depends_on=2 * number + 9_999)
        await client.flush()
        assert await client.reply(await client.ask(body=b"well")) == b"well"


async def test_a_body_is_asked_for_only_when_it_is_wanted():
    """`Http2`: `100 Continue` goes out at the application's first `receive`."""
    checked = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await checked.wait()
        await reply(send, await read_body(receive))

    async with serving(handler) as served, await served.connect() as raw:
        client = await h2_client(raw)
        head = [(b":method", b"POST"), (b":path", b"/"), (b":authority", b"a")]
        client.h2.send_headers(1, [*head, (b":scheme", b"http"), (b"expect", b"100-continue")])
        await client.flush()
        client.h2.ping(b"12345678")
        await client.flush()
        await client.read_until(lambda: client.saw(h2.events.PingAckReceived))
        assert not client.saw(h2.events.InformationalResponseReceived)
        checked.set()
        await client.read_until(lambda: client.saw(h2.events.InformationalResponseReceived))
        client.h2.send_data(1, b"hello", end_stream=True)
        await client.flush()
        assert await client.reply(1) == b"hello"


async def test_headers_of_a_connection_do_not_travel():
    """`Http2.stream_send`: `Connection: close` of an application is no error and is not sent."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, b"ok", 200, (b"connection", b"close"))

    async with serving(handler) as served, await served.connect() as raw:
        client = await h2_client(raw)
        stream_id = await client.ask()
        assert await client.reply(stream_id) == b"ok"
        assert b"connection" not in client.headers(stream_id)


@pytest.mark.parametrize("body", [b"", b"last words"])
async def test_stopping_sends_the_end_of_a_stream_before_the_goodbye(body):
    """`Connection.retire`: a busy HTTP/2 connection completes its reply, then GOAWAY and FIN."""
    go_on, busy = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        busy.set()
        await go_on.wait()
        await part(send, body, is_last=True)

    async with serving(handler) as served, await served.connect() as raw:
        client = await h2_client(raw)
        stream_id = await client.ask()
        with trio.fail_after(10):
            await busy.wait()
        served.server.stop.set()
        go_on.set()
        assert await client.reply(stream_id) == body
        await client.read_until(lambda: client.saw(h2.events.ConnectionTerminated))
        await until(lambda: served.stopped.is_set())


async def test_stopping_refuses_new_streams():
    """`Http2`: a stream begun on a busy connection while the server stops is refused, retryably."""
    go_on, busy = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        busy.set()
        await go_on.wait()
        await reply(send)

    async with serving(handler) as served, await served.connect() as raw:
        client = await h2_client(raw)
        first = await client.ask()
        with trio.fail_after(10):
            await busy.wait()
        served.server.stop.set()
        await until(lambda: served.is_refusing)
        second = await client.ask()
        await client.read_until(lambda: client.saw(h2.events.StreamReset, second))
        codes = [e.error_code for e in client.events if isinstance(e, h2.events.StreamReset)]
        assert codes == [h2.errors.ErrorCodes.REFUSED_STREAM]
        go_on.set()
        assert await client.reply(first) == b"ok"


async def test_stopping_says_goodbye_to_an_idle_connection():
    """`Connection.retire`: an idle HTTP/2 client gets GOAWAY and FIN at once."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await h2_client(raw)
        assert await client.reply(await client.ask(body=b"well")) == b"well"
        served.server.stop.set()
        await client.read_until(lambda: client.saw(h2.events.ConnectionTerminated))
        with trio.fail_after(5):
            while not client.is_closed:
                await client.read()
