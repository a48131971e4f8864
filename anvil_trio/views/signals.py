"""What may be shown of an engine's own numbers: those that were read lately, or none."""

import math
from collections.abc import Callable
from typing import Literal

import msgspec

from anvil_trio.config.model import Tier
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.signals.engines import Observation
from anvil_trio.signals.freshness import UNWATCHED, Signal
from anvil_trio.views.declared import declared
from anvil_trio.views.replica import Member
from anvil_trio.views.shape import Count, Shape

__all__ = ["Live", "SignalOf", "add_pressure", "project_live", "unwatched"]

SignalOf = Callable[[TierId, MemberId], Signal]
"""What was read last of one member's engine; looks at a cache and asks nobody."""

_NOTHING = Observation()


class Live(Shape, frozen=True, kw_only=True):
    """What the tier's engine said of itself lately; null is what it did not say."""

    status: Literal["available", "unavailable"]
    reason: str | None
    requests_running: int | None
    requests_waiting: int | None
    kv_cache_usage_fraction: float | None
    kv_cache_used_tokens_estimate: Count | None
    kv_cache_remaining_tokens_estimate: Count | None
    preemptions_total: int | None
    multimodal_cache_queries_total: int | None
    multimodal_cache_hits_total: int | None
    generation_tokens_total: int | None
    generation_throughput_tokens_per_second: float | None
    prefix_cache_queries_total: int | None
    prefix_cache_hits_total: int | None
    prefix_cache_hit_rate: float | None


def unwatched(_tier_id: TierId, _member_id: MemberId) -> Signal:
    """Nobody reads any engine."""
    return UNWATCHED


def project_live(tier: Tier, signal_of: SignalOf) -> Live:
    """A row's `live` block. The numbers of several members are never made into one.

    What an engine did not say is null. The token estimates are shares of the declared cache.
    """
    if tier.is_replica:
        return _block(tier, _NOTHING, reason="replica_metrics_not_aggregated")
    signal = signal_of(TierId(tier.id), DIRECT_MEMBER)
    return _block(tier, signal.observation or _NOTHING, reason=signal.reason)


def add_pressure(row: Member, signal: Signal) -> Member:
    """A capacity tier's member with what it is ranked by, as it stands now."""
    seen = signal.observation or _NOTHING
    return msgspec.structs.replace(
        row,
        freshness=signal.pressure.freshness.value,
        pressure_ppm=signal.pressure.ppm,
        requests_state=seen.requests_state.value,
        kv_state=seen.kv_state.value,
    )


def _block(tier: Tier, seen: Observation, *, reason: str | None) -> Live:
    used, remaining = _cache_tokens(tier, seen.kv_cache_usage_fraction)
    return Live(
        status="available" if reason is None else "unavailable",
        reason=reason,
        requests_running=seen.requests_running,
        requests_waiting=seen.requests_waiting,
        kv_cache_usage_fraction=seen.kv_cache_usage_fraction,
        kv_cache_used_tokens_estimate=used,
        kv_cache_remaining_tokens_estimate=remaining,
        preemptions_total=seen.preemptions_total,
        multimodal_cache_queries_total=seen.multimodal_cache_queries_total,
        multimodal_cache_hits_total=seen.multimodal_cache_hits_total,
        generation_tokens_total=seen.generation_tokens_total,
        generation_throughput_tokens_per_second=seen.generation_throughput_tokens_per_second,
        prefix_cache_queries_total=seen.prefix_cache_queries_total,
        prefix_cache_hits_total=seen.prefix_cache_hits_total,
        prefix_cache_hit_rate=seen.prefix_cache_hit_rate,
    )


def _cache_tokens(tier: Tier, fraction: float | None) -> tuple[int | None, int | None]:
    """Used and remaining tokens of the cache that `params.capacity` declares."""
    tokens = declared(tier, "capacity").count("kv_cache_capacity_tokens")
    if fraction is None or tokens is None:
        return None, None
    used = math.ceil(fraction * tokens)
    return used, tokens - used
