"""Who listens to a socket in these tests, and notes what it hears."""

import socket
from collections.abc import Callable

import trio
import trio.testing

from anvil_trio.net.arrivals import Arrivals, Listener

__all__ = ["Ear", "Pair", "at_rest", "at_rest_then"]

Pair = tuple[socket.socket, socket.socket]


class Ear:
    """Hears until it has heard `enough`, and does `then` with each read."""

    def __init__(self, enough: bytes = b"", then: Callable[[bytes], None] | None = None) -> None:
        self.heard: list[bytes] = []
        self.by: set[trio.lowlevel.Task] = set()
        self.is_done = False
        self._enough, self._then = enough, then

    def __call__(self, data: bytes) -> bool:
        self.by.add(trio.lowlevel.current_task())
        self.heard.append(data)
        if self._then is not None:
            self._then(data)
        return data in {self._enough, b""}

    async def listen(self, arrivals: Arrivals, sock: socket.socket) -> None:
        await self.listen_by(Listener(arrivals, sock, 100))

    async def listen_by(self, listener: Listener) -> None:
        await listener.each(self)
        self.is_done = True


async def at_rest() -> None:
    """Until nothing moves; what is on its way between two sockets has come."""
    await trio.testing.wait_all_tasks_blocked(0.01)


async def at_rest_then(do: Callable[[], object]) -> None:
    """The same, and then something."""
    await at_rest()
    do()
