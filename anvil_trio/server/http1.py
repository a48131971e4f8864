"""HTTP/1.1 by hypercorn's h11 protocol, with three corrections.

It goes on reading while a reply is outstanding, so that a client's leaving is seen; it asks for a
body (`100 Continue`) only when the application does; and it says `Connection: close` whenever the
connection will not be used again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

import h11
import trio

from anvil_trio.server.hypercorn_names import (
    AppWrapper,
    Config,
    ConnectionState,
    Event,
    EventLike,
    H11Protocol,
    Response,
    StreamEvent,
    TaskGroup,
    WorkerContext,
)
from anvil_trio.server.tasks import inbox_of
from anvil_trio.server.websockets import bound_messages

__all__ = ["Http1", "ProtocolArgs", "ReadingEnded"]


class ProtocolArgs(NamedTuple):
    """What every protocol class of hypercorn is made from, in hypercorn's order."""

    app: AppWrapper
    config: Config
    context: WorkerContext
    task_group: TaskGroup
    connection_state: ConnectionState
    ssl: bool
    client: tuple[str, int] | None
    server: tuple[str, int] | None
    send: Callable[[Event], Awaitable[None]]


class ReadingEnded(Exception):  # noqa: N818 - an end, no error
    """While a reply was outstanding the client left, or sent more ahead than anybody needs."""


class _PatientConnection(h11.Connection):
    """Never wants a body by itself."""

    @property
    def they_are_waiting_for_100_continue(self) -> bool:
        return False


class _PausedReader(EventLike):
    """Takes the place of `H11Protocol.can_read`.

    Hypercorn stops reading while bytes that follow the request wait for their turn, and so never
    sees the client leave. Here the reader goes on into h11's own buffer, up to a bound: beyond it a
    FIN queues behind the unread bytes and could not be seen anyway, so the connection ends. What
    earlier replies have left there, `held`, counts, too: a client that pipelines faster than it is
    answered would fill it without end.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[bytes]],
        keep: Callable[[bytes], None],
        held: Callable[[], int],
        max_ahead_bytes: int,
    ) -> None:
        self._read = read
        self._keep = keep
        self._held = held
        self._room = self._max_ahead_bytes = max_ahead_bytes
        self._is_set = True
        self._waiting = trio.CancelScope()

    def is_set(self) -> bool:
        return self._is_set

    async def clear(self) -> None:
        self._is_set = False

    async def set(self) -> None:
        self._is_set = True
        self._waiting.cancel()

    async def wait(self) -> None:
        """Read on until `set`. Raises ReadingEnded."""
        self._room = min(self._max_ahead_bytes, 2 * self._max_ahead_bytes - self._held())
        while not self._is_set:
            with trio.CancelScope() as self._waiting:
                data = await self._read()
                self._room -= len(data)
                if not data or self._room < 0:
                    raise ReadingEnded
                self._keep(data)


class Http1(H11Protocol):
    """One HTTP/1.1 connection.

    `read` gives the connection's next bytes, b"" at the end or once they are of no more use;
    `drained` waits until the client has taken what was sent.
    """

    def __init__(
        self,
        args: ProtocolArgs,
        *,
        read: Callable[[], Awaitable[bytes]],
        drained: Callable[[], Awaitable[None]],
        max_ahead_bytes: int,
    ) -> None:
        super().__init__(*args)
        h11_connection = _PatientConnection(h11.SERVER, self.config.h11_max_incomplete_size)
        self.connection = h11_connection
        self.can_read = _PausedReader(
            read,
            h11_connection.receive_data,
            lambda: len(h11_connection.trailing_data[0]),
            max_ahead_bytes,
        )
        self._drained = drained

    def goodbye(self) -> bytes:
        """HTTP/1.1 has no words for the end of an idle connection."""
        return b""

    async def handle(self, event: Event) -> None:
        """Hypercorn's, but a WebSocket that it refused does not stay open."""
        await super().handle(event)
        if self.stream is not None and self.stream.closed:
            await self._maybe_recycle()

    async def stream_send(self, event: StreamEvent) -> None:
        """Hypercorn's, with `Connection: close` where it is true."""
        if isinstance(event, Response) and self._is_last(event):
            event = replace(event, headers=[*event.headers, (b"connection", b"close")])
        await super().stream_send(event)

    def _is_last(self, reply: Response) -> bool:
        """Whether the connection ends after `reply`, which does not say so itself.

        So it is while the server stops, and where the reply comes before the body has: nobody will
        read what is still to come.
        """
        if reply.status_code < 200 or (b"connection", b"close") in reply.headers:  # noqa: PLR2004
            return False
        return self.context.terminated.is_set() or self.connection.their_state is h11.SEND_BODY

    async def _create_stream(self, request: h11.Request) -> None:
        await self._drained()  # a pipelined request waits for its client to read what came before
        await super()._create_stream(request)
        bound_messages(self.stream)
        inbox = None if self.stream is None else inbox_of(self.stream.scope)
        if inbox is not None:
            inbox.wanted = self._want_body

    async def _want_body(self) -> None:
        h11_connection = self.connection
        if (
            isinstance(h11_connection, h11.Connection)
            and h11_connection.client_is_waiting_for_100_continue
        ):
            await self._send_h11_event(h11.InformationalResponse(status_code=100, headers=[]))
