"""Walks an operation to its end: one step after the other, each written down before it is done.

Which step comes next, and what a failure means, is `progress`'s to say; here is only what a step
does. The walker must hold the lock.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from anvil_trio.config.load import read_config
from anvil_trio.config.problems import ConfigError
from anvil_trio.lifecycle.bounded_run import run_bounded
from anvil_trio.lifecycle.engines import Engines
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed
from anvil_trio.lifecycle.journal import Journal
from anvil_trio.lifecycle.model import Serve
from anvil_trio.lifecycle.orders import RouterOrders
from anvil_trio.lifecycle.progress import (
    Order,
    Status,
    Step,
    advance,
    entered,
    fail,
    needs_opening,
)
from anvil_trio.lifecycle.store import OperationStore, write_whole
from anvil_trio.whole_file import keep_rights, replace_whole

__all__ = ["Switch"]

_REASONS = {"promotion": "promotion", "mode": "exclusive-mode"}
"""Why a tier is quiesced. A router forgets a promotion when it is restarted, and no mode."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What an operation works with. `router` is None where no tier and no route is concerned.

    `live_config` is the file of the running router; None if the operation installs nothing.
    `check` is asked before each step (T012): it raises LifecycleFailed for what must not be.
    """

    store: OperationStore
    engines: Engines
    router: RouterOrders | None
    live_config: Path | None
    folder: Path
    check: Callable[[Journal], None]

    async def walk(self, journal: Journal) -> Journal:
        """Do what is left of an operation that was saved; how it ended.

        Each failure of a step is written down and undone, as far as it can be: the status says
        what came of it, and a step that is left says that it can be taken up again. Cancelled or
        killed, the journal tells what was about to be done. Raises LifecycleFailed only if the
        journal itself cannot be written.
        """
        while not journal.progress.is_finished:
            journal = journal.at(entered(journal.progress))
            self.store.save(journal)
            try:
                self.check(journal)
                await self._do(journal)
            except LifecycleFailed as failed:
                await self._reopen(journal)
                journal = journal.failed(failed.code).at(fail(journal.progress))
                if journal.status is Status.FAILED:
                    break
            else:
                journal = journal.at(advance(journal.progress))
        self.store.save(journal)
        return journal

    async def _do(self, journal: Journal) -> None:
        assert journal.step is not None, "an operation that is over does nothing"
        does: Mapping[Step, Callable[[Journal], Awaitable[None]]] = {
            Step.START: self._start,
            Step.GATE: self._gate,
            Step.QUIESCE: self._quiesce,
            Step.DRAIN: self._drain,
            Step.ROUTE: self._route,
            Step.READMIT: self._readmit,
            Step.STOP: self._stop,
        }
        await does[journal.step](journal)

    async def _start(self, journal: Journal) -> None:
        for serve in self._serves(journal.side.serves):
            await self.engines.start(
                serve, within_s=journal.side.startup_timeout_s, poll_s=journal.poll_interval_s
            )

    async def _gate(self, journal: Journal) -> None:
        command, bound = journal.side.gate, journal.side.startup_timeout_s
        if command:
            ended = await run_bounded(command, within_s=bound, folder=self.folder)
            if ended is None or ended.status != 0:
                raise LifecycleFailed(Fault.GATE_FAILED)

    async def _quiesce(self, journal: Journal) -> None:
        if router := await self._listening(journal):
            for tier in journal.side.closes:
                await router.quiesce(tier, _REASONS[journal.kind])

    async def _drain(self, journal: Journal) -> None:
        if router := await self._listening(journal):
            for tier in journal.side.closes:
                if not await router.drain(tier, journal.drain_timeout_s):
                    raise LifecycleFailed(Fault.NOT_DRAINED)

    async def _route(self, journal: Journal) -> None:
        """The file is replaced first, because the router reads only its own."""
        digest = journal.side.config_sha256
        if digest is None:
            return
        assert self.live_config is not None, "whoever installs knows where"
        before, data = _read(self.live_config), self.store.config(journal, digest)
        if data is None:
            raise LifecycleFailed(Fault.UNREADABLE)
        _replace(self.live_config, data)
        try:
            router = await self._listening(journal)
            if router is not None and await router.installed() != digest:
                await router.activate(digest)
        except LifecycleFailed:
            if before is not None:
                _replace(self.live_config, before)
            raise

    async def _readmit(self, journal: Journal) -> None:
        if router := await self._listening(journal):
            for tier in journal.side.opens:
                if not await router.readmit(tier):
                    raise LifecycleFailed(Fault.NOT_READMITTED)

    async def _stop(self, journal: Journal) -> None:
        """Where both sides run, the one that stays must be healthy before the other is ended."""
        if journal.order is Order.START_FIRST:
            for serve in self._serves(journal.side.serves):
                if not await self.engines.is_healthy(serve):
                    raise LifecycleFailed(Fault.NOT_HEALTHY)
        for serve in self._serves(journal.side.stops):
            await self.engines.stop(serve)

    async def _reopen(self, journal: Journal) -> None:
        """An undoing that stops half-way leaves no tier closed whose route leads somewhere."""
        if needs_opening(journal.progress) and self.router is not None:
            for tier in journal.side.closes:
                with suppress(LifecycleFailed):
                    await self.router.readmit(tier)

    async def _listening(self, journal: Journal) -> RouterOrders | None:
        """The router; None if no mode needs one, because there is none or it is not running."""
        if self.router is None:
            return None
        if journal.kind == "mode" and await self.router.installed() is None:
            return None
        return self.router

    def _serves(self, names: Collection[str]) -> list[Serve]:
        found = [self.engines.manifest.serve(name) for name in names]
        known = [serve for serve in found if serve is not None]
        if len(known) < len(found):
            raise LifecycleFailed(Fault.NO_SERVE)
        return known


def _read(path: Path) -> bytes | None:
    try:
        return read_config(path, must_be_regular=True)
    except ConfigError:
        return None


def _replace(path: Path, data: bytes) -> None:
    """The file holds `data`; the one that it replaces is kept beside it, once per content."""
    before = _read(path)
    if before == data:
        return
    try:
        if before is not None:
            digest = sha256(before).hexdigest()
            write_whole(path.with_name(f"{path.name}.{digest[:12]}.bak"), before)
        replace_whole(
            path,
            data,
            beside=path.with_name(f"{path.name}.new"),
            set_rights=partial(keep_rights, path),
        )
    except OSError:
        raise LifecycleFailed(Fault.NOT_INSTALLED) from None
