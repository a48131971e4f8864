"""HTTP/2: how streams and connections end, and what hostile ones can do."""

import h2.connection
import h2.errors
import h2.events
import h2.settings
import pytest
import trio

from anvil_trio.server.frames import MOST_CONTROL_FRAMES
from tests.support.wire import H2Client, serving, until
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

HEAD = [(b":method", b"POST"), (b":path", b"/"), (b":authority", b"a"), (b":scheme", b"http")]


async def test_an_application_that_fails_amid_its_reply_resets_the_stream():
    """`Http2`: the client of a reply that broke is told by RST_STREAM; other streams go on."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/die":
            await sse_head(send)
            await part(send, b"data: 1\n\n")
            raise RuntimeError
        await echo(scope, receive, send)

    async with serving(handler) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
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
        client = await H2Client(raw).start()
        for _ in range(3):
            await client.ask(b"/silent")
        await until(lambda: watched.begun == 3)
        getattr(raw, goodbye)()
        await until(lambda: watched.gone == 3)
        await until(lambda: served.server.open_connections == 0)


async def test_an_end_that_could_not_be_sent_holds_nothing_up():
    """`Http2.handle`: a client that leaves with its window shut over a last part is let go."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        await part(send, bytes(200_000), is_last=True)

    async with serving(handler) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
        client.acknowledges = False
        stream_id = await client.ask()
        await client.read_until(lambda: len(client.body(stream_id)) == 65_535)
        raw.leave()
        await until(lambda: served.server.open_connections == 0)


async def test_a_thousand_cancelled_streams_leave_nothing_behind():
    """`Http2`: each reset is seen by its application, and the connection serves on afterwards."""
    watched = Watched()
    async with serving(watched) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
        for count in range(1, 13):
            streams = [await client.ask(b"/silent") for _ in range(100)]
            await until(lambda: watched.begun == count * 100)  # noqa: B023 - ends in this turn
            for stream_id in streams:
                client.h2.reset_stream(stream_id)
            await client.flush()
            await until(lambda: watched.gone == count * 100)  # noqa: B023
        assert await client.reply(await client.ask(b"/other", b"well")) == b"well"


@pytest.mark.parametrize("storm", ["PING", "SETTINGS", "RST_STREAM"])
async def test_a_storm_of_control_frames_ends_its_connection_only(storm):
    """`Http2`: GOAWAY with ENHANCE_YOUR_CALM after a bounded number; another client is served."""

    def send_one(client: h2.connection.H2Connection) -> None:
        if storm == "PING":
            client.ping(b"12345678")
        elif storm == "SETTINGS":
            client.update_settings({h2.settings.SettingCodes.ENABLE_PUSH: 0})
        else:
            stream_id = client.get_next_available_stream_id()
            client.send_headers(stream_id, HEAD)
            client.reset_stream(stream_id)

    async with (
        serving(echo) as served,
        await served.connect() as raw,
        await served.connect() as other,
    ):
        hostile, well = await H2Client(raw).start(), await H2Client(other).start()
        sent = 0
        while not hostile.saw(h2.events.ConnectionTerminated):
            for _ in range(100):
                send_one(hostile.h2)
            sent += 100
            assert sent < 2 * MOST_CONTROL_FRAMES
            hostile.h2.ping(b"are you?")
            await hostile.flush()
            await hostile.read()
        [end] = [e for e in hostile.events if isinstance(e, h2.events.ConnectionTerminated)]
        assert end.error_code == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
        assert await well.reply(await well.ask(body=b"well")) == b"well"
        await until(lambda: served.server.open_connections == 1)


@pytest.mark.parametrize("path", [b"/\xff", b"/caf\xc3\xa9"])
async def test_a_byte_beyond_ascii_in_the_path_ends_that_stream(path):
    """`Http2`: hypercorn would end the whole server; here that request gets a 400."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await H2Client(raw, hostile=True).start()
        bad = await client.ask(path, b"body")
        await client.reply(bad)
        assert client.headers(bad)[b":status"] == b"400"
        assert await client.reply(await client.ask(body=b"well")) == b"well"


async def test_a_websocket_header_beyond_ascii_ends_that_stream():
    """`Http2`: hypercorn would end the connection; here that request gets a 400."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await H2Client(raw, hostile=True).start()
        bad = client.h2.get_next_available_stream_id()
        head = [
            (b":method", b"CONNECT"),
            (b":protocol", b"websocket"),
            (b":scheme", b"http"),
            (b":authority", b"a"),
            (b":path", b"/"),
            (b"sec-websocket-version", b"13"),
            (b"sec-websocket-protocol", b"\xff"),
        ]
        client.h2.send_headers(bad, head)
        await client.flush()
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
        client = await H2Client(raw).start()
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
        client = await H2Client(raw).start()
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
        client = await H2Client(raw).start()
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
        client = await H2Client(raw).start()
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
        client = await H2Client(raw).start()
        stream_id = await client.ask()
        with trio.fail_after(10):
            await busy.wait()
        served.server.stop.set()
        go_on.set()
        assert await client.reply(stream_id) == body
        await client.read_until(lambda: client.saw(h2.events.ConnectionTerminated))
        await until(served.stopped.is_set)


async def test_stopping_refuses_new_streams():
    """`Http2`: a stream begun on a busy connection while the server stops is refused, retryably."""
    go_on, busy = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        busy.set()
        await go_on.wait()
        await reply(send)

    async with serving(handler) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
        first = await client.ask()
        with trio.fail_after(10):
            await busy.wait()
        served.server.stop.set()
        await until(served.is_refusing)
        second = await client.ask()
        await client.read_until(lambda: client.saw(h2.events.StreamReset, second))
        codes = [e.error_code for e in client.events if isinstance(e, h2.events.StreamReset)]
        assert codes == [h2.errors.ErrorCodes.REFUSED_STREAM]
        go_on.set()
        assert await client.reply(first) == b"ok"


async def test_stopping_says_goodbye_to_an_idle_connection():
    """`Connection.retire`: an idle HTTP/2 client gets GOAWAY and FIN at once."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
        assert await client.reply(await client.ask(body=b"well")) == b"well"
        served.server.stop.set()
        await client.read_until(lambda: client.saw(h2.events.ConnectionTerminated))
        with trio.fail_after(5):
            while not client.is_closed:
                await client.read()
