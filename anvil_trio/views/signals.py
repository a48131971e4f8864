"""What may be shown of an engine's own numbers: those that were read lately, or none."""

import math
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from anvil_trio.config.model import Tier
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.signals.engines import Observation
from anvil_trio.signals.freshness import UNWATCHED, Signal

__all__ = ["SignalOf", "project_live", "project_pressure", "unwatched"]

SignalOf = Callable[[TierId, MemberId], Signal]
"""What was read last of one member's engine; looks at a cache and asks nobody."""

_NOTHING = Observation()


def unwatched(_tier_id: TierId, _member_id: MemberId) -> Signal:
    """Nobody reads any engine."""
    return UNWATCHED


def project_live(tier: Tier, signal_of: SignalOf) -> dict[str, JsonValue]:
    """A row's `live` block. The numbers of several members are never made into one.

    What an engine did not say is null. The token estimates are shares of the declared cache.
    """
    if tier.is_replica:
        return _block(tier, _NOTHING, reason="replica_metrics_not_aggregated")
    signal = signal_of(TierId(tier.id), DIRECT_MEMBER)
    return _block(tier, signal.observation or _NOTHING, reason=signal.reason)


def project_pressure(signal: Signal) -> dict[str, JsonValue]:
    """What a capacity tier's member is ranked by, as it stands now."""
    seen = signal.observation or _NOTHING
    return {
        "freshness": signal.pressure.freshness.value,
        "pressure_ppm": signal.pressure.ppm,
        "requests_state": seen.requests_state.value,
        "kv_state": seen.kv_state.value,
    }


def _block(tier: Tier, seen: Observation, *, reason: str | None) -> dict[str, JsonValue]:
    used, remaining = _cache_tokens(tier, seen.kv_cache_usage_fraction)
    return {
        "status": "available" if reason is None else "unavailable",
        "reason": reason,
        "requests_running": seen.requests_running,
        "requests_waiting": seen.requests_waiting,
        "kv_cache_usage_fraction": seen.kv_cache_usage_fraction,
        "kv_cache_used_tokens_estimate": used,
        "kv_cache_remaining_tokens_estimate": remaining,
        "preemptions_total": seen.preemptions_total,
        "multimodal_cache_queries_total": seen.multimodal_cache_queries_total,
        "multimodal_cache_hits_total": seen.multimodal_cache_hits_total,
        "generation_tokens_total": seen.generation_tokens_total,
        "generation_throughput_tokens_per_second": seen.generation_throughput_tokens_per_second,
        "prefix_cache_queries_total": seen.prefix_cache_queries_total,
        "prefix_cache_hits_total": seen.prefix_cache_hits_total,
        "prefix_cache_hit_rate": seen.prefix_cache_hit_rate,
    }


def _cache_tokens(tier: Tier, fraction: float | None) -> tuple[int | None, int | None]:
    """Used and remaining tokens of the cache that `params.capacity` declares."""
    declared = tier.params.get("capacity")
    tokens = declared.get("kv_cache_capacity_tokens") if isinstance(declared, Mapping) else None
    if fraction is None or type(tokens) is not int:
        return None, None
    used = math.ceil(fraction * tokens)
    return used, tokens - used
