"""Who reads the engines' metrics, and when: two workers in the background, never a request.

Whoever ranks or shows an engine's numbers looks at what was read last. An engine that hangs costs
one worker one second, less and less often, and nobody anything else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import httpx
import trio

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.facts import Pressure, Silence
from anvil_trio.names import MemberId, TierId
from anvil_trio.net.small_get import get_small
from anvil_trio.signals.board import Board, Key
from anvil_trio.signals.engines import Engine, Fault, Observation, engine_of, observe
from anvil_trio.signals.freshness import FRESH_S, Signal
from anvil_trio.signals.prometheus_text import MAX_TEXT_BYTES

__all__ = ["Sampler"]

_PATH = "/metrics"
_ACCEPT = "text/plain; version=0.0.4, text/plain; q=0.5"
_WORKERS = 2
_TIMEOUT_S = 1.0

Publish = Callable[[TierId, Mapping[MemberId, Pressure]], None]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one engine is asked."""

    engine: Engine
    model: str | None
    key: str | None = field(repr=False)


class Sampler:
    """Reads every member of capacity tiers and every direct tier whose engine is known.

    `clients` lead to the members, `keys` are the tiers' own credentials. `publish` is called
    whenever the pressures of a capacity tier change, by a reading or by age; it must neither
    wait nor raise.
    """

    def __init__(
        self,
        config: RouterConfig,
        clients: Mapping[Key, httpx.AsyncClient],
        keys: Mapping[TierId, str | None],
        publish: Publish,
    ) -> None:
        self._clients, self._publish = clients, publish
        self._plans: dict[Key, _Plan] = {}
        ceilings: dict[Key, int | None] = {}
        for tier in config.tiers:
            tier_id, engine = TierId(tier.id), engine_of(tier.engine)
            if engine is None or not _is_watched(tier):
                continue
            for member_id, ceiling in tier.member_ceilings.items():
                self._plans[tier_id, member_id] = _Plan(engine, tier.model, keys.get(tier_id))
                ceilings[tier_id, member_id] = ceiling if tier.is_replica else tier.ceiling
        ranked = [TierId(tier.id) for tier in config.tiers if tier.is_capacity]
        self._board = Board(ceilings, ranked, now=0.0)  # due at once, whatever the clock says

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read until cancelled; leaves no connection behind."""
        async with trio.open_nursery() as nursery:
            for _ in range(min(_WORKERS, len(self._plans))):
                nursery.start_soon(self._work)
            nursery.start_soon(self._watch_age)
            self._announce()
            task_status.started()
            await trio.sleep_forever()

    def signal(self, tier_id: TierId, member_id: MemberId) -> Signal:
        """What is known of one member's engine now. Looks at the cache and asks nobody."""
        return self._board.signal((tier_id, member_id), trio.current_time())

    async def _work(self) -> None:
        while True:
            key = await self._turn()
            began_at = trio.current_time()
            found = await self._read(key)
            self._board.settle(key, found, began_at=began_at, now=trio.current_time())
            self._announce()

    async def _turn(self) -> Key:
        """Wait until an engine is due, and take it; there are never more workers than engines."""
        while True:
            key, due_at = self._board.next_due()
            if due_at <= trio.current_time():
                self._board.begin(key)
                return key
            await trio.sleep_until(due_at)

    async def _read(self, key: Key) -> Observation | Fault:
        plan = self._plans[key]
        query = {"model": plan.model} if plan.engine.asks_by_model and plan.model else None
        said = await get_small(
            self._clients[key],
            _PATH,
            key=plan.key,
            timeout_s=_TIMEOUT_S,
            max_bytes=MAX_TEXT_BYTES,
            query=query,
            accept=_ACCEPT,
        )
        if isinstance(said, Silence):
            return Fault.TIMED_OUT if said is Silence.TIMED_OUT else Fault.TRANSPORT
        if said.status != HTTPStatus.OK:
            return Fault.HTTP
        if said.body is None:
            return Fault.OVERSIZED
        return observe(plan.engine, said.body, plan.model)

    async def _watch_age(self) -> None:
        """Tell what has grown too old, though no reading ends."""
        while True:
            now = trio.current_time()
            # A reading under way has begun a second ago at most, and counts from its beginning.
            soonest = now + FRESH_S - _TIMEOUT_S
            await trio.sleep_until(min(self._board.next_expiry(now), soonest))
            self._announce()

    def _announce(self) -> None:
        for tier_id, pressures in self._board.news(trio.current_time()):
            self._publish(tier_id, pressures)


def _is_watched(tier: Tier) -> bool:
    """Whether anybody looks: a round-robin tier neither ranks nor shows its members' load."""
    return tier.is_capacity or not tier.is_replica
