"""One certificate authority for all."""

import ssl
from pathlib import Path

import pytest
import trustme

from anvil_trio.net.tls import server_context


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """Who signs."""
    return trustme.CA()


@pytest.fixture(scope="session")
def pem_files(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Certificate chain and key of `localhost`."""
    folder = tmp_path_factory.mktemp("pem")
    issued = authority.issue_cert("localhost", "127.0.0.1")
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    return chain, key


@pytest.fixture(scope="session")
def server_tls(pem_files: tuple[Path, Path]) -> ssl.SSLContext:
    """What the server shows."""
    return server_context(str(pem_files[0]), str(pem_files[1]))


@pytest.fixture
def client_tls(authority: trustme.CA) -> ssl.SSLContext:
    """A client that trusts the authority; it offers HTTP/1.1 unless a test says otherwise."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    context.set_alpn_protocols(["http/1.1"])
    return context
