"""A real router with a real collector: OTLP on the wire, and collectors that misbehave."""

import json
from pathlib import Path

import pytest
import trio

from tests.support.otlp import decode
from tests.support.running_router import (
    RunningRouter,
    eventually,
    open_engines,
    open_router,
    raw_client,
)
from tests.wire.upstream.raw_server import Peer, Serve, answer, open_server

pytestmark = pytest.mark.wire

TAKEN = answer(b'{"partialSuccess":{}}', b"content-type: application/json")
QUICK_S = 0.9  # a request that waited for an export would take a second


def setting(port: int) -> str:
    """The line of `[server]` that names a collector."""
    return f'trace_export_url = "http://127.0.0.1:{port}/v1/traces"\n'


async def chat(router: RunningRouter) -> float:
    """One unary request; how long it took."""
    began = trio.current_time()
    async with raw_client(router) as client:
        await client.send_chat(stream=False)
        assert b" 200 " in (await client.read_until(b"}]")).split(b"\r\n", 1)[0]
    return trio.current_time() - began


async def dropped(router: RunningRouter) -> int:
    """How many spans the router says it dropped, as its event lines tell."""
    lines = [json.loads(line) for line in bytes(router.stderr).splitlines() if line[:1] == b"{"]
    return max((line["dropped"] for line in lines if "dropped" in line), default=0)


async def test_a_collector_gets_each_request_as_otlp(tmp_path: Path) -> None:
    """The body decodes as OTLP, posted to the path of the URL; the last ones come with the stop."""
    bodies: list[bytes] = []
    heads: list[bytes] = []

    async def serve(peer: Peer) -> None:
        while (request := await peer.request()) is not None:
            head, _, body = request.partition(b"\r\n\r\n")
            heads.append(head)
            bodies.append(body)
            await peer.say(TAKEN)

    async with open_server(serve) as collector, open_engines("direct") as urls:
        async with open_router(tmp_path, urls, settings=setting(collector.port)) as router:
            for _ in range(3):
                await chat(router)
        spans = [span for body in bodies for span in decode(body)]
        records = router.records()
    assert len(spans) == len(records) == 3
    seen = [one.attributes["anvil.router.gateway_request_id"] for one in spans]
    assert sorted(map(str, seen)) == sorted(str(one["gateway_request_id"]) for one in records)
    for one in spans:
        assert (len(one.span.trace_id), len(one.span.span_id)) == (16, 8)
        assert one.span.start_time_unix_nano <= one.span.end_time_unix_nano
        assert one.attributes["gen_ai.request.model"] == "chat"
        assert type(one.attributes["gen_ai.usage.output_tokens"]) is int
    assert all(head.startswith(b"POST /v1/traces HTTP/1.1\r\n") for head in heads)
    assert all(b"authorization" not in head.lower() for head in heads)


async def hangs(peer: Peer) -> None:
    """Takes the body and never answers."""
    await peer.request()
    await trio.sleep_forever()


async def trickles(peer: Peer) -> None:
    """Answers a byte at a time, for ever."""
    await peer.request()
    await peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
    while True:
        await peer.say(b" ")
        await trio.sleep(0.1)


async def redirects(peer: Peer) -> None:
    """Sends everybody elsewhere."""
    port = peer.socket.socket.getsockname()[1]
    while (request := await peer.request()) is not None:
        assert request.startswith(b"POST /v1/traces "), "a redirect was followed"
        where = b"location: http://127.0.0.1:%d/elsewhere" % port
        await peer.say(answer(b"", where, status=b"307 Temporary Redirect"))


async def closes(peer: Peer) -> None:
    """Ends the connection as soon as something was said."""
    await peer.hear()


@pytest.mark.parametrize("serve", [hangs, trickles, redirects, closes])
async def test_a_bad_collector_delays_no_request(serve: Serve, tmp_path: Path) -> None:
    """While it hangs, trickles, redirects or hangs up, requests are as quick as ever."""
    async with open_server(serve) as collector, open_engines("direct") as urls:
        async with open_router(tmp_path, urls, settings=setting(collector.port)) as router:
            assert max([await chat(router) for _ in range(10)]) < QUICK_S

            async def is_said() -> bool:
                return await dropped(router) > 0

            await eventually(is_said)
    assert collector.peers


async def test_a_collector_that_is_not_there_delays_no_request(tmp_path: Path) -> None:
    """A refused connection costs spans only."""
    with trio.socket.socket() as free:
        await free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        async with (
            open_engines("direct") as urls,
            open_router(tmp_path, urls, settings=setting(port)) as router,
        ):
            assert max([await chat(router) for _ in range(5)]) < QUICK_S

            async def is_said() -> bool:
                return await dropped(router) > 0

            await eventually(is_said)
