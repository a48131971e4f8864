"""Certificates for servers on loopback."""

import ssl

import pytest
import trustme


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
