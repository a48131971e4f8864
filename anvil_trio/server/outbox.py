"""What one HTTP/2 stream has still to send."""

from collections.abc import Awaitable, Callable

import trio

from anvil_trio.server.hypercorn_names import BufferCompleteError, EventLike, StreamBuffer

__all__ = ["Outbox"]

_ENOUGH_BYTES = 32_768


class Outbox(StreamBuffer):
    """What one stream has still to send. Nothing here waits but `drained`, and that for the client.

    Hypercorn wakes a sender when it takes little, also from a shut window, and so keeps all that an
    application can make. Here the sender waits until little is left, and no longer than the stall
    deadline while nothing is taken: then its client is as good as gone.
    """

    def __init__(
        self,
        event_class: type[EventLike],
        *,
        stall_timeout_s: float,
        max_waiting_bytes: int,
        on_stall: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(event_class)
        self._stall_timeout_s = stall_timeout_s
        self._max_waiting_bytes = max_waiting_bytes
        self._limit_bytes = max_waiting_bytes
        self._on_stall = on_stall
        self._moved = trio.Event()
        self._is_closed = False

    @property
    def is_ended(self) -> bool:
        """Whether the application has said all it had to say."""
        return self._complete

    async def push(self, data: bytes) -> None:
        """Add what the application sent."""
        if self._complete:
            raise BufferCompleteError
        if not self.buffer:  # one part may be of any size
            self._limit_bytes = len(data) + self._max_waiting_bytes
        if len(self.buffer) > self._limit_bytes:  # a sender that does not wait
            await self._on_stall()
        else:
            self.buffer += data

    async def drain(self) -> None:
        """Hypercorn waits here for the last part, and before trailers; only those have to."""
        await self._wait_until(lambda: self._complete or not self.buffer)

    async def drained(self) -> None:
        """Wait until little is left, at the end until the end is sent; or the stream is gone."""
        await self._wait_until(lambda: not self._complete and len(self.buffer) < _ENOUGH_BYTES)

    async def pop(self, max_length: int) -> bytes:
        """Take what may be sent now."""
        data = bytes(self.buffer[:max_length])
        del self.buffer[:max_length]
        if data:
            self._move()
        return data

    async def close(self) -> None:
        """Nothing is left, or wanted any more; nobody waits."""
        await super().close()
        self._is_closed = True
        self._move()

    def _move(self) -> None:
        self._moved.set()
        self._moved = trio.Event()

    async def _wait_until(self, is_done: Callable[[], bool]) -> None:
        while not (self._is_closed or is_done()):
            with trio.move_on_after(self._stall_timeout_s) as scope:
                await self._moved.wait()
            if scope.cancelled_caught:
                await self._on_stall()
                return
