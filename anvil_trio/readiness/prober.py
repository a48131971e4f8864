"""Who probes when, and the one owner of what is known: it publishes, everybody else reads.

Every member has a loop of its own, so a member that hangs delays no other. Probing never ends: a
member comes back by answering well, without traffic. A request pays for no probe; it waits for one
only while nothing is known of its tier yet.
"""

import math
from collections.abc import Callable, Collection, Mapping

import httpx
import trio

from anvil_trio.config.model import RouterConfig, RouterSettings
from anvil_trio.facts import Readiness, Verdict
from anvil_trio.names import MemberId, TierId
from anvil_trio.readiness.cache import Key, ProbeCache
from anvil_trio.readiness.probe import Plan, probe
from anvil_trio.readiness.verdict import NOT_CONFIGURED, PENDING

__all__ = ["Prober"]

RECOVERY = 4
"""How many times as often a member is asked while it is out: who came back should not wait long."""

Publish = Callable[[TierId, Readiness], None]
Notify = Callable[[Key, Verdict], None]
Observe = Callable[[Key, bool], None]


def _plans(config: RouterConfig, keys: Mapping[TierId, str | None]) -> dict[Key, Plan]:
    """What to ask each member of each tier that is probed."""
    settings = config.router
    return {
        (TierId(tier.id), member_id): Plan(
            health_path=tier.health_path,
            model=tier.model if tier.model_identity else None,
            key=keys.get(TierId(tier.id)),
            timeout_s=settings.availability_probe_timeout,
            max_bytes=settings.availability_probe_max_bytes,
            adopts=tier.is_upstream_owned,
            max_output_tokens=tier.max_output_tokens,
        )
        for tier in config.tiers
        if tier.health_path is not None
        for member_id in tier.member_ids
    }


def _max_age_s(settings: RouterSettings) -> float:
    """How long a result counts: as many whole rounds as timeouts are borne."""
    round_s = settings.availability_probe_interval + 2 * settings.availability_probe_timeout
    return settings.availability_failures * round_s


