"""Modes: two GPUs for one serve, or each for its own; and profiles, which are modes by a name."""

from dataclasses import dataclass

from anvil_trio.lifecycle.desk import Desk, guard
from anvil_trio.lifecycle.engines import Engines
from anvil_trio.lifecycle.events import EventKind
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed
from anvil_trio.lifecycle.files import Captured
from anvil_trio.lifecycle.journal import Journal
from anvil_trio.lifecycle.model import Mode, Serve
from anvil_trio.lifecycle.plans import (
    Configs,
    ModeState,
    Times,
    affected_by_mode,
    find_mode,
    plan_enter,
    plan_leave,
    victims_of,
)
from anvil_trio.lifecycle.progress import Goal, turn
from anvil_trio.lifecycle.promote import Outcome

__all__ = ["ModeOrder", "ModeShown", "change_mode", "preview_mode", "show_mode"]

_DRAIN_S = 120.0


@dataclass(frozen=True, slots=True)
class ModeOrder:
    """Which mode is wanted. `subject` is the name under which its event is recorded."""

    mode: Mode
    target: Serve
    group: str
    startup_timeout_s: float
    poll_interval_s: float
    subject: str

    @property
    def times(self) -> Times:
        """The bounds of its steps."""
        return (self.startup_timeout_s, _DRAIN_S, self.poll_interval_s)


@dataclass(frozen=True, slots=True)
class ModeShown:
    """How the GPUs are used, and by whom."""

    state: ModeState
    running: tuple[str, ...]


async def show_mode(engines: Engines) -> ModeShown:
    """How things are; no configuration is needed, and nothing is changed."""
    running = [serve for serve in await engines.running() if serve.uses_gpu]
    return ModeShown(find_mode(running), tuple(serve.name for serve in running))


async def preview_mode(desk: Desk, order: ModeOrder) -> Journal:
    """The operation as it would begin now; guarded first, and nothing is changed."""
    configs = _guard(desk, order)
    return _planned(desk, order, await desk.engines.running(), configs)


async def change_mode(desk: Desk, order: ModeOrder) -> Outcome | None:
    """Make it so; None if it is so already. Whatever fails is undone as far as it can be.

    An operation of the same target that broke off is taken up: towards the same side, or back.
    Raises LifecycleFailed if it was refused, and then nothing was changed.
    """
    configs = _guard(desk, order)
    with desk.lock():
        taken_up = await _finish(desk, order)
        if taken_up is not None and not taken_up.is_success:
            return taken_up
        if affected_by_mode(desk.manifest, order.target, order.group):
            await desk.router.installed()  # it can be asked, or it does not run
        running = await desk.engines.running()
        if _is_so(desk, order, running):
            return taken_up
        journal = _planned(desk, order, running, configs)
        return await _walk(desk, order, desk.store.create(journal, _bytes_of(configs)))


async def _finish(desk: Desk, order: ModeOrder) -> Outcome | None:
    """What came of the operation that broke off; None if there is none."""
    journal = desk.store.unfinished()
    if journal is None:
        return None
    progress = turn(journal.progress, _goal(order))
    if (journal.kind, journal.name) != ("mode", order.target.name) or progress is None:
        raise LifecycleFailed(Fault.UNFINISHED)
    desk.check(journal)
    return await _walk(desk, order, journal.at(progress))


def _goal(order: ModeOrder) -> Goal:
    return Goal.TARGET if order.mode is Mode.EXCLUSIVE else Goal.ROLLBACK


def _guard(desk: Desk, order: ModeOrder) -> tuple[Captured, ...]:
    """T012.2: the union of tiers in the active configuration, the target's in its own as well."""
    manifest, target = desk.manifest, order.target
    guard(affected_by_mode(manifest, target, order.group), desk.active.config)
    if not target.router_config:
        return ()
    configs = (desk.capture(target.router_config), desk.capture(target.rollback_router_config))
    desk.guard_install([target.router_tier], *configs)
    return configs


def _planned(
    desk: Desk, order: ModeOrder, running: tuple[Serve, ...], captured: tuple[Captured, ...]
) -> Journal:
    configs: Configs = (captured[0].sha256, captured[1].sha256) if captured else (None, None)
    if order.mode is Mode.EXCLUSIVE:
        return plan_enter(desk.manifest, order.target, running, configs, order.times)
    return plan_leave(desk.manifest, order.target, order.group, running, configs, order.times)


def _is_so(desk: Desk, order: ModeOrder, running: tuple[Serve, ...]) -> bool:
    is_exclusive = order.target in running
    if order.mode is Mode.EXCLUSIVE:
        return is_exclusive and not any(
            victim in running for victim in victims_of(desk.manifest, order.target)
        )
    members = desk.manifest.group(order.group)
    return not is_exclusive and all(member in running for member in members)


def _bytes_of(captured: tuple[Captured, ...]) -> dict[str, bytes]:
    return {each.sha256: each.data for each in captured if each.sha256 is not None}


async def _walk(desk: Desk, order: ModeOrder, journal: Journal) -> Outcome:
    tiers = affected_by_mode(desk.manifest, order.target, order.group)
    wanted = journal.goal
    journal = await desk.switch(is_routed=bool(tiers)).walk(journal)
    if not journal.progress.is_finished:
        return Outcome(journal, wanted)
    is_entered = journal.goal is Goal.TARGET
    kind = EventKind.PROFILE_ENTER if is_entered else EventKind.PROFILE_LEAVE
    return Outcome(journal, wanted, await desk.events.record(kind, order.subject, journal.id))
