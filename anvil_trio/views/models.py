"""`GET /v1/models` and below: the configured aliases, in the order of the file."""

from collections.abc import Iterable, Mapping
from typing import Literal

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.facts import ServiceFacts, ServiceKind
from anvil_trio.names import Alias, TierId
from anvil_trio.views.declared import declared
from anvil_trio.views.readiness import VerdictOf
from anvil_trio.views.replica import (
    DeclaredIdentity,
    Declares,
    Member,
    ReplicaFields,
    Verified,
    show_tier,
)
from anvil_trio.views.shape import ABSENT, Absent, Count, Shape

__all__ = ["Model", "ModelPage", "as_served", "project_model", "project_models", "project_services"]

_CREATED = 1_700_000_000
"""A fixed moment: the listing must not change with the clock."""


class Model(Shape, frozen=True, kw_only=True):
    """One configured alias, or one service beside chat, which alone has a `kind`.

    `realtime` is there, and true, for the alias of a tier that has sessions. A replica tier's alias
    has the last five keys.
    """

    id: str
    object: Literal["model"] = "model"
    name: str
    description: Literal["Configured serving capability"] = "Configured serving capability"
    owned_by: Literal["anvil-serving"] = "anvil-serving"
    created: int = _CREATED
    context_window: Count | None
    max_output_tokens: Count | None
    images_per_request: Count | Absent = ABSENT
    video_per_request: Count | Absent = ABSENT
    realtime: bool | Absent = ABSENT
    kind: ServiceKind | Absent = ABSENT
    logical_tier: str | Absent = ABSENT
    members: list[Member] | Absent = ABSENT
    replica_identity: DeclaredIdentity | Absent | None = ABSENT
    deployment_identity_source: Declares | Absent = ABSENT
    runtime_deployment_identity_verified: Verified | Absent = ABSENT


class ModelPage(Shape, frozen=True, kw_only=True):
    """All aliases, those of unavailable tiers too."""

    object: Literal["list"] = "list"
    data: list[Model]


_DIRECT = ReplicaFields()


def project_models(
    config: RouterConfig, verdict_of: VerdictOf, *, only: Alias | None = None
) -> ModelPage:
    """One entry per alias, the unavailable ones too; `only` leaves a single one.

    A replica tier adds its members to each of its aliases' entries; it never adds an entry, and
    no limit is multiplied (T010). Each tier is asked about once a payload.
    """
    aliases = [Alias(alias) for alias in config.routes if only is None or alias == only]
    members = {
        tier_id: show_tier(tier, verdict_of).projection
        for tier_id in dict.fromkeys(config.routes[alias] for alias in aliases)
        if (tier := config.tier(tier_id)).is_replica
    }
    return ModelPage(data=[_shown(config, verdict_of, alias, members) for alias in aliases])


def project_model(config: RouterConfig, verdict_of: VerdictOf, alias: Alias) -> Model:
    """The one entry of a configured alias."""
    return project_models(config, verdict_of, only=alias).data[0]


def project_services(services: Iterable[ServiceFacts], taken: Iterable[str] = ()) -> list[Model]:
    """One entry for each name of a service beside chat, but for those that are `taken`."""
    known = set(taken)
    entries = []
    for service in services:
        if service.name not in known:
            known.add(service.name)
            entries.append(_service(service))
    return entries


def _service(service: ServiceFacts) -> Model:
    return Model(
        id=service.name,
        name=service.name,
        context_window=None,
        max_output_tokens=None,
        kind=service.kind,
    )


def as_served(tier: Tier, verdict_of: VerdictOf) -> Tier:
    """The tier with the context that its engine states, where the engine owns that."""
    return show_tier(tier, verdict_of).tier if tier.is_upstream_owned else tier


def _shown(
    config: RouterConfig,
    verdict_of: VerdictOf,
    alias: Alias,
    members: Mapping[TierId, ReplicaFields],
) -> Model:
    tier_id = config.routes[alias]
    tier = as_served(config.tier(tier_id), verdict_of)
    replica = members.get(tier_id, _DIRECT)
    limits = declared(tier, "capabilities")
    images, videos = limits.count("images_per_request"), limits.count("video_per_request")
    return Model(
        id=alias,
        name=alias,
        context_window=tier.context_limit,
        max_output_tokens=tier.max_output_tokens,
        images_per_request=ABSENT if images is None else images,
        video_per_request=ABSENT if videos is None else videos,
        realtime=tier.realtime or ABSENT,
        logical_tier=tier.id if tier.is_replica else ABSENT,
        members=replica.members,
        replica_identity=replica.replica_identity,
        deployment_identity_source=replica.deployment_identity_source,
        runtime_deployment_identity_verified=replica.runtime_deployment_identity_verified,
    )
