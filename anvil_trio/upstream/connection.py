"""One connection to one member: a plain non-blocking socket, with TLS for https endpoints.

No step takes bytes and then awaits, so a cancelled read has lost nothing. A cancelled connect or
handshake leaves no socket; after a cancelled write the only thing left to do is `close`.
"""

import contextlib
import errno
import os
import select
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import trio

from anvil_trio.net.arrivals import Arrivals, Listener
from anvil_trio.net.sockets import close, receive_some, send_all
from anvil_trio.net.tls import Tls
from anvil_trio.upstream.http1 import ReplyParser

__all__ = ["Connection", "Endpoint"]

_READ_BYTES = 65_536
_PATIENCE_S = 0.05
_STATUS_BEGINS = 9  # len("HTTP/1.1 ")

_Address = tuple[int, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a member listens. With `tls` the certificate must name `host`.

    What its connections are to hand on as it comes, `arrivals` hears for them, if there is one.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    arrivals: Arrivals | None = None

    async def connect(self) -> "Connection":
        """One new connection, TLS agreed on. Raises OSError (ssl.SSLError is one)."""
        sock = await _connect(await self._addresses())
        try:
            wire = None if self.tls is None else await self._agree(sock, self.tls)
            return Connection(sock, wire, self.arrivals)
        except BaseException:
            close(sock)
            raise

    async def open_stream(self) -> trio.abc.Stream:
        """One new connection as a stream of trio's, for both directions at once.

        Raises OSError, or trio.BrokenResourceError where TLS cannot be agreed on.
        """
        stream = await trio.open_tcp_stream(self.host, self.port)
        if self.tls is None:
            return stream
        try:
            secure = trio.SSLStream(
                stream, self.tls, server_hostname=self.host, https_compatible=True
            )
            await secure.do_handshake()
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
        return secure

    async def _addresses(self) -> list[_Address]:
        """A literal address is its own, without a thread; a name is asked for each time."""
        found = await trio.socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        return [(family, address) for family, _, _, _, address in found]

    async def _agree(self, sock: socket.socket, context: ssl.SSLContext) -> Tls:
        wire = Tls(context, server_side=False, server_hostname=self.host)

        async def receive() -> bytes:
            return await receive_some(sock, _READ_BYTES)

        async def send(data: bytes) -> None:
            await send_all(sock, data)

        await wire.handshake(receive, send)
        return wire


async def _connect(addresses: list[_Address]) -> socket.socket:
    """The first address that takes a connection; else the last one's refusal."""
    refusal = OSError(errno.EHOSTUNREACH, "")
    for family, address in addresses:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            await _connect_one(sock, address)
        except OSError as error:
            close(sock)
            refusal = error
        except BaseException:
            close(sock)
            raise
        else:
            return sock
    raise refusal


async def _connect_one(sock: socket.socket, address: tuple[object, ...]) -> None:
    sock.settimeout(0)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    code = sock.connect_ex(address)
    if code == errno.EINPROGRESS:
        await trio.lowlevel.wait_writable(sock)
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))


class Connection:
    """A connected socket and what its server says. One task at a time uses it."""

    __slots__ = ("_listener", "_look", "_sock", "_wire", "idle_since", "is_cut_short", "parser")

    def __init__(
        self, sock: socket.socket, wire: Tls | None, arrivals: Arrivals | None = None
    ) -> None:
        self._sock, self._wire = sock, wire
        self._listener: Listener | None = None
        # One piece of what comes under TLS may be many records, or none: its own task reads that.
        if arrivals is not None and wire is None:
            self._listener = Listener(arrivals, sock, _READ_BYTES)
        self._look = select.poll()
        self._look.register(sock, select.POLLIN)
        self.parser = ReplyParser()
        self.idle_since = 0.0
        self.is_cut_short = False  # the server answered before it had the whole request

    def is_quiet(self) -> bool:
        """Whether the connection is open and its server has said nothing that nobody read."""
        if self._look.poll(0):  # a peek that finds nothing raises, which costs four times as much
            return False
        if self._wire is None:
            return True
        try:
            return self._wire.decode(b"") == b""
        except ssl.SSLError:
            return False

    def _peek(self) -> bytes | None:
        try:
            return self._sock.recv(_STATUS_BEGINS + 1, socket.MSG_PEEK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self, data: bytes) -> memoryview:
        """Hand one request to the kernel; what it does not take now is left to `write_rest`.

        A server may refuse a body while it is still on its way. Its answer ends the writing
        (`is_cut_short`) and can be read. Raises OSError if there is no answer either.
        """
        rest = memoryview(data if self._wire is None else self._wire.encode(data))
        try:
            return rest[self._sock.send(rest) :]
        except BlockingIOError:
            return rest
        except OSError:
            self._cut_short()
            return rest[:0]

    async def write_rest(self, rest: memoryview) -> None:
        """Hand the rest to the kernel, or as much of it as the server cared for. Raises OSError."""
        try:
            while rest:
                if not await self._room():
                    self.is_cut_short = True
                    return
                with contextlib.suppress(BlockingIOError):  # a false alarm
                    rest = rest[self._sock.send(rest) :]
        except OSError:
            self._cut_short()

    def _cut_short(self) -> None:
        """The server takes no more: the error that is being handled counts unless it answered."""
        self.is_cut_short = True
        if not self._peek():
            raise  # noqa: PLE0704 - called where it is handled

    async def _room(self) -> bool:
        """Wait until the kernel takes more; False once the server has refused the request.

        Only plain text tells a refusal from an interim answer; under TLS the end of the
        connection must tell.
        """
        while True:
            with trio.move_on_after(_PATIENCE_S) as patience:
                await trio.lowlevel.wait_writable(self._sock)
            if not patience.cancelled_caught:
                return True
            said = None if self._wire else self._peek()
            if said and said[_STATUS_BEGINS:] in {b"4", b"5"}:
                return False

    async def read(self) -> bytes:
        """Everything that has arrived, at least one byte; b"" at the end. Raises OSError."""
        if self._wire is None:
            return await receive_some(self._sock, _READ_BYTES)
        return await self._read_tls(self._wire)

    def read_each(self, hear: Callable[[bytes], bool]) -> Awaitable[None]:
        """Give `hear` what `read` would, piece by piece, until it has heard enough.

        As `Listener.each`.
        """
        return self._read_each(hear) if self._listener is None else self._listener.each(hear)

    async def _read_each(self, hear: Callable[[bytes], bool]) -> None:
        while not hear(await self.read()):
            pass

    async def _read_tls(self, wire: Tls) -> bytes:
        plain = wire.decode(b"")
        while plain == b"":
            sealed = await receive_some(self._sock, _READ_BYTES)
            if not sealed:  # no goodbye: it may have been cut on its way
                raise ConnectionAbortedError
            plain = wire.decode(sealed)
        return plain or b""

    def close(self) -> None:
        """End the connection, now, whatever is under way. Idempotent, never waits."""
        self.parser.close()
        wire, self._wire = self._wire, None
        if wire is not None:
            with contextlib.suppress(OSError):  # the goodbye is a courtesy
                self._sock.send(wire.farewell())
        if self._listener is not None:
            self._listener.close()
        close(self._sock)
