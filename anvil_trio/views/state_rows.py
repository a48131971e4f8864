"""The gauges of `GET /metrics`: how doors, tiers, members and aliases stand at one moment.

A count that cannot be trusted, and a number that is not known, has no row: never 0 (T005.1). Nobody
is asked here: verdicts, counters and what the engines said were known before.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from anvil_trio.admission.messages import AdmissionSnapshot
from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.facts import Freshness, TierPhase
from anvil_trio.meters import state_metrics as metrics
from anvil_trio.meters.metric import Metric
from anvil_trio.names import DIRECT_MEMBER, Alias, MemberId, TierId
from anvil_trio.signals.freshness import Signal
from anvil_trio.views.admission import ShownAdmission, Snapshots, show_admission
from anvil_trio.views.readiness import ShownReadiness, VerdictOf, join_readiness, show_readiness
from anvil_trio.views.signals import SignalOf

__all__ = ["Row", "StateRows"]

Row = tuple[tuple[str, ...], float]
"""The values of a metric's labels, in their order, and the number."""


class StateRows:
    """What stands now, in rows by metric; whole once `work` has ended.

    With `only` the rows of other aliases and other tiers, and of operations, are left out. `now` is
    trio's time.
    """

    def __init__(
        self,
        config: RouterConfig,
        verdict_of: VerdictOf,
        signal_of: SignalOf,
        snapshots: Snapshots,
        door: AdmissionSnapshot,
        *,
        now: float,
        only: Alias | None = None,
        operations: Sequence[tuple[str, str, int]] = (),
    ) -> None:
        self._verdict_of, self._signal_of = verdict_of, signal_of
        self._snapshots, self._door, self._now = snapshots, door, now
        self._aliases: dict[TierId, list[str]] = {}
        for alias, tier_id in config.routes.items():
            if only is None or alias == only:
                self._aliases.setdefault(tier_id, []).append(alias)
        self._tiers = [tier for tier in config.tiers if TierId(tier.id) in self._aliases]
        self._operations = operations if only is None else ()
        self._rows: dict[Metric, list[Row]] = {metric: [] for metric in metrics.ALL}

    def of(self, metric: Metric) -> Iterable[Row]:
        """The rows of one metric of `state_metrics`."""
        return self._rows[metric]

    def work(self) -> Iterator[None]:
        """Do all of it, one tier in each piece."""
        if not self._door.is_failed:
            self._put(metrics.ADMITTED, (), self._door.active)
            self._put(metrics.ADMISSION_CEILING, (), self._door.max_concurrency)
        for workflow_id, state, number in self._operations:
            self._put(metrics.OPERATIONS, (workflow_id, state), number)
        for tier in self._tiers:
            self._put_readiness(tier)
            self._put_counters(tier, show_admission(tier, self._snapshots.get(TierId(tier.id))))
            yield

    def _put(self, metric: Metric, labels: tuple[str, ...], number: float | None) -> None:
        if number is not None:
            self._rows[metric].append((labels, number))

    def _put_readiness(self, tier: Tier) -> None:
        tier_id, shown = TierId(tier.id), list[ShownReadiness]()
        served = tier
        for member_id in tier.member_ids:
            verdict = self._verdict_of(tier_id, member_id)
            readiness = show_readiness(tier, verdict)
            shown.append(readiness)
            served = tier.adopting(verdict.served)
            self._put(metrics.MEMBER_READY, (tier_id, member_id), readiness.is_ready)
            if verdict.checked_at is not None:
                age_s = max(self._now - verdict.checked_at, 0.0)
                self._put(metrics.PROBE_AGE, (tier_id, member_id), age_s)
        whole = join_readiness(shown) if tier.is_replica else shown[0]
        self._put_models(served, is_ready=whole.is_ready)

    def _put_models(self, tier: Tier, *, is_ready: bool) -> None:
        """The same numbers for each alias of the tier: they are one projection."""
        for alias in self._aliases[TierId(tier.id)]:
            labels = (alias, tier.id)
            self._put(metrics.MODEL_LOADED, labels, is_ready)
            self._put(metrics.MODEL_CONTEXT, labels, tier.context_limit)
            self._put(metrics.MODEL_CACHE, labels, _declared(tier, "kv_cache_capacity_tokens"))
            self._put(metrics.MODEL_IMAGES, labels, _declared(tier, "image_limit"))
            seen = None if tier.is_replica else self._signal(tier, DIRECT_MEMBER).observation
            if seen is not None:
                self._put(metrics.MODEL_RUNNING, labels, seen.requests_running)
                self._put(metrics.MODEL_WAITING, labels, seen.requests_waiting)
                self._put(metrics.MODEL_CACHE_USE, labels, seen.kv_cache_usage_fraction)

    def _put_counters(self, tier: Tier, shown: ShownAdmission) -> None:
        tier_id = tier.id
        if shown.state is not None:
            is_admitting = shown.state == TierPhase.ADMITTING
            self._put(metrics.TIER_ADMITTING, (tier_id,), is_admitting)
        self._put(metrics.TIER_ACTIVE, (tier_id,), shown.active)
        self._put(metrics.TIER_WAITING, (tier_id,), shown.waiting)
        if not tier.is_replica:
            return
        self._put(metrics.REPLICA_TIER_ACTIVE, (tier_id,), shown.active)
        self._put(metrics.REPLICA_TIER_CEILING, (tier_id,), shown.max_concurrency)
        members = shown.members or {}
        for member_id in tier.member_ids:
            labels = (tier_id, member_id)
            if member_id in members:
                member = members[member_id]
                self._put(metrics.REPLICA_MEMBER_ACTIVE, labels, member.active)
                self._put(metrics.REPLICA_MEMBER_CEILING, labels, member.max_concurrency)
            if tier.is_capacity:
                self._put_pressure(labels, self._signal(tier, member_id))

    def _put_pressure(self, labels: tuple[str, str], signal: Signal) -> None:
        self._put(metrics.PRESSURE, labels, signal.pressure.ppm)
        for word in Freshness:
            is_so = signal.pressure.freshness is word
            self._put(metrics.PRESSURE_FRESHNESS, (*labels, word.value), is_so)

    def _signal(self, tier: Tier, member_id: MemberId) -> Signal:
        return self._signal_of(TierId(tier.id), member_id)


def _declared(tier: Tier, key: str) -> int | None:
    """A whole number of `params.capacity`."""
    declared = tier.params.get("capacity")
    number = declared.get(key) if isinstance(declared, Mapping) else None
    return number if type(number) is int else None
