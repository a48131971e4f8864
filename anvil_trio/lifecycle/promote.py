"""Promotions: one serve takes over from another behind the same tiers, and the way back."""

import msgspec

from anvil_trio.lifecycle.desk import Desk
from anvil_trio.lifecycle.events import EventKind
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed
from anvil_trio.lifecycle.files import Captured
from anvil_trio.lifecycle.journal import Journal
from anvil_trio.lifecycle.model import Promotion
from anvil_trio.lifecycle.plans import plan_promotion
from anvil_trio.lifecycle.progress import Goal, Progress, resume, roll_back

__all__ = ["Outcome", "preview", "promote", "resume_promotion", "roll_back_promotion"]

_KIND = "promotion"


class Outcome(msgspec.Struct, frozen=True):
    """How an operation ended, which side was wanted, and whether its event was recorded.

    None for the latter: there was none, because something is left to do.
    """

    journal: Journal
    wanted: Goal
    is_recorded: bool | None = None

    @property
    def is_success(self) -> bool:
        """Whether what was asked for is so now."""
        return self.journal.progress.is_finished and self.journal.goal is self.wanted


def preview(desk: Desk, plan: Promotion) -> Journal:
    """The operation as it would begin; guarded, and nothing else is touched."""
    return _planned(desk, plan)[0]


async def promote(desk: Desk, plan: Promotion) -> Outcome:
    """Let the target take over; whatever fails is undone as far as it can be.

    Raises LifecycleFailed if it was refused, and then nothing was changed.
    """
    journal, captured = _planned(desk, plan)
    with desk.lock():
        _refuse_unfinished(desk)
        if await desk.router.installed() is None:
            raise LifecycleFailed(Fault.NO_ROUTER)
        if await desk.router.installed() != desk.active.sha256:
            raise LifecycleFailed(Fault.NOT_THE_CONFIG)
        journal = desk.store.create(journal, _by_digest(captured))
        return await _walk(desk, journal)


async def resume_promotion(desk: Desk, plan: Promotion) -> Outcome:
    """Take up what is left of the plan's last operation, towards the same goal."""
    _guard(desk, plan)
    with desk.lock():
        journal = _last(desk, plan)
        progress = None if journal is None else resume(journal.progress)
        if journal is None or progress is None:
            raise LifecycleFailed(Fault.NOTHING_TO_RESUME)
        desk.check(journal)
        return await _walk(desk, journal.at(progress))


async def roll_back_promotion(desk: Desk, plan: Promotion) -> Outcome:
    """Let the rollback serve take over again, from wherever the plan's last operation is."""
    _guard(desk, plan)
    with desk.lock():
        journal = _last(desk, plan)
        progress = None if journal is None else roll_back(journal.progress)
        if journal is None or progress is None:
            raise LifecycleFailed(Fault.NOTHING_TO_ROLL_BACK)
        desk.check(journal)
        if journal.progress.is_finished:
            _refuse_unfinished(desk)
            journal = _again(desk, journal, progress)
        return await _walk(desk, journal.at(progress))


def _guard(desk: Desk, plan: Promotion) -> tuple[Captured, Captured]:
    """Both configurations of the plan as they are now, if its tiers are direct in them."""
    captured = (desk.capture(plan.router_config), desk.capture(plan.rollback_router_config))
    desk.guard_install(plan.affected_tiers, *captured)
    return captured


def _planned(desk: Desk, plan: Promotion) -> tuple[Journal, tuple[Captured, Captured]]:
    captured = _guard(desk, plan)
    digests = (captured[0].sha256, captured[1].sha256)
    return plan_promotion(plan, desk.manifest, digests, str(desk.folder)), captured


def _by_digest(captured: tuple[Captured, ...]) -> dict[str, bytes]:
    return {each.sha256: each.data for each in captured if each.sha256 is not None}


def _again(desk: Desk, journal: Journal, progress: Progress) -> Journal:
    """A new operation about what an older one was about, with the same bytes."""
    digests = {journal.target.config_sha256, journal.rollback.config_sha256} - {None}
    configs = {
        digest: data
        for digest in digests
        if digest is not None and (data := desk.store.config(journal, digest)) is not None
    }
    fresh = msgspec.structs.replace(journal.at(progress), error=None)
    return desk.store.create(fresh, configs)


def _last(desk: Desk, plan: Promotion) -> Journal | None:
    return desk.store.latest(_KIND, plan.name)


def _refuse_unfinished(desk: Desk) -> None:
    if desk.store.unfinished() is not None:
        raise LifecycleFailed(Fault.UNFINISHED)


async def _walk(desk: Desk, journal: Journal) -> Outcome:
    wanted = journal.goal
    journal = await desk.switch(is_routed=True).walk(journal)
    if not journal.progress.is_finished:
        return Outcome(journal, wanted)
    is_back = journal.goal is Goal.ROLLBACK
    kind = EventKind.PROMOTE_ROLLED_BACK if is_back else EventKind.PROMOTE_APPLIED
    return Outcome(journal, wanted, await desk.events.record(kind, journal.name, journal.id))
