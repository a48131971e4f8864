"""What arrives on many sockets, handed on by a call in the step in which it is seen.

Waiting for a socket the usual way wakes a task for every read: trio's own work, one call to the
kernel to ask again, and each frame of that task's stack, from its connection down to its socket.
Where one read after another is merely passed on, all of that costs more than the passing.
"""

import select
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import outcome
import trio

__all__ = ["Arrivals", "open_arrivals"]

Hear = Callable[[bytes], bool]
"""Takes what one read brought, b"" at the end; says whether it has heard enough."""


class Arrivals:
    """One set of sockets that are listened to, and the one task that waits for all of them."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._listening: dict[int, _Listening] = {}

    async def run(self) -> None:
        """Hand on what arrives until cancelled; whoever still listens then hears nothing more."""
        descriptor = self._epoll.fileno()
        try:
            while True:
                await trio.lowlevel.wait_readable(descriptor)
                for ready, _ in self._epoll.poll(0):
                    # What was heard a moment ago may have ended who comes now.
                    listening = self._listening.get(ready)
                    if listening is not None:
                        listening.read()
        finally:
            self._epoll.close()

    async def each(self, sock: socket.socket, max_bytes: int, hear: Hear) -> None:
        """Call `hear` with each read of at most `max_bytes`, until it has heard enough.

        It is called by another task and must not wait; after b"" it has heard enough. Raises what
        it raises, and the socket's OSError. Cancelled, it is not called any more from that step on,
        and no byte was taken that it was not given. One task at a time listens to a socket, which
        nobody closes meanwhile.
        """
        await _Listening(sock, max_bytes, hear, self).until_enough()

    def began(self, descriptor: int, listening: "_Listening") -> None:
        """Tell `listening` whenever there is something to read."""
        self._epoll.register(descriptor, select.EPOLLIN)
        self._listening[descriptor] = listening

    def ended(self, descriptor: int) -> None:
        """No more."""
        del self._listening[descriptor]
        if not self._epoll.closed:
            self._epoll.unregister(descriptor)


class _Listening:
    """One task that is parked while another hands on what it would read."""

    __slots__ = ("_arrivals", "_descriptor", "_hear", "_max_bytes", "_sock", "_task")

    def __init__(self, sock: socket.socket, max_bytes: int, hear: Hear, arrivals: Arrivals) -> None:
        self._sock, self._max_bytes, self._hear = sock, max_bytes, hear
        self._arrivals, self._descriptor = arrivals, sock.fileno()
        self._task: trio.lowlevel.Task | None = None  # while it is parked

    async def until_enough(self) -> None:
        self._arrivals.began(self._descriptor, self)
        self._task = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._abort)

    def _abort(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._leave()
        return trio.lowlevel.Abort.SUCCEEDED

    def read(self) -> None:
        """There is something to read."""
        try:
            data = self._sock.recv(self._max_bytes)
        except BlockingIOError:  # a false alarm
            return
        except OSError as error:
            self._go_on(outcome.Error(error))
            return
        try:
            is_enough = self._hear(data)
        except Exception as failed:  # noqa: BLE001 - it is the parked task's, whatever it is
            self._go_on(outcome.Error(failed))
            return
        if is_enough:
            self._go_on(outcome.Value(None))

    def _go_on(self, how: "outcome.Outcome[None]") -> None:
        """Wake the task, unless what it heard has cancelled it in this very step."""
        task = self._task
        if task is not None:
            self._leave()
            trio.lowlevel.reschedule(task, how)

    def _leave(self) -> None:
        self._task = None
        self._arrivals.ended(self._descriptor)


@asynccontextmanager
async def open_arrivals() -> AsyncIterator[Arrivals | None]:
    """One for as long as the block; None where the system has no epoll."""
    if not hasattr(select, "epoll"):
        yield None
        return
    arrivals = Arrivals()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(arrivals.run)
        yield arrivals
        nursery.cancel_scope.cancel()
