"""What a connection does to the bytes it carries: nothing (`Plain`), or TLS (`Tls`).

Both are codecs without a socket: bytes in, bytes out, and only the handshake awaits. So a write is
one synchronous step, while a cancelled `trio.SSLStream.send_all` leaves a broken stream behind.
"""

import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import Protocol

__all__ = ["Plain", "Tls", "Wire", "client_context", "server_context"]

_READ_BYTES = 65536
_ALPN = ("h2", "http/1.1")


class Wire(Protocol):
    """The codec of one connection.

    After `handshake` first ask `decode(b"")`: the peer's first data may have come with the last
    bytes of the handshake.
    """

    @property
    def secure(self) -> bool:
        """Whether the bytes on the socket are encrypted."""

    @property
    def alpn(self) -> str | None:
        """The application protocol both sides agreed on, once the handshake is over."""

    async def handshake(
        self, receive: Callable[[], Awaitable[bytes]], send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Finish the handshake. The caller bounds it in time.

        `receive` gives b"" at the end of the peer's bytes. Raises ConnectionError where the peer
        left and ssl.SSLError where it cannot be agreed with; cancelled, the connection is useless.
        """

    def encode(self, data: bytes) -> bytes:
        """What to put on the socket for `data`."""

    def decode(self, data: bytes) -> bytes | None:
        """The plain bytes that `data` from the socket completes; b"" says nothing about the end.

        None: the peer said that nothing follows. The end of the socket is the caller's to see.
        Raises ssl.SSLError where `data` was tampered with or is no TLS.
        """

    def farewell(self) -> bytes:
        """What to put on the socket before its end; after this nothing is encoded."""


class Plain:
    """The bytes as they are."""

    secure = False
    alpn: str | None = None

    async def handshake(
        self, receive: Callable[[], Awaitable[bytes]], send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Nothing to agree on."""

    def encode(self, data: bytes) -> bytes:
        """`data` itself."""
        return data

    def decode(self, data: bytes) -> bytes | None:
        """`data` itself; never None, for only the socket knows the end."""
        return data

    def farewell(self) -> bytes:
        """Nothing."""
        return b""


class Tls:
    """TLS over memory BIOs, for either side of a connection.

    As a client, `server_hostname` is what the certificate is checked against (also an address).
    """

    secure = True

    def __init__(
        self,
        context: ssl.SSLContext,
        *,
        server_side: bool,
        server_hostname: str | None = None,
    ) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server_side,
            server_hostname=server_hostname,
        )
        self.alpn: str | None = None

    async def handshake(
        self, receive: Callable[[], Awaitable[bytes]], send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Finish the handshake, as `Wire` says; a refusal is told to the peer, then raised."""
        while not await self._handshake_step(send):
            data = await receive()
            if not data:
                raise ConnectionAbortedError
            self._incoming.write(data)
        self.alpn = self._object.selected_alpn_protocol()

    async def _handshake_step(self, send: Callable[[bytes], Awaitable[None]]) -> bool:
        refusal: ssl.SSLError | None = None
        is_done = False
        try:
            self._object.do_handshake()
            is_done = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            refusal = error
        if owed := self._outgoing.read():  # of a refusal, the alert that says why
            await send(owed)
        if refusal is not None:
            raise refusal
        return is_done

    def encode(self, data: bytes) -> bytes:
        """The TLS records for `data`, after whatever TLS itself owes the peer (key updates)."""
        view = memoryview(data)
        while view:
            view = view[self._object.write(view) :]
        return self._outgoing.read()

    def decode(self, data: bytes) -> bytes | None:
        """The plain bytes, as `Wire` says; bytes that came before the peer's goodbye come first."""
        self._incoming.write(data)
        parts = []
        try:
            while part := self._object.read(_READ_BYTES):
                parts.append(part)
        except ssl.SSLWantReadError:
            return b"".join(parts)
        except ssl.SSLZeroReturnError:
            pass
        return b"".join(parts) or None

    def farewell(self) -> bytes:
        """TLS's own goodbye: the peer can tell an end from a cut. Theirs is not waited for."""
        with contextlib.suppress(ssl.SSLError):  # it wants theirs, or was never connected
            self._object.unwrap()
        return self._outgoing.read()


def server_context(certfile: str, keyfile: str) -> ssl.SSLContext:
    """TLS 1.2 and 1.3 with HTTP/2 and HTTP/1.1 on offer.

    Raises OSError or ssl.SSLError where the files cannot be read or do not belong together; a key
    that needs a password is refused, never asked for.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # RFC 9113, section 9.2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(list(_ALPN))
    context.load_cert_chain(certfile, keyfile, password="")
    return context


def client_context() -> ssl.SSLContext:
    """What an upstream is checked against: the system's authorities; HTTP/1.1 alone is offered."""
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
