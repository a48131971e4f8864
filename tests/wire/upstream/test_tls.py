"""The same transport to https endpoints."""

import ssl

import httpx
import pytest
import trio

from anvil_trio.net.tls import Tls
from anvil_trio.upstream.stream import Head
from tests.wire.upstream.raw_server import (
    OK,
    Peer,
    answer,
    answering,
    collect,
    exchange,
    open_server,
    post,
    sockets,
)

pytestmark = pytest.mark.wire

MIB = 1 << 20


async def test_requests_go_over_tls_and_its_connections_are_reused(server_tls, client_tls):
    """An https member is spoken to in TLS, handshaken once."""
    async with open_server(answering(OK), tls=server_tls) as server:
        transport = server.transport(tls=client_tls)
        for _ in range(3):
            assert await exchange(transport, server.base_url) == b"ok"
        assert (len(server.peers), transport.idle) == (1, 1)


async def test_a_mebibyte_goes_both_ways_in_tls(server_tls, client_tls):
    """Large bodies arrive whole through TLS records."""
    back = bytes(range(256)) * (MIB // 256)
    seen = []

    async def serve(peer: Peer) -> None:
        while (request := await peer.request()) is not None:
            seen.append(request.partition(b"\r\n\r\n")[2])
            await peer.say(answer(back))

    async with open_server(serve, tls=server_tls) as server:
        transport = server.transport(tls=client_tls)
        assert await exchange(transport, server.base_url, back[::-1]) == back
    assert seen == [back[::-1]]


async def test_a_certificate_of_an_unknown_authority_is_refused(server_tls):
    """A member that the system does not trust is a connect error, and nothing stays open."""
    async with open_server(answering(OK), tls=server_tls) as server:
        transport = server.transport()
        before = sockets(besides=server.port)
        with pytest.raises(httpx.ConnectError) as caught:
            await post(transport, server.base_url)
        assert "certificate" not in str(caught.value)
        assert sockets(besides=server.port) == before


async def test_a_certificate_for_another_name_is_refused(authority, client_tls):
    """The certificate has to name the host that the URL names."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("engine.test").configure_cert(context)
    async with open_server(answering(OK), tls=context) as server:
        with pytest.raises(httpx.ConnectError):
            await post(server.transport(tls=client_tls), server.base_url)


async def test_a_server_that_speaks_no_tls_is_a_connect_error(client_tls):
    """Plain HTTP where TLS is expected fails before anything is dispatched."""
    asked = []

    async def serve(peer: Peer) -> None:
        await peer.hear()
        asked.append(bytes(peer.heard))
        await peer.say(OK)

    async with open_server(serve) as server:
        server.base_url = server.base_url.replace("http:", "https:")
        with pytest.raises(httpx.ConnectError):
            await post(server.transport(tls=client_tls), server.base_url)
    assert b"POST" not in asked[0]


async def test_leaving_early_says_goodbye_and_ends_the_connection(server_tls, client_tls):
    """An engine behind TLS sees the end of an abandoned stream within the second."""

    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
        await peer.hear()

    async with open_server(serve, tls=server_tls) as server:
        transport = server.transport(tls=client_tls)
        stream = await post(transport, server.base_url)
        assert isinstance(await stream.receive(), Head)
        await stream.aclose()
        with trio.fail_after(1):
            await server.peers[0].ended.wait()


@pytest.mark.parametrize("is_polite", [True, False])
async def test_a_body_without_a_length_needs_tls_to_say_its_end(server_tls, client_tls, is_polite):
    """A connection that ends without TLS's goodbye may have been cut, so its body is not whole."""

    async def serve(peer: Peer) -> None:
        await peer.request()
        await peer.say(b"HTTP/1.1 200 OK\r\n\r\nbody")
        if is_polite:
            with trio.move_on_after(1):
                await peer.stream.aclose()

    async with open_server(serve, tls=server_tls) as server:
        transport = server.transport(tls=client_tls)
        stream = await post(transport, server.base_url)
        if is_polite:
            assert (await collect(stream))[1] == b"body"
        else:
            with pytest.raises(httpx.ReadError):
                await collect(stream)
        await stream.aclose()


async def test_a_goodbye_that_came_with_the_reply_forbids_reuse(server_tls, client_tls):
    """A server that says TLS's goodbye right behind a reply is asked on a new connection."""

    async def serve(peer: Peer) -> None:
        wire = Tls(server_tls, server_side=True)
        await wire.handshake(peer.socket.receive_some, peer.socket.send_all)
        asked = wire.decode(b"") or b""
        while b"\r\n\r\n" not in asked:
            asked += wire.decode(bytes(await peer.socket.receive_some())) or b""
        await peer.say(wire.encode(OK) + wire.farewell())
        await trio.sleep_forever()

    async with open_server(serve) as server:
        server.base_url = server.base_url.replace("http:", "https:")
        transport = server.transport(tls=client_tls)
        for _ in range(2):
            assert await exchange(transport, server.base_url) == b"ok"
        assert len(server.peers) == 2
