"""What a socket's bytes do where one task hears for all: another takes them than who asked."""

from typing import Protocol

import httpx
import outcome
import trio

from anvil_trio.upstream.stream import End, HandOn, Received

__all__ = ["Told", "Untakeable"]


class Untakeable(Protocol):
    """A scripted reply, of which a step may be given back."""

    async def receive(self) -> Received:
        """The next step."""
        ...

    def untake(self, what: "outcome.Outcome[Received]") -> None:
        """Nobody was there for it: it comes again, as what is not read from a socket would."""
        ...


class Told:
    """One reply that flows: who asked is parked, another task takes what comes and hands it on."""

    def __init__(self, call: Untakeable, hand_on: HandOn) -> None:
        self._call, self._hand_on = call, hand_on
        self._scope = trio.CancelScope()
        self._task: trio.lowlevel.Task | None = None

    async def until_enough(self) -> bool:
        self._task = trio.lowlevel.current_task()
        trio.lowlevel.spawn_system_task(self._tell)
        has_ended: bool = await trio.lowlevel.wait_task_rescheduled(self._abort)
        return has_ended

    def _abort(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._task = None
        self._scope.cancel()
        return trio.lowlevel.Abort.SUCCEEDED

    async def _tell(self) -> None:
        with self._scope:
            while self._is_parked():
                what = await self._next()
                if not self._is_parked():
                    self._call.untake(what)
                    return
                how = outcome.capture(self._hear, what)
                if how != outcome.Value(None):
                    self._go_on(how)

    def _is_parked(self) -> bool:
        return self._task is not None

    async def _next(self) -> "outcome.Outcome[Received]":
        try:
            return outcome.Value(await self._call.receive())
        except httpx.TransportError as fault:
            return outcome.Error(fault)

    def _hear(self, what: "outcome.Outcome[Received]") -> bool | None:
        """Whether the reply has ended, once it is enough."""
        item = what.unwrap()
        if isinstance(item, End):
            return True
        assert isinstance(item, bytes), "a reply has one head"
        return None if self._hand_on(item) else False

    def _go_on(self, how: "outcome.Outcome[bool | None]") -> None:
        task, self._task = self._task, None
        if task is not None:  # what was heard has not cancelled it
            trio.lowlevel.reschedule(task, how)
