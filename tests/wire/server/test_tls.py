"""TLS, as clients of different ages and manners speak it."""

import ssl

import pytest
import trio
from cryptography.hazmat.primitives import serialization

from anvil_trio.net.tls import Tls, client_context, server_context
from tests.support.wire import post, serving
from tests.support.wire_apps import Receive, Scope, Send, echo, reply

pytestmark = pytest.mark.wire


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_both_versions_are_spoken(server_tls, client_tls, version):
    """`server_context`: TLS 1.2 and 1.3; bodies of a megabyte pass in both directions."""
    client_tls.minimum_version = client_tls.maximum_version = version
    body = bytes(range(256)) * 4096
    async with serving(echo, tls=server_tls) as served:
        async with await served.connect(tls=client_tls) as client, trio.open_nursery() as nursery:
            nursery.start_soon(client.send, post(body=body))
            assert (await client.read_reply()).endswith(body)


async def test_older_versions_are_refused(server_tls, client_tls):
    """`server_context`: nothing older than TLS 1.2 is agreed on."""
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        client_tls.minimum_version = ssl.TLSVersion.TLSv1_1
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        client_tls.maximum_version = ssl.TLSVersion.TLSv1_1
    async with serving(echo, tls=server_tls) as served:
        with pytest.raises(trio.BrokenResourceError):
            await served.connect(tls=client_tls)


async def test_the_end_of_a_reply_is_told_from_a_cut(server_tls, client_tls):
    """`Tls.farewell`: a connection that we end says so in TLS before it says so in TCP."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, b"bye", 200, (b"connection", b"close"))

    async with serving(handler, tls=server_tls) as served:
        stream = await trio.open_tcp_stream("127.0.0.1", served.port)
        strict = trio.SSLStream(stream, client_tls, server_hostname="localhost")
        async with strict:
            await strict.send_all(post())
            data = b""
            with trio.fail_after(10):
                while part := await strict.receive_some():  # a cut would raise
                    data += part
            assert data.endswith(b"bye")


async def test_a_request_in_the_same_packet_as_the_handshake_is_seen(server_tls, client_tls):
    """`Channel.handshake`: bytes that came with the last of the handshake are not left lying."""
    wire = Tls(client_tls, server_side=False, server_hostname="localhost")
    async with serving(echo, tls=server_tls) as served, await served.connect() as client:
        pending = b""

        async def hold(data: bytes) -> None:
            nonlocal pending
            if wire_has_begun:
                pending += data
            else:
                await client.send(data)

        wire_has_begun = False

        async def receive() -> bytes:
            nonlocal wire_has_begun
            wire_has_begun = True
            return await client.read_some()

        await wire.handshake(receive, hold)
        await client.send(pending + wire.encode(post(body=b"early")))
        data = b""
        while not data.endswith(b"early"):
            data += wire.decode(await client.read_some()) or b""


async def test_the_name_of_the_server_is_checked(server_tls, authority):
    """`client_context`: a certificate for another name is refused, and the server told why."""
    context = client_context()
    authority.configure_trust(context)
    wire = Tls(context, server_side=False, server_hostname="elsewhere.test")
    async with serving(echo, tls=server_tls) as served, await served.connect() as client:
        with pytest.raises(ssl.SSLCertVerificationError):
            await wire.handshake(client.read_some, client.send)
        assert await client.read_some() == b""


def test_files_that_do_not_belong_together_are_refused(pem_files, authority, tmp_path):
    """`server_context`: a foreign key or a missing file is an error."""
    chain, _ = pem_files
    foreign = tmp_path / "foreign.pem"
    authority.issue_cert("other.test").private_key_pem.write_to_path(foreign)
    with pytest.raises(ssl.SSLError):
        server_context(str(chain), str(foreign))
    with pytest.raises(OSError, match="No such file"):
        server_context(str(chain), str(tmp_path / "missing.pem"))


def test_a_locked_key_is_refused_and_never_asked_for(pem_files, tmp_path):
    """`server_context`: a key under a password is an error, not a question at the terminal."""
    chain, key = pem_files
    locked = tmp_path / "locked.pem"
    locked.write_bytes(
        serialization.load_pem_private_key(key.read_bytes(), None).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"password"),
        )
    )
    with pytest.raises(ssl.SSLError):
        server_context(str(chain), str(locked))
