"""Failures and hostile bytes end one request or one connection, and say little about it."""

import pytest
import structlog
import trio

from tests.support.wire import post, serving, until
from tests.support.wire_apps import Receive, Scope, Send, client_of, echo, part, reply, sse_head

pytestmark = pytest.mark.wire

SECRET = "the prompt, a key and a path"


async def well(port_of) -> None:
    """The server answers somebody else as if nothing had happened."""
    async with await port_of.connect() as client:
        await client.send(post(body=b"well"))
        assert (await client.read_reply()).endswith(b"well")


async def fails_early(scope: Scope, receive: Receive, send: Send) -> None:
    """Raises before it has answered."""
    if scope["path"] == "/fail":
        raise RuntimeError(SECRET)
    await echo(scope, receive, send)


async def fails_late(scope: Scope, receive: Receive, send: Send) -> None:
    """Raises in the midst of its answer."""
    if scope["path"] == "/fail":
        await sse_head(send)
        await part(send, b"data: 1\n\n")
        raise ExceptionGroup(SECRET, [ValueError(SECRET)])
    await echo(scope, receive, send)


async def test_an_application_that_fails_at_once_is_a_500():
    """`Tasks.spawn_app`: its client gets a 500, the log one event with no text of the exception."""
    with structlog.testing.capture_logs() as events:
        async with serving(fails_early) as served, await served.connect() as client:
            await client.send(post(b"/fail"))
            reply = await client.read_reply()
            assert reply.startswith(b"HTTP/1.1 500 ")
            assert b'"code":"internal_error"' in reply
            await well(served)
    assert [event["event"] for event in events] == ["application_failed"]
    assert events[0]["kind"] == "RuntimeError"
    assert events[0]["where"].startswith("tests.wire.server.test_faults:")
    assert SECRET not in str(events)


async def test_an_application_that_fails_amid_its_reply_leaves_it_visibly_incomplete():
    """`Tasks.spawn_app`: the reply ends without its last chunk, and with it the connection."""
    with structlog.testing.capture_logs() as events:
        async with serving(fails_late) as served, await served.connect() as client:
            await client.send(post(b"/fail"))
            data, _ = await client.read_to_end()
            assert data.endswith(b"data: 1\n\n\r\n")
            await well(served)
    assert [event["event"] for event in events] == ["application_failed"]
    assert events[0]["kind"] == "ValueError"
    assert SECRET not in str(events)


async def test_a_bug_ends_one_connection():
    """`serve_connection`: an exception in a connection's own tasks is logged, and that is all."""
    ready = trio.Event()

    def broken() -> None:
        raise RuntimeError(SECRET)

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/bug":
            client_of(scope).on_gone = broken
            ready.set()
            await trio.sleep_forever()
        await echo(scope, receive, send)

    with structlog.testing.capture_logs() as events:
        async with serving(handler) as served:
            async with await served.connect() as client:
                await client.send(post(b"/bug"))
                with trio.fail_after(10):
                    await ready.wait()
                client.leave()
            await until(lambda: served.server.open_connections == 0)
            await well(served)
    assert [(event["event"], event["kind"]) for event in events] == [
        ("connection_failed", "RuntimeError")
    ]
    assert SECRET not in str(events)


START = b"POST / HTTP/1.1\r\nhost: a\r\n"

HOSTILE = {
    "garbage": b"\0\xff\xfe\r\n\r\n",
    "tls-to-plain": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    "differing-lengths": START + b"content-length: 1\r\ncontent-length: 2\r\n\r\nxx",
    "signed-length": START + b"content-length: +1\r\n\r\nx",
    "unknown-coding": START + b"transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding-twice": START + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
    "space-before-colon": START + b"content-length : 1\r\n\r\nx",
    "nul-in-value": START + b"x-a: \0\r\n\r\n",
    "bad-chunk-size": START + b"transfer-encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
    "non-ascii-target": b"GET /\xff HTTP/1.1\r\nhost: a\r\n\r\n",
    "space-in-target": b"GET /a b HTTP/1.1\r\nhost: a\r\n\r\n",
    "no-host": b"GET / HTTP/1.1\r\n\r\n",
    "two-hosts": b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    "endless-head": START + (b"x-a: " + b"b" * 1000 + b"\r\n") * 300,
    "bad-h2-preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 64,
    "websocket-without-key": (
        b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    ),
}


async def patient_echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Echoes; a client that leaves amid its body ends it quietly."""
    body, is_complete = b"", False
    while not is_complete:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        part_ = message["body"]
        assert isinstance(part_, bytes)
        body += part_
        is_complete = not message["more_body"]
    await reply(send, body)


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_bytes_end_their_own_connection(name):
    """`serve_connection`: what no parser takes gets a 4xx or nothing, an end, and no traceback."""
    with structlog.testing.capture_logs() as events:
        async with serving(patient_echo, keep_alive_timeout_s=2) as served:
            async with await served.connect() as client, trio.open_nursery() as nursery:
                nursery.start_soon(client.send, HOSTILE[name])
                data, _ = await client.read_to_end()
            statuses = {
                line.split(b" ")[1][:1] for line in data.split(b"\r\n") if b"HTTP/1." in line
            }
            assert statuses <= {b"4", b"5", b"1"}
            await well(served)
            await until(lambda: served.server.open_connections == 0)
    assert {event["event"] for event in events} <= {"connection_failed"}
    assert all(set(event) == {"event", "kind", "where", "log_level"} for event in events)


async def test_plain_bytes_to_a_tls_port_end_their_own_connection(server_tls, client_tls):
    """`Tls.handshake`: bytes that are no TLS are refused in silence; the next client is served."""
    with structlog.testing.capture_logs() as events:
        async with serving(echo, tls=server_tls) as served:
            async with await served.connect() as client:
                await client.send(post() * 10)
                data, _ = await client.read_to_end()
                assert b"HTTP" not in data
            async with await served.connect(tls=client_tls) as client:
                await client.send(post(body=b"well"))
                assert (await client.read_reply()).endswith(b"well")
    assert events == []
