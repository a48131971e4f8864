"""A reply slot made of `trio.Event`, as one would write it first; it loses grants."""

from collections.abc import Callable
from typing import Generic, TypeVar

import outcome
import trio

__all__ = ["EventSlot"]

Reply = TypeVar("Reply")


class EventSlot(Generic[Reply]):
    """Learns of a cancel only when its task next runs, and by then may have been filled."""

    def __init__(self) -> None:
        self._event = trio.Event()
        self._result: outcome.Outcome[Reply] | None = None
        self.abandoned = False

    async def wait(self, on_abandon: Callable[[], None]) -> Reply:
        """The reply, or Cancelled although there is one."""
        try:
            await self._event.wait()
        except trio.Cancelled:
            self.abandoned = True
            if self._result is None:
                on_abandon()
            raise
        assert self._result is not None
        return self._result.unwrap()

    def fill(self, result: outcome.Outcome[Reply]) -> None:
        """Wake the caller."""
        self._result = result
        self._event.set()
