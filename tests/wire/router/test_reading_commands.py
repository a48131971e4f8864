"""`router status`, `diagnose` and `top` against real routers, and against what is none."""

import json
import os
import pty
import select
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import httpx
import pytest
import trio

from anvil_trio.cli.feed_client import follow_feed
from anvil_trio.cli.reach import Reach
from tests.support.running_router import TOKEN, RunningRouter, open_engines, open_router
from tests.support.wire import until
from tests.unit.cli.pages import GATEWAY_ID, STATUS, active_page, request_page
from tests.wire.demo.commands import ran

pytestmark = pytest.mark.wire
BODY = {"model": "chat", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}


def environ_of(router: RunningRouter, **more: str) -> dict[str, str]:
    """What a command needs to find the router."""
    return {"ANVIL_ROUTER_URL": router.base_url, "ANVIL_ROUTER_TOKEN": TOKEN, **more}


async def told(router: RunningRouter, *words: str, **environ: str) -> tuple[int, str, str]:
    """The status of one command, and what it wrote."""
    variables = environ_of(router, **environ)
    done = await trio.to_thread.run_sync(lambda: ran("router", *words, **variables))
    return done.returncode, done.stdout, done.stderr


async def chat(router: RunningRouter) -> None:
    """One short request."""
    async with httpx.AsyncClient(base_url=router.base_url, trust_env=False, timeout=30) as client:
        headers = {"authorization": f"Bearer {TOKEN}"}
        reply = await client.post("/v1/chat/completions", json=BODY, headers=headers)
        assert reply.status_code == 200


async def test_the_status_and_one_snapshot(tmp_path):
    """From a real router, as JSON and as a table; a wrong token is status 4."""
    async with open_engines() as urls, open_router(tmp_path, urls) as router:
        code, out, err = await told(router, "status", "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["data"]["tiers"] == [
            {"id": "chat", "state": "admitting", "active_requests": 0, "waiting_requests": 0}
        ]
        code, out, err = await told(router, "top", "--once")
        assert (code, err) == (0, "")
        assert out.count(" yes ") == 3
        code, out, err = await told(router, "top", ANVIL_ROUTER_TOKEN="canary")
        assert (code, out, err.split(":")[0]) == (4, "", "router_access_denied")
        assert "canary" not in err


async def test_a_router_that_is_away(tmp_path):
    """Status 4 from each of them, without a word of where it was looked for."""
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        for words in (["status"], ["top"], ["diagnose", "--active"]):
            code, out, err = await told(router, *words, ANVIL_ROUTER_URL="http://127.0.0.1:9")
            assert (code, out, err.split(":")[0]) == (4, "", "router_unreachable")
            assert "127" not in err


async def _serve(pages: dict[str, Any], asked: list[str], stream: trio.SocketStream) -> None:
    async with stream:
        head = (await stream.receive_some(65_536)).decode()
        line, _, rest = head.partition("\r\n")
        path = line.split()[1]
        asked.append(f"{line.split()[0]} {path}")
        assert "authorization: bearer token" in rest.lower()
        status, page = (
            (200, pages[path]) if path in pages else (404, {"error": {"code": "not_found"}})
        )
        body = json.dumps(page).encode()
        await stream.send_all(
            b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n" % (status, len(body)) + body
        )


async def test_a_diagnosis_reads_two_pages_and_changes_nothing(tmp_path):
    """Two GETs for a request, one for what runs; an id that is not there is status 1."""
    pages = {
        f"/v1/requests/{GATEWAY_ID}": request_page(),
        "/v1/requests?active=1&limit=200": active_page(),
        "/v1/router/status": STATUS,
    }
    asked: list[str] = []
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    environ = {
        "ANVIL_ROUTER_URL": f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}",
        "ANVIL_ROUTER_TOKEN": "token",
    }

    async def diagnosed(*words: str) -> tuple[int, dict[str, Any]]:
        done = await trio.to_thread.run_sync(
            lambda: ran("router", "diagnose", *words, "--json", **environ)
        )
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, partial(_serve, pages, asked), listeners)
        code, envelope = await diagnosed("--request-id", GATEWAY_ID)
        assert (code, envelope["data"]["schema"]) == (0, "anvil-router-diagnosis/v1")
        code, envelope = await diagnosed("--active")
        assert (code, envelope["data"]["requests"]) == (0, [])
        code, envelope = await diagnosed("--request-id", "other")
        assert (code, envelope["error"]["code"]) == (1, "request_not_found")
        nursery.cancel_scope.cancel()
    assert asked == [
        f"GET /v1/requests/{GATEWAY_ID}",
        "GET /v1/router/status",
        "GET /v1/requests?active=1&limit=200",
        "GET /v1/requests/other",
    ]


