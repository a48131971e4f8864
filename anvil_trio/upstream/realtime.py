"""One WebSocket to one member, by trio-websocket; the same shape as `client.open_stream`.

The library does the frames, our `with` blocks do the ends: it leaves a connection open that its
peer has closed, waits for a handshake that was refused, and raises what it was refused with in its
own task. Here every end closes the stream, and every fault is an `UpstreamFailed` with a fixed
problem or an `EngineClosed` with a code.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

import httpx
import trio
from trio_websocket import (
    ConnectionClosed,
    ConnectionRejected,
    WebSocketConnection,
    wrap_client_stream,
)
from wsproto.utilities import ProtocolError

from anvil_trio.errors import Code, UpstreamFailed, problem
from anvil_trio.upstream.client import Upstream
from anvil_trio.upstream.failures import error_problem

__all__ = ["EngineClosed", "EngineSocket", "open_engine_socket"]

Message = str | bytes

_ABNORMAL = 1006
_WAITING_MESSAGES = 1  # one that nobody has taken stops the reading
_READ_BYTES = 65_536
_MAX_HANDSHAKE_BYTES = 131_072


class EngineClosed(Exception):  # noqa: N818 - named by what happened, as trio does
    """The engine closed the WebSocket with that code; 1006 if its connection broke."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class EngineSocket:
    """An accepted WebSocket. One task receives and one sends; pings may come from a third."""

    def __init__(self, connection: WebSocketConnection) -> None:
        self._connection = connection

    async def receive(self) -> Message:
        """The next message; all that came before a close first. Raises EngineClosed.

        Cancelled, nothing is lost.
        """
        try:
            message: Message = await self._connection.get_message()
        except ConnectionClosed:
            raise EngineClosed(self._code) from None
        return message

    async def send(self, message: Message) -> None:
        """Hand a message to the kernel. Raises EngineClosed; cancelled, only closing is left."""
        try:
            await self._connection.send_message(message)
        except (ConnectionClosed, ProtocolError):
            raise EngineClosed(self._code) from None

    async def ping(self) -> None:
        """Ask whether it is there and wait for its answer, or for the end of the WebSocket."""
        with suppress(ConnectionClosed, ProtocolError):
            await self._connection.ping()

    async def close(self, code: int) -> None:
        """Say goodbye and wait until it is answered; the caller bounds that. Raises nothing."""
        with suppress(ProtocolError):
            await self._connection.aclose(code)

    @property
    def _code(self) -> int:
        closed = self._connection.closed
        return _ABNORMAL if closed is None else int(closed.code)


@asynccontextmanager
async def open_engine_socket(
    upstream: Upstream,
    headers: list[tuple[bytes, bytes]],
    *,
    max_message_chars: int,
) -> AsyncIterator[EngineSocket]:
    """One session, attempted exactly once on exactly this member (R009); `upstream.url` says where.

    Entering returns when the engine has accepted, within `connect_timeout_s`, else it raises
    UpstreamFailed. Leaving closes the connection, also when cancelled, and at once. An engine's
    message of more than `max_message_chars` (bytes, where it is binary) ends it with 1009.
    """
    deadline = trio.current_time() + upstream.connect_timeout_s
    stream = await _dialled(upstream, deadline)
    try:
        opening = _Opening()
        async with trio.open_nursery() as nursery:
            opening.nursery = nursery
            with opening.patience:
                opening.patience.deadline = deadline
                opening.connection = await wrap_client_stream(
                    cast("trio.Nursery", opening),
                    cast("trio.SocketStream", _Handshaking(stream, opening)),
                    upstream.url.netloc.decode(),
                    upstream.url.raw_path.decode(),
                    extra_headers=headers,
                    message_queue_size=_WAITING_MESSAGES,
                    max_message_size=max_message_chars,
                    receive_buffer_size=_READ_BYTES,
                )
            if opening.connection is not None:
                yield EngineSocket(opening.connection)
            nursery.cancel_scope.cancel()
    finally:
        await trio.aclose_forcefully(stream)
    if opening.connection is None:
        raise opening.failure()


async def _dialled(upstream: Upstream, deadline: float) -> trio.abc.Stream:
    with trio.move_on_at(deadline):
        try:
            return await upstream.transport.open_stream()
        except httpx.ConnectError:
            upstream.on_unreachable()
            raise UpstreamFailed(problem(Code.UPSTREAM_ERROR)) from None
    raise UpstreamFailed(problem(Code.CONNECT_TIMEOUT))


class _Opening:
    """What the library takes for a nursery: keeps its reader from raising, and sees it end."""

    def __init__(self) -> None:
        self.nursery: trio.Nursery | None = None
        self.patience = trio.CancelScope()
        self.connection: WebSocketConnection | None = None
        self._rejected: ConnectionRejected | None = None
        self._has_ended = False

    def start_soon(self, read: Callable[[], Awaitable[None]]) -> None:
        """Start the library's reader."""
        assert self.nursery is not None
        self.nursery.start_soon(self._read, read)

    async def _read(self, read: Callable[[], Awaitable[None]]) -> None:
        with suppress(Exception):  # an engine's bytes make three parsers raise what they like
            try:
                await read()
            except ConnectionRejected as rejected:
                self._rejected = rejected
        self._has_ended = True
        self.patience.cancel()  # whoever still waits for a handshake waits in vain

    def failure(self) -> UpstreamFailed:
        """Why there is no connection."""
        if self._rejected is not None:
            said = [(bytes(name).lower(), bytes(value)) for name, value in self._rejected.headers]
            body = bytes(self._rejected.body or b"")
            return UpstreamFailed(error_problem(self._rejected.status_code, said, body))
        return UpstreamFailed(
            problem(Code.UPSTREAM_ERROR if self._has_ended else Code.CONNECT_TIMEOUT)
        )


class _Handshaking(trio.abc.Stream):
    """A stream whose server may say only so much before it has accepted: a refusal is short."""

    def __init__(self, stream: trio.abc.Stream, opening: _Opening) -> None:
        self._stream, self._opening = stream, opening
        self._received = 0

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        data = bytes(await self._stream.receive_some(max_bytes))
        if self._opening.connection is None:
            self._received += len(data)
            if self._received > _MAX_HANDSHAKE_BYTES:
                raise trio.BrokenResourceError
        return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._stream.aclose()
