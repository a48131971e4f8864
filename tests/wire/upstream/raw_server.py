"""A server that does exactly what a test says, down to the byte, and what it saw."""

import os
import socket
import ssl
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import trio

from anvil_trio.net.arrivals import Arrivals
from anvil_trio.upstream.stream import Head, Received, UpstreamStream
from anvil_trio.upstream.transport import MemberTransport

__all__ = [
    "OK",
    "Peer",
    "Serve",
    "Server",
    "answer",
    "answering",
    "collect",
    "exchange",
    "open_server",
    "post",
    "sockets",
]

_FDS = Path("/proc/self/fd")


def answer(body: bytes = b"ok", *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """A whole reply with a length."""
    lines = [b"HTTP/1.1 " + status, *headers, b"content-length: %d" % len(body), b"", body]
    return b"\r\n".join(lines)


OK = answer()


@dataclass(eq=False)
class Peer:
    """The server's end of one connection."""

    stream: trio.abc.Stream
    socket: trio.SocketStream
    number: int
    heard: bytearray = field(default_factory=bytearray)
    ended: trio.Event = field(default_factory=trio.Event)

    async def request(self) -> bytes | None:
        """The next request with its body, None once the client has gone."""
        while True:
            head, found, rest = bytes(self.heard).partition(b"\r\n\r\n")
            if found:
                length = next(
                    (
                        int(line[15:])
                        for line in head.split(b"\r\n")
                        if line.startswith(b"content-length:")
                    ),
                    0,
                )
                if len(rest) >= length:
                    self.heard = bytearray(rest[length:])
                    return head + found + rest[:length]
            if not await self.hear():
                return None

    async def hear(self) -> bool:
        """Take in some more; False once the client has gone."""
        try:
            data = await self.stream.receive_some(65_536)
        except trio.BrokenResourceError:
            data = b""
        self.heard += data
        if not data:
            self.ended.set()
        return bool(data)

    async def say(self, data: bytes) -> None:
        """Write, all of it."""
        await self.stream.send_all(data)

    def reset(self) -> None:
        """End the connection so that the client gets an error instead of an end."""
        linger = b"\1\0\0\0\0\0\0\0"
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.socket.socket.close()


Serve = Callable[[Peer], Awaitable[None]]


@dataclass(eq=False)
class Server:
    """A listener on loopback, everyone who ever came, and the transports that lead here."""

    base_url: str
    port: int
    peers: list[Peer] = field(default_factory=list)
    transports: list[MemberTransport] = field(default_factory=list)

    def transport(
        self,
        keepalive_s: float = 4,
        tls: ssl.SSLContext | None = None,
        arrivals: Arrivals | None = None,
    ) -> MemberTransport:
        """A way here, closed at the end of the test."""
        made = MemberTransport(self.base_url, keepalive_s=keepalive_s, tls=tls, arrivals=arrivals)
        self.transports.append(made)
        return made


@asynccontextmanager
async def open_server(serve: Serve, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Run `serve` for every connection; a connection ends when it returns."""
    listener = trio.socket.socket()
    await listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    port = listener.getsockname()[1]
    scheme = "http" if tls is None else "https"
    server = Server(f"{scheme}://127.0.0.1:{port}", port)

    async def handle(raw: trio.SocketStream) -> None:
        stream: trio.abc.Stream = raw
        if tls is not None:
            stream = trio.SSLStream(raw, tls, server_side=True)
        peer = Peer(stream, raw, len(server.peers))
        server.peers.append(peer)
        try:
            await serve(peer)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        finally:
            peer.ended.set()
            raw.socket.close()

    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, handle, [trio.SocketListener(listener)])
        try:
            yield server
        finally:
            for transport in server.transports:
                with trio.CancelScope(shield=True):
                    await transport.aclose()
            nursery.cancel_scope.cancel()


def answering(*replies: bytes) -> Serve:
    """Serve these replies on every connection, one after another, the last for ever."""

    async def serve(peer: Peer) -> None:
        left = list(replies)
        while await peer.request() is not None:
            await peer.say(left.pop(0) if len(left) > 1 else left[0])

    return serve


async def post(transport: MemberTransport, base_url: str, body: bytes = b"{}") -> UpstreamStream:
    """Dispatch one request."""
    return await transport.send(httpx.Request("POST", base_url + "/v1/x"), body)


async def collect(stream: UpstreamStream) -> tuple[Head, bytes]:
    """Read a reply to its end."""
    items: list[Received] = [await stream.receive()]
    while isinstance(items[-1], Head | bytes):
        items.append(await stream.receive())
    head = items[0]
    assert isinstance(head, Head)
    return head, b"".join(item for item in items if isinstance(item, bytes))


async def exchange(transport: MemberTransport, base_url: str, body: bytes = b"{}") -> bytes:
    """One whole request and reply; gives the body."""
    stream = await post(transport, base_url, body)
    try:
        return (await collect(stream))[1]
    finally:
        await stream.aclose()


def sockets(*, besides: int = 0) -> set[int]:
    """The inodes of all sockets this process has open, but for a server's on that port."""
    found = set()
    for entry in _FDS.iterdir():
        try:
            status = entry.stat()
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
        if stat.S_ISSOCK(status.st_mode):
            with socket.socket(fileno=os.dup(int(entry.name))) as copy:
                if copy.getsockname()[1:2] != (besides,):
                    found.add(status.st_ino)
    return found
