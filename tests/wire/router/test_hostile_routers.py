"""What a command makes of a server that is no router, or a router that does not answer as one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio

from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.router_client import MAX_REPLY_BYTES, Question, ask_router
from anvil_trio.cli.router_orders import HttpOrders
from anvil_trio.lifecycle.faults import LifecycleFailed

pytestmark = pytest.mark.wire

Behave = Callable[[trio.SocketStream], Awaitable[None]]
ENVIRON = {"ANVIL_ROUTER_TOKEN": "token", "ANVIL_SERVING_NO_HOME_ENV": "1"}
SOON_S = 0.5


def reply(body: bytes, *, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    """One answer, whole."""
    head = b"HTTP/1.1 %b\r\n%bcontent-length: %d\r\n\r\n"
    return head % (status, more, len(body)) + body


ANSWERS = {
    "a redirect": (
        reply(b"", status=b"302 Found", more=b"location: http://127.0.0.1:9/\r\n"),
        "router_http_error",
    ),
    "too much": (reply(b" " * (MAX_REPLY_BYTES + 1)), "router_response_oversized"),
    "very deep": (reply(b'{"a":' + b"[" * 100_000), "router_response_invalid"),
    "a name twice": (reply(b'{"a":1,"a":2}'), "router_response_invalid"),
    "a number without end": (reply(b'{"a":' + b"9" * 5000 + b"}"), "router_response_invalid"),
    "no number": (reply(b'{"a":NaN}'), "router_response_invalid"),
    "half a character": (reply(b'{"a":"\\ud800"}'), "router_response_invalid"),
    "an array": (reply(b"[]"), "router_response_invalid"),
    "nothing": (reply(b""), "router_response_invalid"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", "router_http_error"),
    "words of another": (
        reply(b'{"error":{"code":"kanarie","message":"kanarie"}}', status=b"500 kanarie"),
        "router_http_error",
    ),
    "the wrong token": (reply(b"{}", status=b"401 Unauthorized"), "router_access_denied"),
    "coded garbage": (
        reply(b"\x1f\x8b\x08\x00\x00", more=b"content-encoding: gzip\r\n"),
        "router_response_invalid",
    ),
    "half an answer": (reply(b" " * 100)[:-50], "router_unreachable"),
    "another protocol": (b"SSH-2.0-kanarie\r\n", "router_unreachable"),
    "frames of HTTP/2": (b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", "router_unreachable"),
    "TLS": (bytes.fromhex("15030100020228"), "router_unreachable"),
    "a socket": (
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        "router_unreachable",
    ),
    "nothing at all": (b"", "router_unreachable"),
}


@asynccontextmanager
async def server(behave: Behave) -> AsyncIterator[str]:
    """Somebody who listens; its URL."""

    async def meet(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some(65_536)
            try:
                await behave(stream)
            except trio.BrokenResourceError:
                return  # whoever asked has heard enough

    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, meet, 0, host="127.0.0.1"))
        yield f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def code_of(url: str, timeout_s: float = 5.0) -> str:
    """Why one question was not answered, and how that is said."""
    question = Question(url, "kanarie-token", "/v1/router/status", {}, None, timeout_s)
    with trio.fail_after(timeout_s + 5), pytest.raises(CommandFailed) as caught:
        await ask_router(question)
    assert "kanarie" not in caught.value.failure.message
    return caught.value.failure.code


@pytest.mark.parametrize("what", ANSWERS)
async def test_what_is_no_answer_has_a_fixed_code(what):
    """R012: whatever is at the other end, its words are not ours, and nothing is asked again."""
    data, code = ANSWERS[what]
    met = []

    async def behave(stream: trio.SocketStream) -> None:
        met.append(what)
        await stream.send_all(data)

    async with server(behave) as url:
        assert await code_of(url) == code
    assert met == [what]


@pytest.mark.parametrize("said", [b"", reply(b" " * 100)[:-50], b"HTTP/1.1 100 Continue\r\n\r\n"])
async def test_an_answer_that_does_not_come_is_not_waited_for(said):
    """Nothing, half of it, or only promises: the patience of the command bounds it."""

    async def behave(stream: trio.SocketStream) -> None:
        await stream.send_all(said)
        await trio.sleep_forever()

    async with server(behave) as url:
        start = trio.current_time()
        assert await code_of(url, SOON_S) == "router_unreachable"
        assert trio.current_time() - start < SOON_S + 2


async def test_an_answer_without_an_end_is_bounded():
    """No more of it is read than an answer may have."""

    async def behave(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            await stream.send_all(b"1000\r\n" + b"a" * 4096 + b"\r\n")

    async with server(behave) as url:
        assert await code_of(url) == "router_response_oversized"


@pytest.mark.parametrize("digest", ['"kanarie"', '""', "null", "1", f'"{"A" * 64}"'])
async def test_a_digest_that_is_none_is_no_answer(digest):
    """A switch compares it with that of the router's file, and shows it."""

    async def behave(stream: trio.SocketStream) -> None:
        await stream.send_all(reply(b'{"installed_config_sha256":%b}' % digest.encode()))

    async with server(behave) as url:
        with pytest.raises(LifecycleFailed, match=r"^router_response_invalid$"):
            await HttpOrders(url, ENVIRON).installed()


async def test_a_router_that_answers_for_another_tier_has_done_nothing():
    """It may say that it has drained: what was asked about is not what it says it of."""
    row = (
        b'{"tier_id":"other","state":"quiesced","reason":null,"active_requests":0,"draining":false}'
    )
    data = reply(b'{"result":{"drained":true,"snapshot":%b}}' % row)

    async def behave(stream: trio.SocketStream) -> None:
        await stream.send_all(data)

    async with server(behave) as url:
        with pytest.raises(LifecycleFailed, match=r"^router_response_invalid$"):
            await HttpOrders(url, ENVIRON).drain("chat", 1)
