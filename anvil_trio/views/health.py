"""`GET /v1/health/tiers`: what the probes last found, one row per tier."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.facts import ServiceFacts, ServiceKind, Verdict
from anvil_trio.names import TierId
from anvil_trio.views.readiness import VerdictOf
from anvil_trio.views.replica import show_tier
from anvil_trio.views.shape import Count, Shape

__all__ = ["HealthPage", "TierHealth", "project_health"]

TierStatus = Literal["up", "degraded", "down"]
TierRole = Literal["llm", "embeddings", "rerank", "stt", "tts"]


_ROLES: Mapping[ServiceKind, TierRole] = MappingProxyType({
    "embedding": "embeddings",
    "rerank": "rerank",
    "stt": "stt",
    "tts": "tts",
})


class TierHealth(Shape, frozen=True, kw_only=True):
    """One tier. `last_check` is in seconds since 1970, null where nobody asked (yet)."""

    id: str
    role: TierRole
    status: TierStatus
    last_check: float | None
    latency_ms: Count | None
    reason: str


class HealthPage(Shape, frozen=True, kw_only=True):
    """One row per tier, in the order of the file, then one per service beside chat."""

    tiers: list[TierHealth]


def project_health(
    config: RouterConfig,
    verdict_of: VerdictOf,
    *,
    now: float,
    now_unix: float,
    services: Iterable[ServiceFacts] = (),
) -> HealthPage:
    """What is known now; nobody is asked. `now` is trio's clock, on which verdicts were made."""
    rows = [_row(tier, verdict_of, now_unix - now) for tier in config.tiers]
    return HealthPage(tiers=[*rows, *map(_service, services)])


def _service(service: ServiceFacts) -> TierHealth:
    """Services are not probed: like a tier without a health path they count as ready."""
    return TierHealth(
        id=service.id,
        role=_ROLES[service.kind],
        status="up",
        last_check=None,
        latency_ms=None,
        reason="availability_not_configured",
    )


def _row(tier: Tier, verdict_of: VerdictOf, to_unix: float) -> TierHealth:
    """Of several members the oldest check and the slowest answer."""
    known = {one: verdict_of(TierId(tier.id), one) for one in tier.member_ids}
    shown = show_tier(tier, lambda _tier_id, member_id: known[member_id])
    verdicts = tuple(known.values())
    checks = [one.checked_at for one in verdicts if one.checked_at is not None]
    took = [one.took_s for one in verdicts if one.took_s is not None]
    return TierHealth(
        id=tier.id,
        role="llm",
        status=_status(verdicts, is_ready=shown.readiness.is_ready),
        last_check=round(min(checks) + to_unix, 3) if len(checks) == len(verdicts) else None,
        latency_ms=round(max(took) * 1000) if took else None,
        reason=shown.readiness.reason,
    )


def _status(verdicts: Sequence[Verdict], *, is_ready: bool) -> TierStatus:
    if not is_ready:
        return "down"
    return "up" if all(one.is_ready for one in verdicts) else "degraded"
