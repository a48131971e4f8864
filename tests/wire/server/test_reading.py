"""How connections are read: in one task for all of them, or each by its own."""

import os
import re
import select
import socket
from collections import Counter

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.support.replies import Recorder, read_replies, statuses
from tests.support.wire import RawClient, post, serving
from tests.support.wire_apps import Receive, Scope, Send, client_of, read_body, reply

pytestmark = pytest.mark.wire

LARGE = b"x" * 8_000_000


@pytest.fixture(params=["told", "alone"])
async def way(request, monkeypatch):
    """Each of them: a system without epoll has no task for all."""
    if request.param == "alone":
        monkeypatch.delattr(select, "epoll")
    return request.param


class Steps(trio.abc.Instrument):
    """How often the tasks of each function were woken."""

    def __init__(self) -> None:
        self.of: Counter[str] = Counter()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.of[task.name.rpartition(".")[2]] += 1


async def test_a_plain_request_wakes_no_task_of_its_connection():
    """One for all hears it, and the application's task serves it."""
    async with serving(Recorder()) as served, await served.connect() as client:
        await client.send(post())
        await read_replies(client, 1)
        await wait_all_tasks_blocked()
        steps = Steps()
        trio.lowlevel.add_instrument(steps)
        for _ in range(20):
            await client.send(post())
            assert statuses(await read_replies(client, 1)) == [200]
        await wait_all_tasks_blocked()
        trio.lowlevel.remove_instrument(steps)
        assert steps.of["_serve"] == 0
        assert steps.of["application"] == 20
        assert steps.of["run"] >= 20


async def test_requests_are_answered_one_after_another(way):
    """In pieces, whole, and many at once; the connection serves all of them."""
    app = Recorder()
    pieces = [post(body=b"%d" % number) for number in range(12)]
    async with serving(app) as served, await served.connect() as client:
        for piece in pieces[:2]:
            await client.send(piece)
            assert statuses(await read_replies(client, 1)) == [200]
        await client.send(pieces[2][:30])
        await wait_all_tasks_blocked(0.001)
        await client.send(pieces[2][30:])
        assert statuses(await read_replies(client, 1)) == [200]
        await client.send(b"".join(pieces[3:]))
        assert statuses(await read_replies(client, 9)) == [200] * 9
    assert app.bodies == [b"%d" % number for number in range(12)]


async def test_a_body_is_read_no_faster_than_it_is_wanted(way):
    """A client waits with the rest while the application has enough to read."""
    go_on, sent, seen = trio.Event(), trio.Event(), [0]

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await go_on.wait()
        seen[0] = len(await read_body(receive))
        await reply(send)

    async with serving(handler) as served:
        served.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client = await served.connect()

        async def upload() -> None:
            await client.send(post(body=LARGE))
            sent.set()

        async with client, trio.open_nursery() as nursery:
            nursery.start_soon(upload)
            await wait_all_tasks_blocked(0.05)
            assert not sent.is_set()
            go_on.set()
            assert statuses(await read_replies(client, 1)) == [200]
        assert seen == [len(LARGE)]


@pytest.mark.parametrize("is_reset", [False, True])
async def test_a_client_that_leaves_is_missed_at_once(way, is_reset):
    """While its request is being answered, and however it leaves."""
    gone = trio.Event()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        client_of(scope).on_gone = gone.set
        await read_body(receive)
        await trio.sleep_forever()

    async with serving(handler) as served:
        async with await served.connect() as client:
            await client.send(post())
            await wait_all_tasks_blocked(0.01)
            assert not gone.is_set()
            if is_reset:
                client.reset()
        with trio.fail_after(5):
            await gone.wait()


async def test_what_comes_while_the_next_request_is_about_to_begin_waits_its_turn(way):
    """Whichever task the scheduler runs first; its order is random, so it is asked often."""
    paths = [b"/1", b"/2", b"/3", b"/4"]
    clients: list[RawClient] = []

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(receive)
        if scope["path"] == "/1":
            os.write(clients[-1].socket.fileno(), post(paths[3]))  # in the step of the reply's end
        else:
            await trio.lowlevel.checkpoint()
        await reply(send, str(scope["path"]).encode())

    async with serving(handler) as served:
        for _ in range(20):
            async with await served.connect() as client:
                clients.append(client)
                await client.send(b"".join(map(post, paths[:3])))
                replies = await read_replies(client, 4)
            assert re.findall(rb"\r\n\r\n(/\d)", replies) == paths
