"""HTTP/1.1 on a socket: whose turn it is, and how a reply may end."""

import json

import pytest
import structlog
import trio
from trio.testing import wait_all_tasks_blocked

from tests.support.replies import Recorder, chat, read_replies, statuses
from tests.support.wire import post, serving, until
from tests.support.wire_apps import (
    Receive,
    Scope,
    Send,
    client_of,
    part,
    read_body,
    reply,
    sse_head,
)

pytestmark = pytest.mark.wire

HEAD = b"POST /echo HTTP/1.1\r\nhost: a\r\n"


@pytest.mark.parametrize(("data", "status"), [(b"\0\r\n", 400), (b"GET /" + b"a" * 70_000, 431)])
async def test_a_refusal_has_the_body_of_every_other_error(data, status):
    """`refusal`: what the parser refuses gets JSON with fixed words, and the connection's end."""
    async with serving(chat, linger_s=0.2) as served, await served.connect() as client:
        await client.send(data)
        got, how = await client.read_to_end()
    head, _, body = got.partition(b"\r\n\r\n")
    assert statuses(got) == [status]
    assert b"content-type: application/json" in head
    assert b"cache-control: no-store" in head
    assert b"connection: close" in head
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("invalid_request_error", "invalid_request")
    assert how == "FIN"