class Prober:
    """Probes every member of every tier for as long as `run` runs.

    `clients` lead to the members, `keys` are the tiers' own credentials. `publish` is called with
    a rising generation whenever the set of eligible members of a tier changes, `notify` whenever
    a member's verdict does, `observe` after each probe; none may wait or raise.
    """

    def __init__(
        self,
        config: RouterConfig,
        clients: Mapping[Key, httpx.AsyncClient],
        keys: Mapping[TierId, str | None],
        publish: Publish,
        notify: Notify | None = None,
        observe: Observe | None = None,
    ) -> None:
        settings = config.router
        self._clients, self._publish, self._notify = clients, publish, notify
        self._observe = observe
        self._interval_s = settings.availability_probe_interval
        self._plans = _plans(config, keys)
        self._probed = tuple({tier_id: None for tier_id, _ in self._plans})
        self._unprobed = {
            TierId(tier.id): frozenset(tier.member_ids)
            for tier in config.tiers
            if tier.health_path is None
        }
        self._cache = ProbeCache(
            self._plans, failures=settings.availability_failures, max_age_s=_max_age_s(settings)
        )
        self._told: dict[Key, tuple[bool, str]] = {}
        self._loops: dict[Key, trio.CancelScope] = {}
        self._hurry: dict[Key, trio.Event] = {key: trio.Event() for key in self._plans}
        self._nursery: trio.Nursery | None = None
        self._settled = trio.lowlevel.ParkingLot()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Probe until cancelled; leaves no connection behind."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                for tier_id, members in self._unprobed.items():
                    self._publish(tier_id, Readiness(1, members))
                for key in self._plans:
                    self._start(key)
                nursery.start_soon(self._watch_age)
                task_status.started()
                await trio.sleep_forever()
            finally:
                self._nursery = None

    def verdict(self, tier_id: TierId, member_id: MemberId) -> Verdict:
        """What is known of one member now. KeyError for a member that does not exist."""
        if member_id in self._unprobed.get(tier_id, ()):
            return NOT_CONFIGURED
        return self._cache.verdict((tier_id, member_id), trio.current_time())

    def readiness(self, tier_id: TierId) -> Readiness | None:
        """What was published last of a tier; None while nothing is known of it."""
        unprobed = self._unprobed.get(tier_id)
        return self._cache.published(tier_id) if unprobed is None else Readiness(1, unprobed)

    def invalidate(self, tier_id: TierId, member_id: MemberId | None = None) -> None:
        """Forget one member, or all of a tier, and ask again at once.

        They are ineligible from this step until they have answered anew; a probe that began
        before can publish nothing (RACE-02). Nothing changes for a tier that is not probed.
        """
        ids = self._cache.members(tier_id) if member_id is None else (member_id,)
        keys = [(tier_id, each) for each in ids if (tier_id, each) in self._plans]
        for key in keys:
            self._cache.invalidate(key)
            self._start(key)
        if keys:
            self._announce(tier_id)

    def hasten(self, tier_id: TierId, member_id: MemberId) -> None:
        """Ask one member now and not when its time comes: somebody could not reach it.

        What is known of it stands until it has answered. However often this is called, one probe
        follows, after the one that may be under way. Nothing happens for a tier that is not probed.
        """
        if (tier_id, member_id) in self._hurry:
            self._hurry[tier_id, member_id].set()

    async def probe_anew(self, tier_id: TierId, member_id: MemberId | None = None) -> None:
        """Forget as `invalidate` does, then wait until each that was forgotten has a new verdict.

        A first timeout is no verdict, so a member that hangs is waited for through several probes;
        the caller's scope is the bound. Returns at once for a tier that is not probed.
        """
        self.invalidate(tier_id, member_id)
        asked = [key for key in self._plans if key[0] == tier_id and member_id in {None, key[1]}]
        await self._until_judged(asked)

    async def until_known(self) -> None:
        """Wait until every member has a verdict; the caller's scope is the bound."""
        await self._until_judged(tuple(self._plans))

    async def _until_judged(self, keys: Collection[Key]) -> None:
        while any(self._cache.verdict(key, math.inf).checked_at is None for key in keys):
            await self._settled.park()

    def _start(self, key: Key) -> None:
        """Give a member a new loop in the place of the one it had."""
        if self._nursery is None:
            return
        if key in self._loops:
            self._loops[key].cancel()
        self._loops[key] = scope = trio.CancelScope()
        self._nursery.start_soon(self._loop, key, self._cache.generation(key), scope)

    async def _loop(self, key: Key, generation: int, scope: trio.CancelScope) -> None:
        with scope:
            while True:
                began = trio.current_time()
                self._hurry[key] = trio.Event()
                found = await probe(self._clients[key], self._plans[key])
                now = trio.current_time()
                if not self._cache.settle(key, generation, found.after(now - began), now):
                    return  # begun before an invalidation; that one started another loop
                if self._observe is not None:
                    self._observe(key, found.verdict.is_ready)
                self._announce(key[0])
                self._settled.unpark_all()
                with trio.move_on_at(began + self._pause_s(key)):
                    await self._hurry[key].wait()

    def _pause_s(self, key: Key) -> float:
        """From the start of one probe to that of the next: a member that is out is asked sooner."""
        is_ready = self._cache.verdict(key, trio.current_time()).is_ready
        return self._interval_s if is_ready else self._interval_s / RECOVERY

    async def _watch_age(self) -> None:
        """Publish what has become too old, though nobody reads it and no probe ends."""
        while True:
            await trio.sleep_until(self._cache.next_expiry(trio.current_time()))
            for tier_id in self._probed:
                self._announce(tier_id)

    def _announce(self, tier_id: TierId) -> None:
        """Publish and tell what has changed in a tier since the last time."""
        now = trio.current_time()
        news = self._cache.news(tier_id, now)
        if news is not None:
            self._publish(tier_id, news)
        for member_id in self._cache.members(tier_id):
            self._tell((tier_id, member_id), now)

    def _tell(self, key: Key, now: float) -> None:
        verdict = self._cache.verdict(key, now)
        said = (verdict.is_ready, verdict.reason)
        if self._notify is not None and self._told.get(key, (False, PENDING.reason)) != said:
            self._told[key] = said
            self._notify(key, verdict)
