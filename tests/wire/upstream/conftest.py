"""Certificates for servers on loopback, and sockets that are listened to."""

import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import pytest
import trustme

from anvil_trio.net.arrivals import Arrivals, open_arrivals
from tests.wire.upstream.ears import Pair


@pytest.fixture(scope="package")
def authority() -> trustme.CA:
    """Who signs the test servers' certificates."""
    return trustme.CA()


@pytest.fixture
def server_tls(authority) -> ssl.SSLContext:
    """The server's side, for the loopback address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def client_tls(authority) -> ssl.SSLContext:
    """The client's side, which trusts the test authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture
async def arrivals() -> AsyncIterator[Arrivals]:
    """One at work."""
    async with open_arrivals() as opened:
        assert opened is not None
        yield opened


@pytest.fixture
def pair() -> Iterator[Callable[[], Pair]]:
    """Makes two ends of a connection; the first does not block."""
    with ExitStack() as stack:

        def make() -> Pair:
            ours, theirs = socket.socketpair()
            stack.enter_context(ours)
            stack.enter_context(theirs)
            ours.setblocking(False)
            return ours, theirs

        yield make
