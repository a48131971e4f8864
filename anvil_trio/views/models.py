"""`GET /v1/models` and below: the configured aliases, in the order of the file."""

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.facts import ServiceFacts
from anvil_trio.names import Alias, TierId
from anvil_trio.views.readiness import VerdictOf
from anvil_trio.views.replica import show_tier

__all__ = ["as_served", "project_model", "project_models", "project_services"]

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
    entries: list[JsonValue] = [
        _shown(config, verdict_of, alias, members)
        for alias in map(Alias, config.routes)
        if only is None or alias == only
    ]
    return {"object": "list", "data": entries}


def project_model(
    config: RouterConfig, verdict_of: VerdictOf, alias: Alias
) -> dict[str, JsonValue]:
    """The one entry of a configured alias."""
    return _shown(config, verdict_of, alias, {})


def project_services(
    services: Iterable[ServiceFacts], taken: Iterable[str] = ()
) -> list[JsonValue]:
    """One entry for each name of a service beside chat, but for those that are `taken`."""
    known = set(taken)
    entries: list[JsonValue] = []
    for service in services:
        if service.name not in known:
            known.add(service.name)
            entries.append(_service(service))
    return entries


def _service(service: ServiceFacts) -> dict[str, JsonValue]:
    return {
        "id": service.name,
        "object": "model",
        "name": service.name,
        "description": "Configured service beside chat",
        "owned_by": "anvil-serving",
        "created": _CREATED,
        "context_window": None,
        "max_output_tokens": None,
        "kind": service.kind,
    }


def _shown(
    config: RouterConfig,
    verdict_of: VerdictOf,
    alias: Alias,
    members: dict[TierId, dict[str, JsonValue]],
) -> dict[str, JsonValue]:
    """One entry; `members` are those that have been asked about already, once a payload."""
    tier_id = config.routes[alias]
    tier = config.tier(tier_id)
    entry = _entry(alias, as_served(tier, verdict_of))
    if tier.is_replica:
        if tier_id not in members:
            members[tier_id] = show_tier(tier, verdict_of).projection
        entry["logical_tier"] = tier.id
        entry.update(members[tier_id])
    return entry


def as_served(tier: Tier, verdict_of: VerdictOf) -> Tier:
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
