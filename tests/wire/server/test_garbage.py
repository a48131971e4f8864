"""What connections and requests that are over leave behind: nothing that must be searched for."""

import pytest
from trio.testing import wait_all_tasks_blocked

from tests.support.garbage import Garbage, counted_garbage
from tests.support.replies import Recorder, read_replies
from tests.support.wire import RawClient, post, serving

pytestmark = pytest.mark.wire

CONNECTIONS = 20


async def leave(client: RawClient) -> None:
    """As most clients do."""
    client.socket.close()


async def reset(client: RawClient) -> None:
    """As one that crashed."""
    client.reset()


async def stop_in_the_middle(client: RawClient) -> None:
    """With half a request said."""
    await client.send(post()[:20])
    client.socket.close()


async def talk_nonsense(client: RawClient) -> None:
    """To be refused."""
    await client.send(b"\0\r\n\r\n")
    await client.read_to_end()


@pytest.mark.parametrize("end", [leave, reset, stop_in_the_middle, talk_nonsense])
async def test_a_connection_that_is_over_is_freed_at_once(end):
    """Many that end together cost nobody else a long collection."""
    async with serving(Recorder()) as served:

        async def serve_many() -> Garbage:
            with counted_garbage() as garbage:
                for _ in range(CONNECTIONS):
                    async with await served.connect() as client:
                        await client.send(post())
                        await read_replies(client, 1)
                        await end(client)
                await wait_all_tasks_blocked(0.05)
            return garbage

        await serve_many()  # and make what is kept
        garbage = await serve_many()
        assert garbage.total() < CONNECTIONS, garbage
