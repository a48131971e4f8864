"""Bounds what a client of a WebSocket can make us keep, and says what hypercorn leaves unsaid.

Hypercorn 0.18 goes on keeping a message after it has called it too large, leaves the WebSocket open
until the client answers that close, and inflates what comes compressed before it looks at the size.
It hangs up without a word on frames that are none, and tells nobody how a client closed.
"""

from collections.abc import Generator, Iterable
from functools import partial

from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import CloseConnection, Message, Ping
from wsproto.events import Event as FrameEvent

from anvil_trio.server.hypercorn_names import (
    Data,
    FrameTooLargeError,
    Handshake,
    WebsocketBuffer,
    WSStream,
)
from anvil_trio.server.inbox import Inbox
from anvil_trio.server.tasks import inbox_of

__all__ = ["bound_messages"]


def bound_messages(stream: object) -> None:
    """From its handshake on, keep no longer message and agree on no compression.

    A client that sends a longer one is as good as gone: its application is told, and so the
    WebSocket ends whatever the client does. Called before the application can have accepted.
    Anything but a WebSocket is left alone.
    """
    if isinstance(stream, WSStream):
        inbox = inbox_of(stream.scope)
        if inbox is not None:  # else it is refused already
            stream.buffer = _BoundedBuffer(stream.buffer.max_length, inbox)
            inbox.ping = partial(_ping, stream)
            stream.handshake = _Handshake(stream.handshake, inbox)


async def _ping(stream: WSStream) -> None:
    """Send a ping on a WebSocket that is open; on any other do nothing."""
    if stream.handshake.accepted and stream.connection.state is ConnectionState.OPEN:
        data = stream.connection.send(Ping())
        await stream.send(Data(stream_id=stream.stream_id, data=data))


class _Handshake(Handshake):
    """One that agrees on no extension, and whose connection tells how it ends."""

    def __init__(self, seen: Handshake, inbox: Inbox) -> None:
        vars(self).update(vars(seen))
        self.extensions = None
        self._inbox = inbox

    def accept(
        self, subprotocol: str | None, additional_headers: Iterable[tuple[bytes, bytes]]
    ) -> tuple[int, list[tuple[bytes, bytes]], Connection]:
        status, headers, _ = super().accept(subprotocol, additional_headers)
        return status, headers, _Connection(self._inbox)


class _Connection(Connection):
    """Notes the code of a client's close; answers frames that are none with a close of its own."""

    def __init__(self, inbox: Inbox) -> None:
        super().__init__(ConnectionType.SERVER)
        self._inbox = inbox

    def events(self) -> Generator[FrameEvent, None, None]:
        for event in super().events():
            if not isinstance(event, CloseConnection):
                yield event
            elif self.state is ConnectionState.OPEN:  # wsproto could not read on
                self._state = ConnectionState.REMOTE_CLOSING  # so that hypercorn says the code
                yield CloseConnection(code=event.code)
            else:
                if self.state is ConnectionState.REMOTE_CLOSING:
                    self._inbox.close_code = int(event.code)
                yield event


class _BoundedBuffer(WebsocketBuffer):
    """One message in the making; one that was too large is never added to again."""

    def __init__(self, max_length: int, inbox: Inbox) -> None:
        super().__init__(max_length)
        self._inbox = inbox
        self._is_broken = False

    def extend(self, event: Message[str] | Message[bytearray | bytes]) -> None:
        """Add a part. Raises FrameTooLargeError, and keeps nothing of it, beyond the bound."""
        self.max_length = self._inbox.max_message_chars or self.max_length
        self._is_broken = self._is_broken or self.length + len(event.data) > self.max_length
        if self._is_broken:
            self.clear()
            self._inbox.lose()  # in the step before hypercorn says 1009
            raise FrameTooLargeError
        super().extend(event)
