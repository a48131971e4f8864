"""Bounds what a client of a WebSocket can make us keep, whatever protocol carries it.

Hypercorn 0.18 goes on keeping a message after it has called it too large, and inflates what comes
compressed before it looks at the size.
"""

from wsproto.events import Message

from anvil_trio.server.hypercorn_names import FrameTooLargeError, WebsocketBuffer, WSStream

__all__ = ["bound_messages"]


def bound_messages(stream: object) -> None:
    """From its handshake on, keep no longer message and agree on no compression.

    Called before the application can have accepted. Anything but a WebSocket is left alone.
    """
    if isinstance(stream, WSStream):
        stream.buffer = _BoundedBuffer(stream.buffer.max_length)
        stream.handshake.extensions = None


class _BoundedBuffer(WebsocketBuffer):
    """One message in the making; one that was too large is never added to again."""

    def __init__(self, max_length: int) -> None:
        super().__init__(max_length)
        self._is_broken = False

    def extend(self, event: Message[str] | Message[bytearray | bytes]) -> None:
        """Add a part. Raises FrameTooLargeError, and keeps nothing of it, beyond the bound."""
        self._is_broken = self._is_broken or self.length + len(event.data) > self.max_length
        if self._is_broken:
            self.clear()
            raise FrameTooLargeError
        super().extend(event)
