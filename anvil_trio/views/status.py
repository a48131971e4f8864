"""`GET /v1/router/status`: which router this is, since when, and how full its tiers are."""

from datetime import UTC, datetime
from typing import Literal

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.names import TierId
from anvil_trio.views.admission import ShownAdmission, Snapshots, show_admission
from anvil_trio.views.fingerprint import public_sha256
from anvil_trio.views.shape import Count, Shape

__all__ = ["StatusPage", "StatusTier", "TierCounts", "project_status"]

_STANDING = frozenset({"admitting", "quiesced"})


class TierCounts(Shape, frozen=True, kw_only=True):
    """How many tiers there are, and how many of them stand and answer."""

    configured: Count
    enabled: Count


class StatusTier(Shape, frozen=True, kw_only=True):
    """One tier's state; null is not known."""

    id: str
    state: str | None
    active_requests: Count | None
    waiting_requests: Count | None


class StatusPage(Shape, frozen=True, kw_only=True):
    """Which router this is, since when, and how full its tiers are."""

    object: Literal["router_status"] = "router_status"
    package_version: str
    started_at: str
    uptime_seconds: Count
    model_aliases: list[str]
    tier_counts: TierCounts
    config_sha256: str
    installed_config_sha256: str
    tiers: list[StatusTier]


def project_status(
    config: RouterConfig,
    snapshots: Snapshots,
    *,
    package_version: str,
    started_unix: float,
    now_unix: float,
) -> StatusPage:
    """The router's own state. Times are the wall clock's, in seconds since 1970.

    A tier is `enabled` while its actor stands and answers, quiesced or not. A failed tier stays
    in the list as `failed`, with no counts.
    """
    tiers = [(tier, show_admission(tier, snapshots.get(TierId(tier.id)))) for tier in config.tiers]
    started = datetime.fromtimestamp(int(started_unix), tz=UTC)
    return StatusPage(
        package_version=package_version,
        started_at=started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        uptime_seconds=max(int(now_unix - started_unix), 0),
        model_aliases=sorted(config.routes),
        tier_counts=TierCounts(
            configured=len(tiers), enabled=sum(shown.state in _STANDING for _, shown in tiers)
        ),
        config_sha256=public_sha256(config),
        installed_config_sha256=config.sha256,
        tiers=[_row(tier, shown) for tier, shown in tiers],
    )


def _row(tier: Tier, shown: ShownAdmission) -> StatusTier:
    return StatusTier(
        id=tier.id,
        state=shown.state,
        active_requests=shown.active,
        waiting_requests=shown.waiting,
    )
