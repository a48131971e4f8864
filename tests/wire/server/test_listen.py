"""Listening sockets and the limits of the process."""

import resource
import socket
import sys

import pytest
import trio

from anvil_trio.server.accept import Server
from anvil_trio.server.listen import listen, raise_fd_limit
from anvil_trio.server.options import ServerOptions
from tests.support.wire import RawClient, post, until
from tests.support.wire_apps import Receive, Scope, Send, asgi, reply

pytestmark = pytest.mark.wire


@pytest.mark.skipif(sys.platform != "linux", reason="these options are Linux's")
async def test_accepted_sockets_inherit_the_options():
    """`listen`: no delay, keep-alive, little kept unsent, a user timeout: each client has them."""
    with listen("127.0.0.1", 0, user_timeout_s=1.5) as listener:
        async with await RawClient.connect(listener.getsockname()[1]):
            await trio.lowlevel.wait_readable(listener)
            accepted, _ = listener.accept()
            with accepted:
                tcp = socket.IPPROTO_TCP
                assert accepted.getsockopt(tcp, socket.TCP_NODELAY) != 0
                assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0
                assert accepted.getsockopt(tcp, socket.TCP_USER_TIMEOUT) == 1500
                assert accepted.getsockopt(tcp, socket.TCP_NOTSENT_LOWAT) == 16_384


async def test_ipv6_is_served():
    """`listen`: an IPv6 host is listened on, and its clients' addresses reach the application."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, repr((scope["client"], scope["server"])).encode())

    try:
        listener = listen("::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = Server(asgi(handler), ServerOptions(), [listener])
    port = listener.getsockname()[1]
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        async with await RawClient.connect(port, host="::1") as client:
            await client.send(post())
            reply_ = await client.read_reply()
            assert b"('::1', %d)" % port in reply_
        server.stop.set()


async def test_several_sockets_are_served():
    """`Server.run`: each listening socket is accepted from, and all are closed at the end."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send)

    listeners = [listen("127.0.0.1", 0), listen("127.0.0.1", 0)]
    server = Server(asgi(handler), ServerOptions(), listeners)
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        for listener in listeners:
            async with await RawClient.connect(listener.getsockname()[1]) as client:
                await client.send(post())
                assert (await client.read_reply()).endswith(b"ok")
        server.stop.set()
    await until(lambda: all(listener.fileno() < 0 for listener in listeners))


def test_an_address_in_use_is_an_error():
    """`listen`: a port that is taken, or a host that is not here, raises OSError."""
    with listen("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(OSError, match=r"assign|available"):
        listen("192.0.2.1", 0)


def test_the_file_limit_is_raised_and_never_lowered():
    """`raise_fd_limit`: the soft limit goes to the hard one, within reason, and is returned."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    now = raise_fd_limit()
    soft, still_hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == now
    assert soft >= before or soft == resource.RLIM_INFINITY
    assert still_hard == hard
    assert raise_fd_limit() == now
