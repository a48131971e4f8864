"""`GET /v1/models`: the configured aliases, in the order of the file."""

from collections.abc import Mapping

from pydantic import JsonValue

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.names import Alias, TierId
from anvil_trio.views.readiness import VerdictOf
from anvil_trio.views.replica import show_tier

__all__ = ["project_models"]

_CREATED = 1_700_000_000
"""A fixed moment: the listing must not change with the clock."""

_DECLARED_LIMITS = ("images_per_request", "video_per_request")


def project_models(
    config: RouterConfig, verdict_of: VerdictOf, *, only: Alias | None = None
) -> dict[str, JsonValue]:
    """One entry per alias, the unavailable ones too; `only` leaves a single one.

    A replica tier adds its members to each of its aliases' entries; it never adds an entry, and
    no limit is multiplied (T010).
    """
    members: dict[TierId, dict[str, JsonValue]] = {}
    entries: list[JsonValue] = []
    for alias, tier_id in config.routes.items():
        if only is not None and alias != only:
            continue
        tier = config.tier(tier_id)
        entry = _entry(alias, _as_served(tier, verdict_of))
        if tier.is_replica:
            if tier_id not in members:
                members[tier_id] = show_tier(tier, verdict_of).projection
            entry["logical_tier"] = tier.id
            entry.update(members[tier_id])
        entries.append(entry)
    return {"object": "list", "data": entries}


def _as_served(tier: Tier, verdict_of: VerdictOf) -> Tier:
    """The tier with the context that its engine states, where the engine owns that."""
    return show_tier(tier, verdict_of).tier if tier.is_upstream_owned else tier


def _entry(alias: str, tier: Tier) -> dict[str, JsonValue]:
    entry: dict[str, JsonValue] = {
        "id": alias,
        "object": "model",
        "name": alias,
        "description": "Configured serving capability",
        "owned_by": "anvil-serving",
        "created": _CREATED,
        "context_window": tier.context_limit,
        "max_output_tokens": tier.max_output_tokens,
    }
    capabilities = tier.params.get("capabilities")
    if isinstance(capabilities, Mapping):
        for key in _DECLARED_LIMITS:
            limit = capabilities.get(key)
            if type(limit) is int and limit >= 0:
                entry[key] = limit
    return entry
