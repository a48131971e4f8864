"""Many clients at once."""

import pytest
import trio

from anvil_trio.server.listen import raise_fd_limit
from tests.support.wire import post, serving, until
from tests.support.wire_apps import Receive, Scope, Send, part, read_body, sse_head

pytestmark = pytest.mark.wire

STREAMS = 1000
NEEDED_FILES = 2 * STREAMS + 100


async def test_a_thousand_streams_at_once_are_all_complete():
    """`Server.run`: 1,000 streams, all open at the same time, each get every event in order."""
    if raise_fd_limit() < NEEDED_FILES:
        pytest.skip("this machine does not grant enough file descriptors")
    open_now, all_open = 0, trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal open_now
        await read_body(receive)
        await sse_head(send)
        open_now += 1
        if open_now == STREAMS:
            all_open.set()
        await all_open.wait()
        for number in range(10):
            await part(send, b"data: %d\n\n" % number)
            await trio.sleep(0.05)
        await part(send, b"data: [DONE]\n\n", is_last=True)

    complete = 0

    async def read_one() -> None:
        nonlocal complete
        async with await served.connect() as client:
            await client.send(post())
            data = b""
            with trio.fail_after(60):
                while not data.endswith(b"\r\n0\r\n\r\n"):
                    more = await client.stream.receive_some(65_536)
                    assert more
                    data += more
        numbers = [int(line[6:]) for line in data.split(b"\n") if line[6:].isdigit()]
        complete += numbers == list(range(10)) and b"data: [DONE]" in data

    async with serving(handler) as served:
        async with trio.open_nursery() as nursery:
            for _ in range(STREAMS):
                nursery.start_soon(read_one)
        assert complete == STREAMS
        await until(lambda: served.server.open_connections == 0)
