"""How a member is reached, and what it costs when it is not."""

import socket
from collections.abc import Iterator

import httpx
import pytest
import trio

from anvil_trio.upstream.connection import Endpoint
from anvil_trio.upstream.transport import MemberTransport
from tests.wire.upstream.raw_server import OK, answering, exchange, open_server, post, sockets

pytestmark = pytest.mark.wire


@pytest.fixture
def refused_port() -> Iterator[int]:
    """A port of loopback where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


class Names(trio.abc.HostnameResolver):
    """Knows one name, by these addresses."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    async def getaddrinfo(self, host, port, family=0, type=0, proto=0, flags=0):  # noqa: A002
        if host != b"engine.test":
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [
            (
                socket.AF_INET6 if ":" in address else socket.AF_INET,
                socket.SOCK_STREAM,
                socket.IPPROTO_TCP,
                "",
                (address, port),
            )
            for address in self.addresses
        ]

    async def getnameinfo(self, sockaddr, flags):
        raise AssertionError("nobody asks for a name")


async def test_a_refusal_is_a_connect_error_without_the_address(refused_port):
    """R012: nobody listening is a connect error that does not say where."""
    transport = MemberTransport(f"http://127.0.0.1:{refused_port}", keepalive_s=4)
    before = sockets()
    with pytest.raises(httpx.ConnectError) as caught:
        await post(transport, f"http://127.0.0.1:{refused_port}")
    assert str(refused_port) not in str(caught.value)
    assert caught.value.__suppress_context__
    assert sockets() == before


async def test_an_ipv6_address_is_reached_directly():
    """A literal address in brackets is connected to as it is."""
    listener = trio.socket.socket(socket.AF_INET6)
    try:
        await listener.bind(("::1", 0))
    except OSError:
        listener.close()
        pytest.skip("this machine has no IPv6 loopback")
    listener.listen()
    port = listener.getsockname()[1]
    connection = await Endpoint("::1", port).connect()
    assert connection.is_quiet()
    connection.close()
    listener.close()


async def test_a_name_is_tried_address_by_address():
    """The second address of a name serves where the first one refuses."""
    async with open_server(answering(OK)) as server:
        trio.socket.set_custom_hostname_resolver(Names("127.0.0.2", "127.0.0.1"))
        base_url = f"http://engine.test:{server.port}"
        transport = MemberTransport(base_url, keepalive_s=4)
        before = sockets(besides=server.port)
        assert await exchange(transport, base_url) == b"ok"
        assert len(sockets(besides=server.port) - before) == 1
        await transport.aclose()


@pytest.mark.parametrize("addresses", [(), ("127.0.0.2", "127.0.0.3")])
async def test_a_name_that_leads_nowhere_is_a_connect_error(addresses, refused_port):
    """No address, or none that answers, is one connect error."""
    trio.socket.set_custom_hostname_resolver(Names(*addresses))
    base_url = f"http://engine.test:{refused_port}"
    with pytest.raises(httpx.ConnectError):
        await post(MemberTransport(base_url, keepalive_s=4), base_url)


async def test_an_unknown_name_is_a_connect_error():
    """A name that cannot be looked up is a failed attempt and no bug."""
    trio.socket.set_custom_hostname_resolver(Names())
    base_url = "http://nowhere.test:1"
    with pytest.raises(httpx.ConnectError):
        await post(MemberTransport(base_url, keepalive_s=4), base_url)
