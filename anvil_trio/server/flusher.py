"""Sends reply heads one scheduler step late, so that a body that follows at once goes with them."""

from typing import Protocol

import outcome
import trio

__all__ = ["Flusher", "Holds"]


class Holds(Protocol):
    """A connection that may hold bytes back."""

    def flush(self) -> object:
        """Send what is held, if anything still is. Never raises, never waits."""


class Flusher:
    """One task for all connections; it runs in the step after the one that held something back.

    No application says whether its head is early, and no early head is late: a head followed by
    silence leaves in the next step, one followed by its body leaves with it, in one segment.
    """

    def __init__(self) -> None:
        self._holding: list[Holds] = []
        self._sleeper: trio.lowlevel.Task | None = None

    def flush_soon(self, connection: Holds) -> None:
        """Have `flush` called in the next scheduler step."""
        self._holding.append(connection)
        if self._sleeper is not None:
            sleeper, self._sleeper = self._sleeper, None
            trio.lowlevel.reschedule(sleeper, outcome.Value(None))

    async def run(self) -> None:
        """Flush until cancelled."""
        while True:
            while self._holding:
                self._holding.pop().flush()
            self._sleeper = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._forget_sleeper)

    def _forget_sleeper(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._sleeper = None
        return trio.lowlevel.Abort.SUCCEEDED
