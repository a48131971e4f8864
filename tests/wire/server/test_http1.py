"""HTTP/1.1 on a socket: hostile bytes, and bytes in pieces."""

import pytest
import structlog
import trio
from trio.testing import wait_all_tasks_blocked

from tests.support.hostile import HIDDEN, HOSTILE, LIMIT
from tests.support.replies import Recorder, chat, read_replies, statuses
from tests.support.wire import H2Client, RawClient, post, serving, until

pytestmark = pytest.mark.wire


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_request_is_answered_as_the_table_says(name):
    """`Http1`: statuses, the requests that reach the application and the end are the table's."""
    row, app = HOSTILE[name], Recorder()
    with structlog.testing.capture_logs() as events:
        async with serving(app, max_head_bytes=LIMIT, linger_s=0.2) as served:
            async with await served.connect() as client, trio.open_nursery() as nursery:
                nursery.start_soon(client.send, row.data)
                data = await read_replies(client, len(row.statuses))
                assert statuses(data) == list(row.statuses)
                assert tuple(app.bodies) == row.bodies
                assert "/hidden" not in app.paths
                if row.is_open:
                    await client.send(post(b"/after", b"after"))
                    assert statuses(await read_replies(client, 1)) == [200]
                else:
                    rest, _ = await client.read_to_end()
                    assert rest == b""
            await until(lambda: served.server.open_connections == 0)
    assert "/hidden" not in app.paths
    assert events == []


def _pieces(data: bytes) -> range:
    return range(1, len(data))


async def _send_in_two(client: RawClient, data: bytes, cut: int) -> None:
    await client.send(data[:cut])
    await wait_all_tasks_blocked(0.0005)
    await client.send(data[cut:])


HEAD = b"POST /echo HTTP/1.1\r\nhost: a\r\n"
PIPELINE = (
    HEAD
    + b"content-length: 3\r\n\r\none"
    + HEAD
    + b"transfer-encoding: chunked\r\n\r\n3;x=y\r\ntwo\r\n0\r\nx-t: 1\r\n\r\n"
    + HEAD
    + b"upgrade: h2c\r\nconnection: upgrade\r\ncontent-length: %d\r\n\r\n" % len(HIDDEN)
    + HIDDEN
    + HEAD
    + b"connection: close\r\ncontent-length: 4\r\n\r\nfour"
)


async def test_a_pipeline_may_be_cut_anywhere():
    """`Http1.feed`: four requests in two pieces get the same four replies, wherever it is cut."""
    app = Recorder()
    async with serving(app) as served:
        for cut in _pieces(PIPELINE):
            app.bodies.clear()
            async with await served.connect() as client:
                await _send_in_two(client, PIPELINE, cut)
                data, _ = await client.read_to_end()
            assert statuses(data) == [200] * 4, cut
            assert app.bodies == [b"one", b"two", HIDDEN, b"four"], cut


async def test_a_preface_of_http_2_may_be_cut_anywhere():
    """`Http2Preface`: prior knowledge in two pieces is the same request, wherever it is cut."""
    app = Recorder()
    async with serving(app) as served:
        cut = 0
        while True:
            cut += 1
            async with await served.connect() as raw:
                client = H2Client(raw)
                client.h2.initiate_connection()
                head = [
                    (":method", "POST"),
                    (":path", "/"),
                    (":authority", "a"),
                    (":scheme", "http"),
                ]
                client.h2.send_headers(1, head)
                client.h2.send_data(1, b"five", end_stream=True)
                data = client.h2.data_to_send()
                if cut == len(data):
                    break
                await _send_in_two(raw, data, cut)
                assert await client.reply(1) == b"five", cut


HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
)
FRAME = bytes([0x81, 0x82, 0, 0, 0, 0]) + b"hi"


async def test_a_websocket_handshake_may_be_cut_anywhere():
    """`Http1WebSocket`: in two pieces it is the same handshake, and the first frame is answered."""
    async with serving(chat, linger_s=0.1) as served:
        for cut in _pieces(HANDSHAKE):
            async with await served.connect() as client:
                await _send_in_two(client, HANDSHAKE, cut)
                head = await client.read_until(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 101 Switching Protocols\r\n"), cut
                assert b"\r\nx-of: ours\r\n" in head
                assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
                await _send_in_two(client, FRAME, 1 + cut % (len(FRAME) - 1))
                await client.read_until(b"hi!")


async def test_a_handshake_behind_a_request_waits_for_its_reply():
    """`Http1`: a WebSocket handshake that was pipelined is accepted after the reply before it."""
    async with serving(chat, linger_s=0.1) as served, await served.connect() as client:
        await client.send(b"GET /first HTTP/1.1\r\nhost: a\r\n\r\n" + HANDSHAKE)
        data = await client.read_until(b"x-of: ours\r\n")
        assert statuses(data) == [200, 101]
        await client.send(FRAME)
        await client.read_until(b"hi!")
