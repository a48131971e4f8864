"""What arrives on many sockets, handed on by a call in the step in which it is seen.

Waiting for a socket the usual way wakes a task for every read: trio's own work, one call to the
kernel to ask again, and each frame of that task's stack, from its connection down to its socket.
Where one read after another is merely passed on, all of that costs more than the passing.
"""

import select
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import outcome
import trio

__all__ = ["Arrivals", "Listener", "open_arrivals"]

Hear = Callable[[bytes], bool]
"""Takes what one read brought, b"" at the end; says whether it has heard enough."""


class Arrivals:
    """One set of sockets that are listened to, and the one task that waits for all of them."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._watched: dict[int, Listener] = {}

    async def run(self) -> None:
        """Hand on what arrives until cancelled; whoever still listens then hears nothing more."""
        descriptor = self._epoll.fileno()
        try:
            while True:
                await trio.lowlevel.wait_readable(descriptor)
                for ready, _ in self._epoll.poll(0):
                    # What was heard a moment ago may have ended who comes now.
                    listener = self._watched.get(ready)
                    if listener is not None:
                        listener.arrived()
        finally:
            self._epoll.close()

    def watch(self, descriptor: int, listener: "Listener") -> None:
        """Tell `listener` whenever there is something to read, until `forget`. Raises OSError."""
        if not self._epoll.closed:
            self._epoll.register(descriptor, select.EPOLLIN)
        self._watched[descriptor] = listener

    def forget(self, descriptor: int) -> None:
        """No more. Of a socket that was closed before, the kernel has forgotten all by itself."""
        del self._watched[descriptor]
        if not self._epoll.closed:
            with suppress(OSError):
                self._epoll.unregister(descriptor)


class Listener:
    """Who listens to one socket, as often as it is asked to, until it is closed.

    The kernel is told once and not again while each wait follows the one before it: only where
    something arrives that nobody waits for, it is told to be silent until somebody does.
    """

    __slots__ = ("_arrivals", "_descriptor", "_hear", "_is_watched", "_max_bytes", "_sock", "_task")

    def __init__(self, arrivals: Arrivals, sock: socket.socket, max_bytes: int) -> None:
        """`max_bytes` is the most that one read takes."""
        self._arrivals, self._sock, self._max_bytes = arrivals, sock, max_bytes
        self._descriptor = sock.fileno()
        self._is_watched = False
        self._task: trio.lowlevel.Task | None = None  # while it is parked
        self._hear: Hear | None = None  # just as long

    async def each(self, hear: Hear) -> None:
        """Call `hear` with each read until it has heard enough.

        It is called by another task and must not wait; after b"" it has heard enough. Raises what
        it raises, the socket's OSError, and trio.ClosedResourceError after `close`. Cancelled, it
        is not called any more from that step on, and no byte was taken that it was not given. One
        task at a time listens.
        """
        if self._descriptor < 0:
            raise trio.ClosedResourceError
        assert self._task is None, "one task at a time listens"
        if not self._is_watched:
            self._arrivals.watch(self._descriptor, self)
            self._is_watched = True
        self._hear, self._task = hear, trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._abort)

    def close(self) -> None:
        """Hear nothing more; to be called before the socket is closed. Idempotent."""
        self._look_away()
        self._descriptor = -1
        self._wake(outcome.Error(trio.ClosedResourceError()))

    def arrived(self) -> None:
        """There is something to read."""
        hear = self._hear
        if hear is None:
            self._look_away()
            return
        try:
            data = self._sock.recv(self._max_bytes)
        except BlockingIOError:  # a false alarm
            return
        except OSError as error:
            self._wake(outcome.Error(error))
            return
        try:
            is_enough = hear(data)
        except Exception as failed:  # noqa: BLE001 - it is the parked task's, whatever it is
            self._wake(outcome.Error(failed))
            return
        if is_enough:
            self._wake(outcome.Value(None))

    def _wake(self, how: "outcome.Outcome[None]") -> None:
        """Wake the task, unless what it heard has cancelled it in this very step."""
        task, self._task, self._hear = self._task, None, None
        if task is not None:
            trio.lowlevel.reschedule(task, how)

    def _abort(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._task = self._hear = None
        return trio.lowlevel.Abort.SUCCEEDED

    def _look_away(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._arrivals.forget(self._descriptor)


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
