"""How connections are kept, reused and let go."""

import httpx
import pytest
import trio

from anvil_trio.upstream.stream import Head, Request
from anvil_trio.upstream.transport import MemberTransport
from tests.wire.upstream.raw_server import (
    OK,
    Peer,
    answer,
    answering,
    collect,
    exchange,
    open_server,
    post,
)

pytestmark = pytest.mark.wire


async def test_a_request_is_written_as_built_and_its_reply_read_whole():
    """What the server gets is one plain HTTP/1.1 request with our own host and length."""
    seen = []

    async def serve(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.say(answer(b"hello", b"X-Thing: 1"))

    async with open_server(serve) as server:
        transport = server.transport()
        request = httpx.Request("POST", server.base_url + "/v1/x", headers={"accept": "a/b"})
        stream = await transport.send(request, b'{"a": 1}')
        head, body = await collect(stream)
        await stream.aclose()
    assert head == Head(200, ((b"x-thing", b"1"), (b"content-length", b"5")))
    assert body == b"hello"
    host = b"127.0.0.1:%d" % server.port
    assert seen == [
        b"POST /v1/x HTTP/1.1\r\nhost: " + host + b"\r\naccept: a/b\r\ncontent-length: 8\r\n\r\n"
        b'{"a": 1}'
    ]


async def test_one_connection_serves_one_request_after_another():
    """A connection whose reply was read whole is used again."""
    async with open_server(answering(OK)) as server:
        transport = server.transport()
        for _ in range(5):
            assert await exchange(transport, server.base_url) == b"ok"
        assert (len(server.peers), transport.idle) == (1, 1)
        await transport.aclose()
        assert transport.idle == 0


async def test_the_last_one_given_back_is_the_first_one_used():
    """Idle connections are taken last in first out, so that the surplus can grow old."""
    served: list[int] = []

    async def serve(peer: Peer) -> None:
        while await peer.request() is not None:
            served.append(peer.number)
            await peer.say(OK)

    async with open_server(serve) as server:
        transport = server.transport()
        streams = [await post(transport, server.base_url) for _ in range(3)]
        for stream in streams:
            await collect(stream)
        for number in (0, 2, 1):
            await streams[number].aclose()
        assert (len(server.peers), transport.idle) == (3, 3)
        assert await exchange(transport, server.base_url) == b"ok"
        assert (len(server.peers), served[-1]) == (3, 1)


async def test_a_connection_idle_for_too_long_is_closed_and_never_reused():
    """An engine's own idle limit must not be met, since no request is sent twice."""
    async with open_server(answering(OK)) as server:
        transport = server.transport(keepalive_s=0.05)
        await exchange(transport, server.base_url)
        assert transport.idle == 1
        await trio.sleep(0.06)
        await exchange(transport, server.base_url)
        assert len(server.peers) == 2
        with trio.fail_after(1):
            await server.peers[0].ended.wait()
        await trio.sleep(0.06)
        transport.close_expired()
        assert transport.idle == 0
        with trio.fail_after(1):
            await server.peers[1].ended.wait()


async def test_no_idle_time_means_no_reuse():
    """`keepalive_s` 0 gives each request a connection of its own."""
    async with open_server(answering(OK)) as server:
        transport = server.transport(keepalive_s=0)
        for _ in range(3):
            await exchange(transport, server.base_url)
        assert (len(server.peers), transport.idle) == (3, 0)


async def test_a_close_that_was_announced_is_honoured():
    """After `Connection: close`, as llama.cpp says it every 100 requests, nothing is reused."""
    closing = answer(b"bye", b"Connection: close")
    async with open_server(answering(OK, closing)) as server:
        transport = server.transport()
        bodies = [await exchange(transport, server.base_url) for _ in range(4)]
        assert bodies == [b"ok", b"bye", b"ok", b"bye"]
        assert len(server.peers) == 2


async def test_an_idle_connection_that_the_server_ended_is_dropped():
    """An end that came while idle costs no attempt."""

    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.say(OK)

    async with open_server(serve) as server:
        transport = server.transport()
        for number in range(3):
            assert await exchange(transport, server.base_url) == b"ok"
            with trio.fail_after(1):
                await server.peers[number].ended.wait()
        assert len(server.peers) == 3


@pytest.mark.parametrize("stray", [b"\r\n", b"HTTP/1.1 408 Request Timeout\r\n\r\n", OK])
async def test_an_idle_connection_that_spoke_unasked_is_dropped(stray):
    """Bytes that arrive while idle are never taken for the next reply."""
    spoke = trio.Event()

    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.say(OK)
        if peer.number == 0:
            await trio.sleep(0.02)
            await peer.say(stray)
            spoke.set()
        await peer.request()

    async with open_server(serve) as server:
        transport = server.transport()
        assert await exchange(transport, server.base_url) == b"ok"
        await spoke.wait()
        assert await exchange(transport, server.base_url) == b"ok"
        assert len(server.peers) == 2


@pytest.mark.parametrize("extra", [b"GARBAGE", OK])
async def test_bytes_behind_a_reply_end_its_connection(extra):
    """A reply with more behind it is good, but its connection is not kept."""
    async with open_server(answering(OK + extra)) as server:
        transport = server.transport()
        assert await exchange(transport, server.base_url) == b"ok"
        assert transport.idle == 0


async def test_a_reply_that_was_not_read_whole_ends_its_connection_at_once():
    """Leaving a stream early tells the engine to stop within the second."""

    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        await peer.request()

    async with open_server(serve) as server:
        transport = server.transport()
        stream = await post(transport, server.base_url)
        assert isinstance(await stream.receive(), Head)
        assert await stream.receive() == b"one"
        await stream.aclose()
        await stream.aclose()
        with trio.fail_after(1):
            await server.peers[0].ended.wait()
        assert transport.idle == 0


async def test_after_the_transport_is_closed_nothing_is_kept():
    """A stream that outlives its transport works, and closes its connection itself."""
    async with open_server(answering(OK)) as server:
        transport = server.transport()
        stream = await post(transport, server.base_url)
        await transport.aclose()
        assert (await collect(stream))[1] == b"ok"
        await stream.aclose()
        assert transport.idle == 0
        with trio.fail_after(1):
            await server.peers[0].ended.wait()


async def test_a_request_after_the_transport_is_closed_has_a_connection_of_its_own():
    """Whoever was given a member before its configuration retired is served, and keeps nothing."""
    async with open_server(answering(OK)) as server:
        transport = server.transport()
        await transport.aclose()
        stream = await post(transport, server.base_url)
        assert (await collect(stream))[1] == b"ok"
        await stream.aclose()
        await transport.aclose()
        assert transport.idle == 0
        with trio.fail_after(1):
            await server.peers[0].ended.wait()


async def test_a_request_for_another_member_is_a_bug():
    """A transport never sends anywhere but to its own member."""
    transport = MemberTransport("http://127.0.0.1:1", keepalive_s=4)
    with pytest.raises(AssertionError):
        await post(transport, "http://127.0.0.1:2")


async def test_under_an_async_client_it_serves_probes():
    """`handle_async_request` gives httpx a response whose body is read as it comes."""
    async with open_server(answering(OK)) as server:
        transport = server.transport()
        async with httpx.AsyncClient(transport=transport, base_url=server.base_url) as client:
            for _ in range(2):
                response = await client.get("/health")
                assert (response.status_code, response.content) == (200, b"ok")
            assert (await client.post("/health", content=b"{}")).content == b"ok"
        assert len(server.peers) == 1


async def test_an_impatient_server_costs_nobody_a_request():
    """HTTP-11: requests at just the gap after which the server closes idle connections all pass."""
    limit_s = 0.3

    async def serve(peer: Peer) -> None:
        while True:
            with trio.move_on_after(limit_s) as patience:
                if await peer.request() is None:
                    return
                await peer.say(OK)
            if patience.cancelled_caught:
                return

    async with open_server(serve) as server:
        transport = server.transport()
        async with trio.open_nursery() as nursery:

            async def ask(gap_s: float) -> None:
                for _ in range(15):
                    assert await exchange(transport, server.base_url) == b"ok"
                    await trio.sleep(gap_s)

            for late_s in (-0.004, -0.001, 0.0, 0.001):
                nursery.start_soon(ask, limit_s + late_s)


async def test_a_patient_server_is_trusted_once_it_was_seen_to_be():
    """A connection that was seen to last is used again after a pause it has borne."""
    async with open_server(answering(OK)) as server:
        transport = server.transport(keepalive_s=1)
        for pause_s in (0.0, 0.3, 0.3, 0.3, 0.2):
            await exchange(transport, server.base_url)
            await trio.sleep(pause_s)
        made = len(server.peers)
        await exchange(transport, server.base_url)
        assert len(server.peers) == made


async def test_a_request_that_an_idle_connection_takes_needs_no_waiting():
    """`send_now`: nothing without an idle connection; with one the request leaves at once."""
    async with open_server(answering(OK)) as server:
        transport = server.transport()
        url = httpx.URL(server.base_url + "/v1/x")
        request = Request(url, url.netloc, b"POST /v1/x HTTP/1.1\r\nhost: engine\r\nx: y\r\n")
        assert request.headers["x"] == "y"
        assert transport.send_now(request, b"{}") is None
        stream = None
        while stream is None:  # on a slow machine the connection has been idle for too long
            assert await exchange(transport, server.base_url) == b"ok"
            stream = transport.send_now(request, b"{}")
        assert stream.is_written
        assert stream.take() is None
        assert (await collect(stream))[1] == b"ok"
        await stream.aclose()
        assert transport.idle == 1


async def test_what_an_idle_connection_does_not_take_is_waited_for():
    """`write_rest`: the kernel has its share, and the server gets the rest as it reads on."""
    body = b"z" * 8_000_000
    async with open_server(answering(OK)) as server:
        transport = server.transport()
        url = httpx.URL(server.base_url + "/v1/x")
        request = Request(url, url.netloc, b"POST /v1/x HTTP/1.1\r\nhost: engine\r\n")
        stream = None
        while stream is None:  # on a slow machine the connection has been idle for too long
            assert await exchange(transport, server.base_url) == b"ok"
            stream = transport.send_now(request, body)
        states = [stream.is_written]  # nobody has read in this step
        await stream.write_rest()
        assert [*states, stream.is_written] == [False, True]
        assert (await collect(stream))[1] == b"ok"
        await stream.aclose()
