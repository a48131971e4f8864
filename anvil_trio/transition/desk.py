"""Carries out an operator's orders: each one is a message to the actor that it is about.

Nothing here remembers anything. What gates a change is asked of the tier's actor; what is intended
is kept by the house's keeper, and saved before an actor hears of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import trio

from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.decisions.events import DrainChanged, DrainPhase, IntentChanged
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.facts import TierPhase
from anvil_trio.intent.intents import Intents
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.names import LEGACY_CLIENT, MemberId, TierId
from anvil_trio.tiers.messages import Drained
from anvil_trio.transition.order import (
    NO_MEMBER,
    NOT_QUIESCED,
    Action,
    Order,
    find_target_fault,
)
from anvil_trio.views.shape import ABSENT, Shape
from anvil_trio.views.transition import Drained as DrainedAnswer
from anvil_trio.views.transition import (
    DrainResult,
    DryRun,
    Intent,
    Quiesced,
    ReadmitResult,
    Readmitted,
    TransitionStatus,
    judge_readmission,
    project_row,
    project_snapshot,
)

__all__ = ["carry_out"]

_SLACK_S = 1.0
"""How much longer than a probe may take its verdict is waited for."""

_FAILED = problem(Code.TRANSITION_FAILED)


async def carry_out(house: House, generation: Generation, order: Order) -> Shape | Problem:
    """Do what is ordered, and say what has become of it.

    If cancelled, an order that changes something has been carried out whole or not at all; a drain
    only ends its waiting.
    """
    fault = find_target_fault(order, generation.config)
    if fault is not None:
        return fault
    if order.tier_id is None or order.action is Action.STATUS:
        return await _status(house, generation, order.tier_id, order.member_id)
    if order.is_dry_run:
        return _dry(order, order.tier_id)
    desk = _Desk(house, generation, order, order.tier_id)
    is_drain = order.action is Action.DRAIN
    management = house.management
    got = await (management.drains if is_drain else management.changes).enter(LEGACY_CLIENT)
    if isinstance(got, Refused):
        return _refused(got)
    with got:
        if is_drain:
            return await desk.drain()
        return await (desk.quiesce() if order.action is Action.QUIESCE else desk.readmit())


def _refused(why: Refused) -> Problem:
    """What a place that was not given means for the operator."""
    is_busy = why.reason is RefusalReason.SERVER_BUSY
    return problem(Code.SERVER_BUSY) if is_busy else _FAILED


class _Desk:
    """One order about one tier or member, on its way."""

    def __init__(self, house: House, generation: Generation, order: Order, tier_id: TierId) -> None:
        self._house, self._generation, self._order = house, generation, order
        self._tier_id, self._member_id = tier_id, order.member_id
        self._handle = house.tiers[tier_id]
        self._intents = house.management.intents

    async def quiesce(self) -> Shape | Problem:
        """R011: from this step on nothing new is leased, and whoever waits is refused."""
        wanted = self._intents.current.quiesced(self._tier_id, self._member_id, self._order.reason)
        if not await self._intend(wanted, is_quiesced=True):
            return _FAILED
        return Quiesced(result=await self._snapshot())

    async def drain(self) -> Shape | Problem:
        """R011: wait until no lease is left; running out of time is an answer, not a failure."""
        reply: Drained | Refused | None = None
        with self._announced_drain() as announced, trio.move_on_after(self._order.timeout_s):
            reply = await self._handle.drain(self._member_id)
            announced.is_drained = isinstance(reply, Drained)
        if isinstance(reply, Refused):
            return _DRAIN_REFUSALS.get(reply.reason, _FAILED)
        is_drained = reply is not None
        snapshot = await self._snapshot()
        return DrainedAnswer(
            result=DrainResult(drained=is_drained, timed_out=not is_drained, snapshot=snapshot)
        )

    async def readmit(self) -> Shape | Problem:
        """Probe anew, and open only what is ready; what is open already is not disturbed."""
        if (await self._handle.inspect()).phase is TierPhase.FAILED:
            return _FAILED
        tier = self._generation.config.tier(self._tier_id)
        is_closed = self._intents.current.reason(self._tier_id, self._member_id) is not None
        if is_closed:
            with trio.move_on_after(_probe_bound_s(self._generation.config)):
                await self._generation.probe_anew(self._tier_id, self._member_id)
        found = judge_readmission(tier, self._member_id, self._generation.verdict_of)
        if is_closed and found.is_granted:
            wanted = self._intents.current.readmitted(self._tier_id, self._member_id)
            if not await self._intend(wanted, is_quiesced=False):
                return _FAILED
        status = await _status(self._house, self._generation, self._tier_id, self._member_id)
        return Readmitted(
            result=ReadmitResult(readmitted=found.is_granted, reason=found.reason, status=status)
        )

    async def _intend(self, wanted: Intents, *, is_quiesced: bool) -> bool:
        """Save the intent, then tell the actor in the same step: no cancel comes in between."""
        before = self._intents.current.reason(self._tier_id, self._member_id) is not None
        if not await self._intents.keep(wanted):
            return False
        self._handle.set_quiesced(is_quiesced, member_id=self._member_id)
        if before != is_quiesced:
            self._announce(is_quiesced=is_quiesced)
        return True

    def _announce(self, *, is_quiesced: bool) -> None:
        self._house.bus.publish(IntentChanged(self._tier_id, self._member_id, is_quiesced))
        log_event(
            LogEvent.INTENT_CHANGED,
            tier=self._tier_id,
            member=self._member_id,
            quiesced=is_quiesced,
        )

    @contextmanager
    def _announced_drain(self) -> Iterator["_Drain"]:
        """Tell whoever watches that a drain has begun and, however the block is left, its end.

        The keeper knows in this step whether the actor will refuse; then there is nothing to tell.
        """
        drain = _Drain()
        if self._intents.current.reason(self._tier_id, self._member_id) is None:
            yield drain
            return
        self._tell_of_drain(DrainPhase.STARTED)
        try:
            yield drain
        finally:
            self._tell_of_drain(DrainPhase.DRAINED if drain.is_drained else DrainPhase.ABANDONED)

    def _tell_of_drain(self, phase: DrainPhase) -> None:
        self._house.bus.publish(DrainChanged(self._tier_id, self._member_id, phase))

    async def _snapshot(self) -> Intent:
        tier = self._generation.config.tier(self._tier_id)
        snapshot = await self._handle.inspect()
        return project_snapshot(tier, self._member_id, snapshot, self._intents.current)


@dataclass(slots=True)
class _Drain:
    is_drained: bool = False


_DRAIN_REFUSALS = {
    RefusalReason.NOT_QUIESCED: NOT_QUIESCED,
    RefusalReason.UNKNOWN_MEMBER: NO_MEMBER,
}


def _dry(order: Order, tier_id: TierId) -> DryRun:
    assert order.action is not Action.STATUS, "a status changes nothing"
    return DryRun(
        action=order.action.value,
        tier_id=tier_id,
        member_id=ABSENT if order.member_id is None else order.member_id,
    )


async def _status(
    house: House, generation: Generation, tier_id: TierId | None, member_id: MemberId | None
) -> TransitionStatus:
    """One row per tier, in the order of the file; or the one that is asked for."""
    tiers: list[Tier] = [
        tier for tier in generation.config.tiers if tier_id is None or tier.id == tier_id
    ]
    rows = [
        project_row(
            tier,
            member_id,
            await house.tiers[TierId(tier.id)].inspect(),
            house.management.intents.current,
            generation.verdict_of,
        )
        for tier in tiers
    ]
    return TransitionStatus(tiers=rows)


def _probe_bound_s(config: RouterConfig) -> float:
    """A probe asks twice, and each question has its own timeout."""
    return 2 * config.router.availability_probe_timeout + _SLACK_S
