"""`GET /v1/router/status`: which router this is, since when, and how full its tiers are."""

from datetime import UTC, datetime

from pydantic import JsonValue

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.names import TierId
from anvil_trio.views.admission import ShownAdmission, Snapshots, show_admission
from anvil_trio.views.fingerprint import public_sha256

__all__ = ["project_status"]

_STANDING = frozenset({"admitting", "quiesced"})


def project_status(
    config: RouterConfig,
    snapshots: Snapshots,
    *,
    package_version: str,
    started_unix: float,
    now_unix: float,
) -> dict[str, JsonValue]:
    """The router's own state. Times are the wall clock's, in seconds since 1970.

    A tier is `enabled` while its actor stands and answers, quiesced or not. A failed tier stays
    in the list as `failed`, with no counts.
    """
    tiers = [(tier, show_admission(tier, snapshots.get(TierId(tier.id)))) for tier in config.tiers]
    started = datetime.fromtimestamp(int(started_unix), tz=UTC)
    return {
        "object": "router_status",
        "package_version": package_version,
        "started_at": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "uptime_seconds": max(int(now_unix - started_unix), 0),
        "model_aliases": _aliases(config),
        "tier_counts": {
            "configured": len(tiers),
            "enabled": sum(shown.state in _STANDING for _, shown in tiers),
        },
        "config_sha256": public_sha256(config),
        "installed_config_sha256": config.sha256,
        "tiers": [_row(tier, shown) for tier, shown in tiers],
    }


def _aliases(config: RouterConfig) -> list[JsonValue]:
    return [*sorted(config.routes)]


def _row(tier: Tier, shown: ShownAdmission) -> dict[str, JsonValue]:
    return {
        "id": tier.id,
        "state": shown.state,
        "active_requests": shown.active,
        "waiting_requests": shown.waiting,
    }
