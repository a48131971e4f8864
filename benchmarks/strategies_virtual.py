"""The strategies on virtual time: the real tier actor, simulated engines, no socket, no noise."""

from dataclasses import dataclass, field
from functools import partial

import trio
from trio.testing import MockClock

from anvil_trio.actors.messages import Refused
from anvil_trio.actors.supervise import open_actors
from anvil_trio.demo.slots import Pace, SlotPool
from anvil_trio.facts import Freshness, Pressure, Readiness
from anvil_trio.names import ClientId, MemberId, OwnerId, SessionId, TierId
from anvil_trio.tiers import ranking
from anvil_trio.tiers.actor import TierActor, TierHandle
from benchmarks.conversations import Conversation, PrefixMemory
from benchmarks.strategies_plan import Plan, Row, Strategy

__all__ = ["measure"]

MEMBERS = (MemberId("a"), MemberId("b"))
CLIENT = ClientId("c")
READING_S = 1.0


@dataclass
class Engine:
    """Slots, a memory of prompts, and how many requests it has served in the measured time."""

    pool: SlotPool
    memory: PrefixMemory
    served: int = 0

    async def serve(self, conversation: Conversation, tokens: int) -> None:
        prompt = self.memory.tokens_to_read(conversation.name, conversation.prompt_tokens)
        async with self.pool.slot(prompt) as slot:
            await slot.written(tokens)


@dataclass
class World:
    """One strategy at work."""

    plan: Plan
    strategy: Strategy
    engines: dict[MemberId, Engine]
    latencies: list[float] = field(default_factory=list)

    @property
    def is_measuring(self) -> bool:
        return trio.current_time() - self.started_at >= self.plan.warm_up_s

    async def run(self) -> None:
        """Callers ask for as long as the plan says."""
        self.started_at = trio.current_time()
        async with open_actors(_crashed) as actors:
            ceiling = self.plan.slots if self.strategy.has_ceilings else None
            how = ranking.Strategy("capacity" if self.strategy.is_capacity else "round_robin")
            total = None if ceiling is None else ceiling * len(MEMBERS)
            actor = TierActor(TierId("t"), dict.fromkeys(MEMBERS, ceiling), total, how)
            actors.start(actor)
            tier = actor.handle(OwnerId(1))
            tier.set_readiness(Readiness(1, frozenset(MEMBERS)))
            with trio.move_on_after(self.plan.warm_up_s + self.plan.measured_s):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self.read_engines, tier)
                    for number in range(self.plan.callers):
                        nursery.start_soon(self.call, tier, Conversation(number))

    async def read_engines(self, tier: TierHandle) -> None:
        """What the router's sampler would do."""
        while True:
            tier.set_signals({
                name: _pressure(engine.pool, self.plan.slots)
                for name, engine in self.engines.items()
            })
            await trio.sleep(READING_S)

    async def call(self, tier: TierHandle, conversation: Conversation) -> None:
        """Ask again as soon as the last answer is there."""
        while True:
            began = trio.current_time()
            session = SessionId(conversation.name) if self.strategy.has_affinity else None
            got = await tier.acquire(CLIENT, session)
            assert not isinstance(got, Refused)
            with got as lease:
                engine = self.engines[lease.member_id]
                await engine.serve(conversation, self.plan.tokens)
            if self.is_measuring:
                engine.served += 1
                self.latencies.append(trio.current_time() - began)
            conversation.next_turn()


def measure(plan: Plan, strategy: Strategy) -> Row:
    """One strategy over the plan's engines, in a second or so whatever the plan's time is."""
    engines = {
        member: Engine(SlotPool(plan.slots, Pace(*speed)), PrefixMemory(plan.remembered))
        for member, speed in zip(MEMBERS, plan.speeds(), strict=True)
    }
    world = World(plan, strategy, engines)
    trio.run(partial(world.run), clock=MockClock(autojump_threshold=0))
    latencies = sorted(world.latencies)
    memories = [engine.memory for engine in engines.values()]
    read, reused = (sum(getattr(m, what) for m in memories) for what in ("read", "reused"))
    return Row(
        strategy=strategy.name,
        requests_per_second=len(latencies) / plan.measured_s,
        p50_s=latencies[len(latencies) // 2],
        p95_s=latencies[len(latencies) * 95 // 100],
        reused=reused / (read + reused),
        served=tuple(engine.served for engine in engines.values()),
    )


def _pressure(pool: SlotPool, slots: int) -> Pressure:
    return Pressure(Freshness.FRESH, -(-(pool.running + pool.waiting) * 1_000_000 // slots))


def _crashed(name: str, why: Exception) -> None:
    raise AssertionError(name) from why
