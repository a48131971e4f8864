"""Compares all who count with one another, at every moment at which nothing moves."""

from collections import Counter
from itertools import chain

import trio

from anvil_trio.exchange.phases import LIFE, Held, Phase
from anvil_trio.facts import TierPhase, TierSnapshot
from tests.support.small_house import TIER, SmallHouse

__all__ = ["Books"]


class Books(trio.abc.Instrument):
    """Looks whenever every task of the world is parked: then nothing is on its way.

    An instrument cannot fail the run it looks at, so what it finds is kept for `close`.
    """

    def __init__(self, small: SmallHouse) -> None:
        self._small = small
        self._moving: set[trio.lowlevel.Task] = set()
        self.looks = 0
        self._found: Exception | None = None

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        """Called by trio."""
        self._moving.add(task)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Called by trio."""
        self._moving.discard(task)

    def before_io_wait(self, timeout: float) -> None:
        """Called by trio before it looks for what comes next."""
        if self._moving or self._found is not None:
            return
        self.looks += 1
        try:
            self._compare()
        except Exception as found:
            self._found = found

    def close(self) -> None:
        """Raise what was found."""
        if self._found is not None:
            raise self._found

    def _compare(self) -> None:
        """Members, tier, leases and exchanges; permits and budgets; streams and connections."""
        small = self._small
        phases = [watch.journey.phase for watch in small.house.exchanges._running]
        held = Counter(chain.from_iterable(LIFE[phase].holds for phase in phases))
        tier, door = small.machine(TIER).snapshot(), small.machine("admission").snapshot()
        assert sum(member.active for member in tier.members) == tier.active
        assert tier.active == held[Held.LEASE], (tier.active, phases)
        assert tier.waiting == phases.count(Phase.WAITING), (tier.waiting, phases)
        assert door.active == held[Held.PERMIT], (door.active, phases)
        assert sum(door.active_by_client.values()) == door.active
        server = small.generation.config.server
        assert door.active <= server.max_concurrency
        assert all(door.active_by_client.get(c, 0) <= n for c, n in server.budgets.items())
        running = sum(engine.opened - engine.closed for engine in small.engines.values())
        assert held[Held.STREAM] <= running <= held[Held.LEASE], (running, phases)
        assert not (tier.waiting and _has_a_place(tier)), "somebody waits beside a free place"
        ended = len(phases) + len(small.ring)
        assert ended == small.begun, "a request that neither runs nor was recorded"


def _has_a_place(tier: TierSnapshot) -> bool:
    if tier.phase is not TierPhase.ADMITTING:
        return False
    if tier.max_concurrency is not None and tier.active >= tier.max_concurrency:
        return False
    return any(
        member.is_eligible
        and not member.is_quiesced
        and (member.max_concurrency is None or member.active < member.max_concurrency)
        for member in tier.members
    )
