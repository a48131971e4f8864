"""HTTP/2: streams that fail, stall, are cut or are hostile harm no other, and are told so."""

import gc

import h2.events
import pytest
import trio

from anvil_trio.server.http1 import Http2Preface
from tests.support.wire import H2Client, serving
from tests.support.wire_apps import (
    Receive,
    Scope,
    Send,
    client_of,
    echo,
    part,
    reply,
    sse_head,
)

pytestmark = pytest.mark.wire

BLOCK = bytes(65_536)


async def test_prior_knowledge_is_spoken():
    """`Connection.run`: the HTTP/2 preface on a plain connection is answered in HTTP/2."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
        stream_id = await client.ask(body=b"hello")
        assert await client.reply(stream_id) == b"hello"
        assert client.headers(stream_id)[b"server"] == b"anvil"


async def test_what_came_with_the_preface_is_not_kept():
    """`Connection`: a connection that turned to HTTP/2 forgets the bytes that turned it."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
        assert await client.reply(await client.ask(body=b"hello")) == b"hello"
        assert not [each for each in gc.get_objects() if isinstance(each, Http2Preface)]


async def test_alpn_chooses_the_protocol(server_tls, client_tls):
    """`Tls.alpn`: a client that offers h2 over TLS gets it."""
    client_tls.set_alpn_protocols(["h2", "http/1.1"])
    async with serving(echo, tls=server_tls) as served:
        async with await served.connect(tls=client_tls) as raw:
            client = await H2Client(raw).start()
            assert await client.reply(await client.ask(body=b"hello")) == b"hello"


async def test_an_upgrade_to_h2c_is_ignored():
    """`Http1`: `Upgrade: h2c` is answered in HTTP/1.1 (RFC 9113 has given it up)."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, str(scope["http_version"]).encode())

    async with serving(handler) as served, await served.connect() as raw:
        settings = H2Client(raw).h2.initiate_upgrade_connection()
        assert settings is not None
        ask = (
            b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings\r\n"
            b"upgrade: h2c\r\nhttp2-settings: " + settings + b"\r\n\r\n"
        )
        for _ in range(2):
            await raw.send(ask)
            answer = await raw.read_reply()
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert answer.endswith(b"1.1")


async def test_a_body_larger_than_the_window_arrives():
    """`Http2`: a body's bytes of the window are given back as the application reads it."""
    async with serving(echo) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
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
    """`Http2`: while one application leaves its body alone, other streams are read and answered."""
    go_on = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/late":
            await go_on.wait()
        await echo(scope, receive, send)

    async with serving(handler) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
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
    """`Http2`: with its window shut a stream keeps one part; its sender waits, until cancelled."""
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
        client = await H2Client(raw).start()
        client.acknowledges = False
        client.h2.increment_flow_control_window(10_000_000)  # of the connection only
        flood = await client.ask(b"/flood")
        other = await client.ask(b"/other")
        assert await client.reply(other) == b"other"
        await client.read_until(lambda: client.saw(h2.events.StreamReset, flood))
        assert ended.is_set()
        assert parts <= 2


async def test_a_stream_that_stalls_is_reset_alone():
    """`Http2`: a window shut for the stall deadline resets that stream; its application knows."""
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
        client = await H2Client(raw).start()
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
        client = await H2Client(raw).start()
        client.acknowledges = False
        stream_id = await client.ask()
        await client.read_until(lambda: client.saw(h2.events.StreamReset, stream_id))
        with trio.fail_after(10):
            await gone.wait()


async def test_a_cancelled_last_part_has_its_end():
    """`Tasks.spawn_app`: over HTTP/2 too, a send that is cancelled is complete, with its end."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        with trio.CancelScope() as cut:
            cut.cancel()
            await sse_head(send)
            await part(send, BLOCK * 4)
        with trio.CancelScope() as cut:
            cut.cancel()
            await part(send, b"the end", is_last=True)

    async with serving(handler) as served, await served.connect() as raw:
        client = await H2Client(raw).start()
        assert await client.reply(await client.ask()) == BLOCK * 4 + b"the end"
