"""The one place in which a task waits for an actor's answer."""

from collections.abc import Callable
from typing import Generic, TypeVar

import outcome
import trio

__all__ = ["ReplySlot"]

Reply = TypeVar("Reply")


class ReplySlot(Generic[Reply]):
    """One reply for one caller: it is taken or the slot is abandoned, never both.

    It rests on `wait_task_rescheduled`: trio calls the abort function in the very step of the
    cancellation, so whoever fills the slot never wakes somebody who is already leaving. An
    `Event` tells of a cancel only when the task next runs, and a grant is lost in between
    (docs/discussion/exactly-once.md).
    """

    __slots__ = ("_on_abandon", "_task", "abandoned")

    def __init__(self) -> None:
        self._task: trio.lowlevel.Task | None = None
        self.abandoned = False

    async def wait(self, on_abandon: Callable[[], None]) -> Reply:
        """The reply, even if the caller is cancelled after the slot was filled.

        If it is cancelled before, `on_abandon` is called in that same step, once, and Cancelled
        is raised. `on_abandon` runs outside any task and must neither wait nor raise.
        """
        self._task = trio.lowlevel.current_task()
        self._on_abandon = on_abandon
        reply: Reply = await trio.lowlevel.wait_task_rescheduled(self._abort)
        return reply

    def _abort(self, _: object) -> trio.lowlevel.Abort:
        self._task = None
        self.abandoned = True
        self._on_abandon()
        return trio.lowlevel.Abort.SUCCEEDED

    def fill(self, result: outcome.Outcome[Reply]) -> None:
        """Wake the caller with `result`. A bug if nobody waits here (any more)."""
        task, self._task = self._task, None
        assert task is not None, "filled twice, or after it was abandoned"
        trio.lowlevel.reschedule(task, result)
