"""Bounds what a client of a WebSocket can make us keep, whatever protocol carries it.

Hypercorn 0.18 goes on keeping a message after it has called it too large, leaves the WebSocket open
until the client answers that close, and inflates what comes compressed before it looks at the size.
"""

from collections.abc import Callable

from wsproto.events import Message

from anvil_trio.server.hypercorn_names import FrameTooLargeError, WebsocketBuffer, WSStream
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
            stream.buffer = _BoundedBuffer(stream.buffer.max_length, inbox.lose)
        stream.handshake.extensions = None


class _BoundedBuffer(WebsocketBuffer):
    """One message in the making; one that was too large is never added to again."""

    def __init__(self, max_length: int, on_broken: Callable[[], None]) -> None:
        super().__init__(max_length)
        self._on_broken = on_broken  # called in the step before hypercorn says 1009; idempotent
        self._is_broken = False

    def extend(self, event: Message[str] | Message[bytearray | bytes]) -> None:
        """Add a part. Raises FrameTooLargeError, and keeps nothing of it, beyond the bound."""
        self._is_broken = self._is_broken or self.length + len(event.data) > self.max_length
        if self._is_broken:
            self.clear()
            self._on_broken()
            raise FrameTooLargeError
        super().extend(event)
