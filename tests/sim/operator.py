"""The operator of a simulated world: orders at the desk, ceilings, members that come and go."""

from random import Random

import trio

from anvil_trio.errors import Problem
from anvil_trio.facts import TierPhase
from anvil_trio.intent.intents import Intents
from anvil_trio.names import MemberId
from anvil_trio.transition.desk import carry_out
from anvil_trio.transition.order import Action, Order
from anvil_trio.views.transition import Drained
from tests.sim.disk import Disk
from tests.support.fake_upstream import FakeCall, FakeUpstream
from tests.support.sim import Reached
from tests.support.small_house import TIER, SmallHouse

__all__ = ["Engine", "Operator", "agreed"]


class Engine(FakeUpstream):
    """Checks that no more requests run on it than its ceiling allows."""

    limit: int | None = None

    async def send(self, request, body) -> FakeCall:
        call = await super().send(request, body)
        self._check()
        return call

    def send_now(self, request, body) -> FakeCall | None:
        call = super().send_now(request, body)
        self._check()
        return call

    def _check(self) -> None:
        running = self.opened - self.closed
        assert self.limit is None or running <= self.limit, "a member above its ceiling"


class Operator:
    """Changes what can be changed while requests run; leaves everything open behind it."""

    def __init__(self, rng: Random, small: SmallHouse, disk: Disk, reached: Reached) -> None:
        self.rng, self.small, self.disk, self.reached = rng, small, disk, reached
        self.members = small.generation.config.tier(TIER).member_ids

    async def work(self) -> None:
        """A few changes, then everything as it was."""
        rng = self.rng
        for _ in range(rng.randint(0, 4)):
            await trio.sleep(rng.choice((0, 0.01, 3, 15)))
            match rng.randrange(5):
                case 0:
                    self.small.ready(*(member for member in self.members if rng.random() < 0.6))
                    self.reached["readiness flipped"] += 1
                case 1 | 2:
                    await self.turn(rng.choice((None, *self.members)))
                case 3:
                    self.set_ceilings(rng.choice((None, 1, 2)))
                    self.reached["reconfigured"] += 1
                case _:
                    await self.retire(rng.choice(self.members))
        self.small.ready(*self.members)

    async def turn(self, member: MemberId | None) -> None:
        """Quiesce, perhaps drain, readmit; any of them may be cut, and the disk may fail."""
        named = member or None
        if await self.order(Action.QUIESCE, named):
            self.reached["quiesced a member" if named else "quiesced a tier"] += 1
            if self.rng.random() < 0.8 and await self.order(Action.DRAIN, named):
                self.reached["drained"] += 1
        while not await self.order(Action.READMIT, named):
            self.reached["an order failed"] += 1

    async def order(self, action: Action, member: MemberId | None) -> bool:
        """Whether the order was carried out; a drain that runs out of time was not."""
        order = Order(action, TIER, member, "sim", timeout_s=self.rng.choice((0.0, 5.0, 400.0)))
        answer = None
        with trio.move_on_after(self.rng.choice((0, 0.001, 5, 1000, 1000))):
            answer = await carry_out(self.small.house, self.small.generation, order)
        if answer is None or isinstance(answer, Problem):
            return False
        return answer.result.drained if isinstance(answer, Drained) else True

    async def retire(self, member: MemberId) -> None:
        """Take a member out of the tier, and back after a while."""
        rest = [each for each in self.members if each != member]
        if not rest:
            return
        self.forget_limits()
        self.small.house.tiers[TIER].reconfigure(dict.fromkeys(rest), None)
        self.reached["a member retired"] += 1
        await trio.sleep(self.rng.choice((0, 1, 20)))
        self.set_ceilings(self.rng.choice((None, 2)))
        self.small.ready(*self.members)

    def set_ceilings(self, each: int | None) -> None:
        """New ceilings; requests that run already may be more for a while."""
        self.forget_limits()
        self.small.house.tiers[TIER].reconfigure(
            dict.fromkeys(self.members, each), self.rng.choice((None, 1, 3))
        )

    def forget_limits(self) -> None:
        """What an engine may have running is no longer known to it."""
        for engine in self.small.engines.values():
            assert isinstance(engine, Engine)
            engine.limit = None


async def agreed(small: SmallHouse, disk: Disk) -> None:
    """What is saved, what is remembered and what the tier does are one; no order holds a place."""
    management = small.house.management
    assert disk.saved == management.intents.current, "the file says something else"
    snapshot = await small.snapshot()
    told = Intents()
    for member in snapshot.members:
        if member.is_quiesced:
            told = told.quiesced(TIER, member.member_id, "any")
    if snapshot.phase is TierPhase.QUIESCED:
        told = told.quiesced(TIER, None, "any")
    assert told.reasons.keys() == management.intents.current.reasons.keys()
    draining = [snapshot.is_draining, *(member.is_draining for member in snapshot.members)]
    assert not any(draining), "a drain outlived its operator"
    assert (await management.places.inspect()).active == 0
    assert (await management.changes.inspect()).active == 0, "the change's place was lost"
