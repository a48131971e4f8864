"""Where what blocks is done: in a thread, a bounded number at a time."""

from collections.abc import Callable
from typing import Protocol, TypeVar

import trio

__all__ = ["Aside", "Threads"]

Answer = TypeVar("Answer")


class Aside(Protocol):
    """Does a blocking call somewhere else."""

    async def __call__(self, call: Callable[[], Answer], /) -> Answer:
        """What `call` returns or raises. Cancelled before it begins, or not at all."""
        ...


class Threads:
    """At most `number` calls at a time, each in a thread; with one they have an order."""

    def __init__(self, number: int) -> None:
        self._limiter = trio.CapacityLimiter(number)

    async def __call__(self, call: Callable[[], Answer], /) -> Answer:
        """What `call` returns or raises. Cancelled before it begins, or not at all."""
        return await trio.to_thread.run_sync(call, limiter=self._limiter)
