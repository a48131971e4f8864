"""One order of bytes on a socket, whoever is cancelled meanwhile."""

import socket
from collections.abc import Awaitable, Callable

import trio

__all__ = ["WriteQueue"]


def _nothing() -> None:
    pass


class WriteQueue:
    """Sends at once what the socket takes and keeps the rest, in order.

    What is kept is sent by one task, started only then, under the stall deadline, which moves with
    every byte taken. A writer waits for that task and may be cancelled without harm: its bytes stay
    in their place, so that another HTTP/2 stream never loses any. `on_broken` is called once, in
    the step in which the socket fails, stalls, or has a writer that does not wait for it.

    `is_empty`: the kernel has every byte.
    """

    def __init__(
        self,
        sock: socket.socket,
        *,
        spawn: Callable[[Callable[[], Awaitable[None]]], None],
        on_broken: Callable[[], None],
        stall_timeout_s: float,
        max_waiting_bytes: int,
    ) -> None:
        self._sock = sock
        self._spawn = spawn
        self._on_broken = on_broken
        self._stall_timeout_s = stall_timeout_s
        self._max_waiting_bytes = max_waiting_bytes
        self._waiting = bytearray()
        self._limit_bytes = max_waiting_bytes
        self._drained: trio.Event | None = None  # while the task runs
        self._broken = False
        self.is_empty = True

    def write(self, data: bytes) -> bool:
        """Send or keep `data`; never waits. True: the kernel has all of it.

        A writer that goes on although more than `max_waiting_bytes` wait behind the first write,
        which may be of any size, breaks the queue. Once broken, bytes are dropped.
        """
        if self._broken:
            return False
        if self._drained is not None:
            if len(self._waiting) > self._limit_bytes:
                self._break()
            else:
                self._waiting += data
            return False
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._break()
            return False
        if sent == len(data):
            return True
        self._waiting += memoryview(data)[sent:]
        self.is_empty = False
        self._limit_bytes = len(self._waiting) + self._max_waiting_bytes
        self._drained = trio.Event()
        self._spawn(self._drain)
        return False

    async def drained(self) -> None:
        """Wait until nothing is kept: all is sent, or the queue is broken."""
        if self._drained is not None:
            await self._drained.wait()

    def discard(self) -> None:
        """Forget what is kept: the socket is being closed. No `on_broken`; idempotent."""
        self._broken = True
        self._on_broken = _nothing
        self._waiting.clear()
        self.is_empty = True

    def _break(self) -> None:
        on_broken = self._on_broken
        self.discard()
        on_broken()

    async def _drain(self) -> None:
        try:
            with trio.move_on_after(self._stall_timeout_s) as scope:
                while self._waiting:
                    await trio.lowlevel.wait_writable(self._sock)
                    if self._send_some():
                        scope.deadline = trio.current_time() + self._stall_timeout_s
            if scope.cancelled_caught:
                self._break()
        except (OSError, trio.ClosedResourceError):
            self._break()
        finally:
            drained, self._drained = self._drained, None
            if drained is not None:
                drained.set()

    def _send_some(self) -> int:
        try:
            sent = self._sock.send(self._waiting)
        except BlockingIOError:
            return 0
        del self._waiting[:sent]
        self.is_empty = not self._waiting
        return sent
