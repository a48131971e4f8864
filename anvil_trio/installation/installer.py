"""Carries an installation out, one step after the other, or back to where it began.

Which step comes next, and what a failure means, is `protocol`'s to say; here is only what a step
does. Every step makes something so, whether or not it is so already. Before each one the journal is
on the disk, so that whoever comes after a killed installer knows how far it may have got.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import trio

from anvil_trio.installation.faults import InstallFailed, InstallFault, NotBegun
from anvil_trio.installation.journal import Journal
from anvil_trio.installation.live_file import LiveFile
from anvil_trio.installation.orders import RouterOrders
from anvil_trio.installation.payload import Payload
from anvil_trio.installation.plan import Look, Plan, digest_of, plan_installation
from anvil_trio.installation.protocol import End, Step, Way, begin

__all__ = ["Bounds", "Installer", "Outcome", "look_over"]

_POLL_S = 0.25
_LEAST_DRAIN_S = 0.1
"""What is empty already has drained, even if the time is over."""
_READY_S = 10.0
"""How long a tier that is to be opened may take until it is ready."""
_SETTLE_S = 2.0
"""When whoever left an activation is sure that it has been given up, or has taken place."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long things may take, in seconds: all drains together; a router until it is back."""

    drain_s: float
    start_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an installation ended, and what the router says afterwards."""

    end: End
    step: Step | None
    """The one that failed."""
    code: str | None
    """Why."""
    after: Look | None
    """None: it does not answer."""
    closed: tuple[str, ...]
    """The tiers that this left closed."""


async def look_over(way: Way, payload: Payload, router: RouterOrders, live: LiveFile) -> Plan:
    """What is about to be done; nothing is changed. Raises InstallFailed.

    A router that does not answer is a failure, unless an earlier installation may have stopped it.
    """
    journal = live.read_journal()
    before: Look | None = None
    try:
        before = await router.look()
    except InstallFailed as failed:
        may_be_down = way is Way.RESTART and journal is not None and journal.may_be_down
        if not (failed.is_unsure and may_be_down):
            raise
    found, backup = live.read(), live.read_backup()
    return plan_installation(way, payload.source, payload.tier_ids, before, found, backup, journal)


class Installer:
    """One installation. Whoever runs it holds the lock from before `look_over` to its end."""

    def __init__(
        self,
        plan: Plan,
        router: RouterOrders,
        live: LiveFile,
        restart: Callable[[], Awaitable[None]],
        bounds: Bounds,
        on_step: Callable[[Step], None] = lambda _: None,
    ) -> None:
        self._plan, self._router, self._live, self._restart_router = plan, router, live, restart
        self._bounds, self._on_step = bounds, on_step
        self._progress = begin(plan.way)
        self._ahead = trio.CancelScope()
        self._asked = [*plan.closed]  # closed by us, or about to be
        self._is_unsure = False
        self._do: dict[Step, Callable[[], Awaitable[None]]] = {
            Step.QUIESCE: self._quiesce,
            Step.DRAIN: self._drain,
            Step.WRITE: self._write,
            Step.ACTIVATE: self._activate,
            Step.RESTART: self._restart,
            Step.AWAIT: self._await,
            Step.VERIFY: self._verify,
            Step.READMIT: self._readmit,
            Step.RESTORE: self._restore,
            Step.SETTLE: self._settle,
            Step.RESTART_OLD: self._restart,
            Step.AWAIT_OLD: self._await_old,
            Step.READMIT_OLD: self._readmit_old,
        }

    def interrupt(self) -> None:
        """Go no further and undo what was done; without effect on the way back."""
        self._ahead.cancel()

    async def run(self) -> Outcome:
        """Carry it out or undo it. Must not be cancelled; that is what `interrupt` is for."""
        code, failed_at = None, None
        try:
            with self._ahead:
                await self._go()
            if self._ahead.cancelled_caught:
                code = InstallFault.INTERRUPTED.value
        except InstallFailed as failed:
            code = failed.code
        if code is not None:
            failed_at, self._progress = self._progress.next, self._progress.fail()
        await self._go_back()
        return await self._conclude(failed_at, code)

    async def _go(self) -> None:
        while (step := self._progress.next) is not None:
            before = self._progress
            self._announce(step)
            self._progress = before.enter()
            try:
                await self._do[step]()
            except NotBegun:
                self._progress = before
                raise
            self._progress = self._progress.advance()

    async def _go_back(self) -> None:
        while (step := self._progress.next) is not None:
            with suppress(InstallFailed):  # it only says a little less of how far this got
                self._announce(step)
            try:
                await self._do[step]()
            except InstallFailed:
                self._progress = self._progress.fail()
            else:
                self._progress = self._progress.advance()

    def _announce(self, step: Step) -> None:
        plan = self._plan
        self._live.save_journal(
            Journal(
                way=plan.way,
                step=step,
                old_sha256=digest_of(plan.old),
                new_sha256=plan.sha256,
                tiers=() if plan.before is None else plan.before.tier_ids,
                closes=(*plan.closed, *plan.closes),
            )
        )
        self._on_step(step)

    async def _conclude(self, failed_at: Step | None, code: str | None) -> Outcome:
        """Ask once more how things are, and claim nothing else.

        The journal goes if nothing is left to do.
        """
        after, end = await self._look_soon(), self._progress.end
        closed = tuple(self._asked) if after is None else after.quiesced(self._asked)
        is_new = after is not None and self._plan.is_at_work(after)
        is_old = after is not None and self._plan.is_old_at_work(after) and not closed
        assert end is not None, "nothing is left to do"
        if end is End.INSTALLED and not is_new:
            end, code = End.UNCERTAIN, InstallFault.MISMATCH.value
        elif end is End.RESTORED and not is_old:
            end = End.UNCERTAIN
        if end is not End.UNCERTAIN and not closed:
            self._live.remove_journal()
        return Outcome(end, failed_at, code, after, closed)

    async def _quiesce(self) -> None:
        for tier_id in self._plan.closes:
            self._asked.append(tier_id)
            await self._router.quiesce(tier_id)

    async def _drain(self) -> None:
        deadline = trio.current_time() + self._bounds.drain_s
        for tier_id in self._plan.drains:
            left_s = max(deadline - trio.current_time(), _LEAST_DRAIN_S)
            if not await self._router.drain(tier_id, left_s):
                raise InstallFailed(InstallFault.NOT_DRAINED)

    async def _write(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        plan = self._plan
        if self._live.read() != plan.found:
            raise InstallFailed(InstallFault.LIVE_CHANGED)
        if plan.old is not None and plan.old != plan.source:
            self._live.back_up(plan.old)
        self._live.write(plan.source)

    async def _activate(self) -> None:
        self._is_unsure = True
        try:
            await self._router.activate(self._plan.sha256)
        except InstallFailed as failed:
            self._is_unsure = failed.is_unsure
            raise
        self._is_unsure = False

    async def _restart(self) -> None:
        await self._restart_router()

    async def _await(self) -> None:
        plan = self._plan
        await self._poll(lambda now: plan.is_at_work(now) and plan.is_new_process(now))

    async def _verify(self) -> None:
        if not self._plan.is_at_work(await self._router.look()):
            raise InstallFailed(InstallFault.MISMATCH)

    async def _readmit(self) -> None:
        await self._open(self._plan.opens)

    async def _restore(self) -> None:
        await trio.lowlevel.checkpoint()
        plan, now = self._plan, self._live.read()
        if now == plan.old:
            return
        if now not in {plan.source, plan.found}:
            raise InstallFailed(InstallFault.LIVE_CHANGED)
        self._live.write(plan.old)

    async def _settle(self) -> None:
        if self._is_unsure:
            await trio.sleep(_SETTLE_S)
        now = await self._look_soon()
        if now is None:
            raise InstallFailed(InstallFault.NOT_UNDONE)
        if self._plan.is_old_at_work(now):
            return
        old_sha256 = digest_of(self._plan.old)
        if old_sha256 is None:
            raise InstallFailed(InstallFault.NOT_UNDONE)
        await self._router.activate(old_sha256)

    async def _await_old(self) -> None:
        await self._poll(self._plan.is_old_at_work)

    async def _readmit_old(self) -> None:
        await self._open([*reversed(self._asked)])

    async def _open(self, tier_ids: Sequence[str]) -> None:
        """Ask each tier once, and again those that were not ready, for a while.

        What is not ready then is left to the last look. Raises the last InstallFailed of a tier
        that could not be asked in the end, after all others were.
        """
        unopened, failed = await self._ask_to_open(tier_ids)
        with trio.move_on_after(_READY_S):
            while unopened:
                await trio.sleep(_POLL_S)
                unopened, failed = await self._ask_to_open(unopened)
        if failed is not None:
            raise failed

    async def _ask_to_open(
        self, tier_ids: Sequence[str]
    ) -> tuple[Sequence[str], InstallFailed | None]:
        """Those that are not open and ready, and why one of them could not be asked."""
        unopened, why = list[str](), None
        for tier_id in tier_ids:
            try:
                is_open = await self._router.readmit(tier_id)
            except InstallFailed as failed:
                is_open, why = False, failed
            if not is_open:
                unopened.append(tier_id)
        return unopened, why

    async def _poll(self, is_so: Callable[[Look], bool]) -> None:
        with trio.move_on_after(self._bounds.start_s):
            while True:
                try:
                    now: Look | None = await self._router.look()
                except InstallFailed:
                    now = None  # it is on its way up or down
                if now is not None and is_so(now):
                    return
                await trio.sleep(_POLL_S)
        raise InstallFailed(InstallFault.NOT_RESTARTED)

    async def _look_soon(self) -> Look | None:
        """What the router says, as soon as it says something; None if it does not in time."""
        with trio.move_on_after(_READY_S):
            while True:
                try:
                    return await self._router.look()
                except InstallFailed:
                    await trio.sleep(_POLL_S)
        return None
