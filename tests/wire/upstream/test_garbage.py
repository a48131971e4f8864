"""What a connection to an engine that is over leaves behind: nothing that must be searched for."""

from contextlib import suppress

import httpx
import pytest
from trio.testing import wait_all_tasks_blocked

from anvil_trio.net.arrivals import open_arrivals
from anvil_trio.upstream.stream import End
from tests.support.garbage import counted_garbage
from tests.wire.upstream.raw_server import Peer, open_server, post

pytestmark = pytest.mark.wire

CONNECTIONS = 20
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.mark.parametrize("said", [OK, OK[:-1], b"\0"])
async def test_a_connection_that_is_over_is_freed_at_once(said):
    """A whole reply, half of one, or none."""

    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.say(said)

    async with open_arrivals() as arrivals, open_server(serve) as server:
        transport = server.transport(keepalive_s=0, arrivals=arrivals)

        async def ask_once() -> None:
            stream = await post(transport, server.base_url)
            with suppress(httpx.HTTPError):
                while not isinstance(await stream.receive(), End):
                    pass
            await stream.aclose()

        await ask_once()  # and make what is kept
        with counted_garbage() as garbage:
            for _ in range(CONNECTIONS):
                await ask_once()
            await wait_all_tasks_blocked(0.05)
        assert not garbage.keys() & {"Connection", "ReplyParser", "Listener"}, garbage