async def test_a_fault_amid_a_body_tells_both_sides():
    """`Http1`: bad chunks behind a good head are a 400, and the application's client is gone."""
    begun, lost = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        client_of(scope).on_gone = lost.set
        begun.set()
        await lost.wait()
        await reply(send, b"never seen")

    async with serving(handler, linger_s=0.2) as served, await served.connect() as client:
        await client.send(HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n")
        with trio.fail_after(10):
            await begun.wait()
        await client.send(b"zz\r\n")
        data, _ = await client.read_to_end()
        assert statuses(data) == [400]
        assert b"never" not in data
        assert lost.is_set()


async def test_a_fault_amid_a_reply_ends_it():
    """`Http1`: once a reply has begun, a fault in the body cannot be answered; the reply is cut."""
    lost = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        client_of(scope).on_gone = lost.set
        await sse_head(send)
        await part(send, b"data: 1\n\n")
        await lost.wait()

    async with serving(handler, linger_s=0.2) as served, await served.connect() as client:
        await client.send(HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n")
        await client.read_until(b"data: 1\n\n\r\n")
        await client.send(b"zz\r\n")
        assert await client.read_to_end() == (b"", "FIN")
        assert lost.is_set()


async def test_a_large_body_may_be_pipelined_behind_a_slow_reply():
    """`Http1`: a body that begins early and is longer than what is kept ahead arrives whole."""
    go_on, seen = trio.Event(), [0]

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            await read_body(receive)
            await go_on.wait()
            await reply(send, b"slow")
            return
        await trio.sleep(0.05)  # its body waits, and with it the reader
        body = await read_body(receive)
        seen[0] = len(body)
        await reply(send, b"large")

    large = post(b"/large", b"z" * 2_000_000)
    async with serving(handler) as served, await served.connect() as client:
        await client.send(post(b"/slow") + large[:40_000])
        await wait_all_tasks_blocked(0.05)
        go_on.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.send, large[40_000:])
            await client.read_until(b"large")
        assert seen == [2_000_000]
        await client.send(post(b"/slow"))
        await client.read_until(b"slow")


async def test_many_requests_in_one_read_are_answered_in_order():
    """`Http1`: a hundred pipelined requests get their replies in order, on one connection."""
    app = Recorder()
    async with serving(app) as served, await served.connect() as client:
        await client.send(b"".join(post(body=b"%d" % number) for number in range(100)))
        assert len(statuses(await read_replies(client, 100))) == 100
    assert app.bodies == [b"%d" % number for number in range(100)]


async def test_http_1_0_is_answered_to_the_end_of_the_connection():
    """`Reply`: without a length, HTTP/1.0 reads until FIN; its keep-alive is not taken up."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await sse_head(send)
        await part(send, b"data: 1\n\n")
        await part(send, b"data: 2\n\n", is_last=True)

    async with serving(handler) as served, await served.connect() as client:
        await client.send(b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")
        data, how = await client.read_to_end()
        assert data.endswith(b"\r\n\r\ndata: 1\n\ndata: 2\n\n")
        assert b"connection: close" in data
        assert how == "FIN"


async def test_a_reply_header_with_a_line_break_is_not_sent():
    """`ReplyError`: who would split a reply gets an exception, the client a 500."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, b"x", 200, (b"x", b"a\r\nset-cookie: b"))

    with structlog.testing.capture_logs() as events:
        async with serving(handler) as served, await served.connect() as client:
            await client.send(post())
            data, _ = await client.read_to_end()
    assert statuses(data) == [500]
    assert b"set-cookie" not in data
    assert [(event["event"], event["kind"]) for event in events] == [
        ("application_failed", "ReplyError")
    ]


@pytest.mark.parametrize("extra", [b"", b"more than was said"])
async def test_a_body_of_another_length_is_not_taken_for_whole(extra):
    """`Reply`: too little or too much body ends the connection, and nothing follows the length."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"10")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await part(send, b"half")
        await part(send, extra, is_last=True)

    with structlog.testing.capture_logs() as events:
        async with serving(handler) as served, await served.connect() as client:
            await client.send(post() + post())
            data, _ = await client.read_to_end()
    assert statuses(data) == [200]
    assert data.endswith(b"\r\n\r\nhalf")
    assert [event["kind"] for event in events] == ["ReplyError"]


@pytest.mark.parametrize(
    "messages",
    [
        [{"type": "http.response.body", "body": b"x"}],
        [{"type": "http.response.start", "status": 200, "headers": []}] * 2,
        [{"type": "http.response.push", "path": "/"}],
    ],
    ids=["body-first", "two-heads", "unknown"],
)
async def test_a_message_out_of_turn_fails_its_application(messages):
    """`Exchange.send`: a message that does not belong there raises, and harms no other request."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/bad":
            for message in messages:
                await send(dict(message))
        await reply(send)

    with structlog.testing.capture_logs() as events:
        async with serving(handler) as served, await served.connect() as client:
            await client.send(post(b"/bad"))
            await client.read_to_end()
            async with await served.connect() as other:
                await other.send(post())
                assert statuses(await other.read_reply()) == [200]
    assert [event["kind"] for event in events] == ["ReplyError"]


async def test_head_gets_a_head():
    """`Reply`: HEAD gets the length and no body, and the connection goes on."""
    async with serving(chat) as served, await served.connect() as client:
        await client.send(b"HEAD /some HTTP/1.1\r\nhost: a\r\n\r\n")
        assert b"content-length: 5" in await client.read_until(b"\r\n\r\n")
        await client.send(post(b"/next"))
        assert (await client.read_reply()).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_a_body_that_came_already_is_not_asked_for():
    """`Exchange`: who expects `100 Continue` but sends the body at once gets none."""
    app = Recorder()
    async with serving(app) as served, await served.connect() as client:
        await client.send(post(b"/", b"hello", b"expect: 100-continue"))
        assert statuses(await client.read_reply()) == [200]


async def test_over_tls_no_preface_switches(server_tls, client_tls):
    """`Http1`: HTTP/2 over TLS is agreed on by ALPN; its preface alone is a 400."""
    async with serving(chat, tls=server_tls, linger_s=0.2) as served:
        async with await served.connect(tls=client_tls) as client:
            await client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            data, _ = await client.read_to_end()
            assert statuses(data) == [400]


async def test_what_is_almost_a_preface_is_a_request():
    """`Http1`: a connection that begins like a preface and then is none is parsed as HTTP/1.1."""
    async with serving(chat, linger_s=0.2) as served:
        for word, status in ((b"PROPFIND", 200), (b"PRI", 400)):
            async with await served.connect() as client:
                await client.send(word[:2])
                await wait_all_tasks_blocked(0.001)
                await client.send(word[2:] + b" / HTTP/1.1\r\nhost: a\r\n\r\n")
                assert statuses(await read_replies(client, 1)) == [status]


async def test_a_busy_connection_that_is_told_to_stop_says_so():
    """`Exchange`: a reply that begins while the server stops says `Connection: close`."""
    go_on, begun = trio.Event(), trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await go_on.wait()
        await reply(send)

    async with serving(handler) as served, await served.connect() as client:
        await client.send(post() + post())
        with trio.fail_after(10):
            await begun.wait()
        served.server.stop.set()
        await until(served.is_refusing)
        go_on.set()
        data, _ = await client.read_to_end()
        assert statuses(data) == [200]
        assert b"connection: close" in data