class Terminal:
    """`router top` on a terminal of its own."""

    def __init__(self, router: RunningRouter) -> None:
        self.fd, inner = pty.openpty()
        termios.tcsetwinsize(self.fd, (40, 120))
        environ = {**os.environ, **environ_of(router), "TERM": "xterm", "NO_COLOR": "1"}
        command = [sys.executable, "-m", "anvil_trio", "router", "top", "--interval", "0.2"]
        self.process = Popen(command, stdin=DEVNULL, stdout=inner, stderr=PIPE, env=environ)
        os.close(inner)
        self.seen = ""

    def read(self) -> str:
        """All that was drawn so far."""
        while select.select([self.fd], [], [], 0)[0]:
            try:
                data = os.read(self.fd, 65_536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            self.seen += data.decode(errors="replace")
        return self.seen

    async def shows(self, words: str) -> None:
        """Wait until it does; what was drawn before counts no more."""
        self.seen = ""
        await until(lambda: words in self.read(), within_s=20)


@contextmanager
def on_a_terminal(router: RunningRouter) -> Iterator[Terminal]:
    """Killed and closed with the block."""
    terminal = Terminal(router)
    try:
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.communicate()
        os.close(terminal.fd)


async def test_top_on_a_terminal_outlives_the_router(tmp_path):
    """Tiers, an outcome as it happens, a restart on the same port, and a clean Ctrl-C."""
    async with open_engines() as urls:
        async with open_router(tmp_path, urls) as router:
            with on_a_terminal(router) as terminal:
                await terminal.shows("feed: live")
                await chat(router)
                await terminal.shows("success")
                router.process.send_signal(signal.SIGTERM)
                await router.process.wait()
                await terminal.shows("router_unreachable, trying again")
                async with open_router(tmp_path, urls, port=router.port) as again:
                    await terminal.shows("feed: live")
                    await chat(again)
                    terminal.process.send_signal(signal.SIGINT)
                    with trio.fail_after(10):
                        await trio.to_thread.run_sync(terminal.process.wait)
                assert terminal.process.returncode == 0
                assert terminal.read().rstrip().endswith("\x1b[?25h\x1b[?1049l")
                assert terminal.process.stderr is not None
                assert terminal.process.stderr.read() == b""


async def followed(
    url: str, *, token: str = TOKEN, timeout_s: float = 5.0
) -> tuple[bool, list[Any]]:
    """What following a feed comes to, and all that was heard; five seconds are enough."""
    heard: list[Any] = []
    is_worth_it: list[bool] = []
    with trio.move_on_after(5):
        reach = Reach(url, token, timeout_s)
        is_worth_it.append(await follow_feed(reach, partial(heard.append, "open"), heard.append))
    return is_worth_it == [True], heard


async def test_a_feed_is_followed_to_its_end(tmp_path):
    """It opens, tells, and ends with the router; then a new try is worth it."""
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        async with trio.open_nursery() as nursery:
            ends: list[tuple[bool, list[Any]]] = []

            async def follow() -> None:
                ends.append(await followed(router.base_url))

            nursery.start_soon(follow)
            await trio.sleep(0.5)
            await chat(router)
            router.process.send_signal(signal.SIGTERM)
        [(is_worth_it, [opened, request])] = ends
        assert (is_worth_it, opened, request["type"]) == (True, "open", "request")
        assert await followed(router.base_url) == (True, [])


async def test_a_feed_that_is_refused_is_not_asked_for_again_at_once(tmp_path):
    """A token that is not taken, and a router that has no feed."""
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        assert await followed(router.base_url, token="other") == (False, [])
    assert await _followed_there(b"HTTP/1.1 404 No\r\ncontent-length: 2\r\n\r\n{}") == (False, [])


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 503 Busy\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 101 Go\r\nupgrade: websocket\r\nsec-websocket-accept: wrong\r\n\r\n",
    ],
)
async def test_what_is_no_feed_ends_without_an_exception(reply):
    """Nothing is heard of it, and it takes no longer than an answer may."""
    began = trio.current_time()
    _, heard = await _followed_there(reply)
    assert heard == []
    assert trio.current_time() - began < 4


async def _followed_there(reply: bytes) -> tuple[bool, list[Any]]:
    """What following comes to where every connection is answered with these bytes, then silence."""

    async def answer(stream: trio.SocketStream) -> None:
        await stream.receive_some(65_536)
        await stream.send_all(reply)
        await trio.sleep_forever()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, answer, listeners)
        port = listeners[0].socket.getsockname()[1]
        found = await followed(f"http://127.0.0.1:{port}", timeout_s=1.0)
        nursery.cancel_scope.cancel()
    return found
