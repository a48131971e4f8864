"""The actor that sees to it that what was begun ends: one task an operation, and a sweep."""

import math
from collections.abc import Awaitable, Callable
from functools import partial

import trio

from anvil_trio.actors.actor import OnCrash
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.operations.backend import Backend
from anvil_trio.operations.bells import Bells
from anvil_trio.operations.database import DatabaseFault
from anvil_trio.operations.driver import Driver
from anvil_trio.operations.ids import job_key
from anvil_trio.operations.ingest import Keeping
from anvil_trio.operations.store import Store
from anvil_trio.operations.writer import Writer

__all__ = ["SWEEP_S", "Reconciler"]

SWEEP_S = 60.0
"""How often what has expired is let go of."""

_RETRY_S = 5.0
_NAME = "reconciler"


class Reconciler:
    """Takes up at start what was unfinished, and from then on whatever it is told of."""

    def __init__(
        self,
        driver: Driver,
        writer: Writer,
        backend: Backend,
        keeping: Keeping,
        bells: Bells,
        wall_clock: Callable[[], float],
    ) -> None:
        self._driver, self._writer, self._backend = driver, writer, backend
        self._keeping, self._bells, self._wall_clock = keeping, bells, wall_clock
        self._inbox, self._outbox = trio.open_memory_channel[str](math.inf)
        self._driven: set[str] = set()
        self._life = trio.CancelScope()

    def take(self, operation_id: str) -> None:
        """See to this operation; never waits, and one that is seen to is looked at again."""
        if operation_id in self._driven:
            self._bells.ring(job_key(operation_id))
            return
        self._driven.add(operation_id)
        self._inbox.send_nowait(operation_id)

    def close(self) -> None:
        """End at the next step; what is unfinished is taken up by the next process."""
        self._life.cancel()

    async def run(self, on_crash: OnCrash) -> None:
        """See to operations until closed. A bug in one leaves that one to the next start."""
        try:
            with self._life:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._guarded, self._watch, on_crash)
                    nursery.start_soon(self._guarded, self._sweep, on_crash)
                    nursery.start_soon(self._guarded, self._resume, on_crash)
                    async for operation_id in self._outbox:
                        nursery.start_soon(self._drive, operation_id, on_crash)
        finally:
            with trio.move_on_after(1, shield=True):
                await self._backend.aclose()

    async def _drive(self, operation_id: str, on_crash: OnCrash) -> None:
        try:
            await self._driver.drive(operation_id)
        except Exception as bug:  # noqa: BLE001 - of any kind: the others go on
            on_crash(_NAME, bug)
        finally:
            self._driven.discard(operation_id)

    async def _guarded(self, work: Callable[[], Awaitable[None]], on_crash: OnCrash) -> None:
        try:
            await work()
        except Exception as bug:  # noqa: BLE001 - likewise
            on_crash(_NAME, bug)

    async def _watch(self) -> None:
        await self._backend.watch(self._bells.ring)

    async def _resume(self) -> None:
        while True:
            try:
                for operation_id in await self._writer.ask(lambda store: store.unfinished()):
                    self.take(operation_id)
            except DatabaseFault:
                await trio.sleep(_RETRY_S)
            else:
                return

    async def _sweep(self) -> None:
        keeping = self._keeping
        while True:
            now = self._wall_clock()
            try:
                gone = await self._writer.ask(partial(_expire, now, keeping.retention_s))
                await keeping.aside(partial(keeping.files.remove, gone))
            except DatabaseFault:
                log_event(LogEvent.OPERATIONS_NOT_SAVED)
            await trio.sleep(SWEEP_S)


def _expire(now: float, retention_s: float, store: Store) -> list[str]:
    return store.expire(now, retention_s)
