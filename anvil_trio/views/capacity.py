"""`GET /v1/models/capacity`: what each tier has to give now."""

from pydantic import JsonValue

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.names import Alias, TierId
from anvil_trio.views.admission import Snapshots, project_admission
from anvil_trio.views.readiness import VerdictOf
from anvil_trio.views.replica import show_tier
from anvil_trio.views.signals import SignalOf, project_live, project_pressure

__all__ = ["project_capacity"]


def project_capacity(
    config: RouterConfig,
    verdict_of: VerdictOf,
    snapshots: Snapshots,
    signal_of: SignalOf,
    *,
    only: Alias | None = None,
) -> dict[str, JsonValue]:
    """One row per tier, in the order of the file; `only` leaves the tier of one alias.

    The counts are reservations, not throughput: nothing is inferred from them (T005.1). What the
    engines say was read before; no engine is asked.
    """
    aliases: dict[TierId, list[JsonValue]] = {}
    for alias, tier_id in sorted(config.routes.items()):
        aliases.setdefault(tier_id, []).append(alias)
    wanted = None if only is None else config.routes.get(only)
    rows: list[JsonValue] = [
        _row(tier, aliases.get(TierId(tier.id), []), verdict_of, snapshots, signal_of)
        for tier in config.tiers
        if only is None or tier.id == wanted
    ]
    return {"object": "list", "data": rows}


def _row(
    tier: Tier,
    aliases: list[JsonValue],
    verdict_of: VerdictOf,
    snapshots: Snapshots,
    signal_of: SignalOf,
) -> dict[str, JsonValue]:
    shown = show_tier(tier, verdict_of)
    readiness = shown.readiness
    projection = dict(shown.projection)
    if tier.is_capacity:
        projection["members"] = _with_pressures(tier, projection["members"], signal_of)
    return {
        "object": "model_capacity",
        "id": tier.id,
        "aliases": aliases,
        "model": shown.tier.model,
        "loaded": readiness.is_ready,
        "readiness": {"state": readiness.state, "reason": readiness.reason},
        "live": project_live(tier, signal_of),
        **projection,
        "admission": project_admission(tier, snapshots.get(TierId(tier.id))),
    }


def _with_pressures(tier: Tier, rows: JsonValue, signal_of: SignalOf) -> list[JsonValue]:
    """The members' rows, each with what it is ranked by; in the order of `member_ids`, as they."""
    assert isinstance(rows, list)
    shown: list[JsonValue] = []
    for member_id, row in zip(tier.member_ids, rows, strict=True):
        assert isinstance(row, dict)
        shown.append({**row, **project_pressure(signal_of(TierId(tier.id), member_id))})
    return shown
