"""The one writer: an actor whose mailbox is calls, each batch of them one transaction in a thread.

A flush to the disk costs milliseconds, and a transaction has one however many calls are in it. So
whoever asks at the same moment shares it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import outcome
import trio

from anvil_trio.actors.actor import OnCrash
from anvil_trio.actors.reply import ReplySlot
from anvil_trio.operations.aside import Aside
from anvil_trio.operations.database import DatabaseFault
from anvil_trio.operations.store import Store

__all__ = ["BATCH", "RunBatch", "Writer"]

Answer = TypeVar("Answer")
Call = Callable[[Store], object]

BATCH = 256
"""How many calls share a transaction at most: whoever came first waits no longer than that."""

_NAME = "operations"


class RunBatch(Protocol):
    """Makes one transaction of some calls."""

    def __call__(self, calls: list[Call], /) -> list[outcome.Outcome[object]]:
        """Their outcomes, in order. Blocks."""
        ...


@dataclass(frozen=True, slots=True)
class _Asked(Generic[Answer]):
    call: Call
    slot: ReplySlot[Answer]


class Writer:
    """Asks the store on everyone's behalf; run by an actors' nursery, closed with it."""

    def __init__(self, run_batch: RunBatch, aside: Aside) -> None:
        self._run_batch, self._aside = run_batch, aside
        self._inbox, self._outbox = trio.open_memory_channel[_Asked[object]](math.inf)
        self._is_closed = False

    async def ask(self, call: Callable[[Store], Answer]) -> Answer:
        """What `call` made of the store; raises what it raised, and DatabaseFault.

        Cancelled while it waits for its turn it is never made; later it is made to its end.
        """
        if self._is_closed:
            raise DatabaseFault
        slot: ReplySlot[object] = ReplySlot()
        self._inbox.send_nowait(_Asked(call, slot))  # no checkpoint until it is parked
        answer: Answer = await slot.wait(_nothing)  # type: ignore[assignment]
        return answer

    def close(self) -> None:
        """Take nothing more; what was asked is still answered."""
        self._is_closed = True
        self._inbox.close()

    async def run(self, on_crash: OnCrash) -> None:
        """Serve until closed and read empty. A bug ends the service: everybody is refused."""
        with trio.CancelScope(shield=True):
            try:
                async for first in self._outbox:
                    await self._serve(self._batch(first))
            except Exception as bug:  # noqa: BLE001 - of any kind: requests for chat go on
                on_crash(_NAME, bug)
            finally:
                self.close()
                self._refuse(self._batch(None))

    def _batch(self, first: _Asked[object] | None) -> list[_Asked[object]]:
        """What waits now, without those who have left; all of it when there is no first."""
        batch = [] if first is None else [first]
        limit = math.inf if first is None else BATCH
        while len(batch) < limit:
            try:
                batch.append(self._outbox.receive_nowait())
            except (trio.WouldBlock, trio.EndOfChannel):
                break
        return [asked for asked in batch if not asked.slot.abandoned]

    async def _serve(self, batch: list[_Asked[object]]) -> None:
        calls = [asked.call for asked in batch]
        answers: list[outcome.Outcome[object]] = [outcome.Error(DatabaseFault()) for _ in batch]
        try:
            answers = await self._aside(lambda: self._run_batch(calls))
        finally:
            for asked, answer in zip(batch, answers, strict=True):
                if not asked.slot.abandoned:
                    asked.slot.fill(answer)

    def _refuse(self, batch: list[_Asked[object]]) -> None:
        for asked in batch:
            asked.slot.fill(outcome.Error(DatabaseFault()))


def _nothing() -> None:
    """Whoever leaves is seen to have left when its turn comes."""
