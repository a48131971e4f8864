"""`GET /v1/models/fingerprints`: what tells one deployment from another, as far as it is known."""

from hashlib import sha256
from typing import Literal

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.names import DIRECT_MEMBER, Alias
from anvil_trio.views.declared import declared
from anvil_trio.views.readiness import ReadinessBlock, VerdictOf
from anvil_trio.views.replica import (
    DeclaredIdentity,
    Declares,
    Member,
    ServedIdentity,
    Verified,
    project_identity,
    show_tier,
)
from anvil_trio.views.shape import ABSENT, Absent, Count, Shape
from anvil_trio.views.tiers import TierRow, rows_of

__all__ = ["FingerprintRow", "FingerprintsPage", "project_fingerprints"]


class ServedConfiguration(Shape, frozen=True, kw_only=True):
    """How the tier is configured to be served; where the engine owns that, as it says."""

    metadata_source: Literal["configured", "upstream"]
    context_limit_tokens: Count | None
    engine: str | None
    quantization: str | None
    engine_version: str | None
    max_concurrency: Count | None
    modalities: list[str] | None


class FingerprintRow(Shape, frozen=True, kw_only=True):
    """One tier's identity evidence; a replica tier's has the last four keys."""

    object: Literal["model_fingerprint"] = "model_fingerprint"
    id: str
    aliases: list[str]
    model: str | None
    fingerprint: DeclaredIdentity
    endpoint_sha256: str | None
    served_identity: ServedIdentity
    served_configuration: ServedConfiguration
    readiness: ReadinessBlock
    members: list[Member] | Absent = ABSENT
    replica_identity: DeclaredIdentity | Absent | None = ABSENT
    deployment_identity_source: Declares | Absent = ABSENT
    runtime_deployment_identity_verified: Verified | Absent = ABSENT


class FingerprintsPage(Shape, frozen=True, kw_only=True):
    """One row per tier."""

    object: Literal["list"] = "list"
    data: list[FingerprintRow]


def project_fingerprints(
    config: RouterConfig, verdict_of: VerdictOf, *, only: Alias | None = None
) -> FingerprintsPage:
    """One row per tier, in the order of the file; `only` leaves the tier of one alias."""
    return FingerprintsPage(data=[_row(one, verdict_of) for one in rows_of(config, only)])


def _row(one: TierRow, verdict_of: VerdictOf) -> FingerprintRow:
    shown = show_tier(one.tier, verdict_of)
    tier, replica = shown.tier, shown.projection
    fingerprint = _fingerprint(tier)
    return FingerprintRow(
        id=tier.id,
        aliases=one.aliases,
        model=tier.model,
        fingerprint=fingerprint,
        endpoint_sha256=_endpoint_sha256(tier),
        served_identity=shown.served,
        served_configuration=_configuration(tier, fingerprint.engine_version),
        readiness=shown.readiness.block,
        members=replica.members,
        replica_identity=replica.replica_identity,
        deployment_identity_source=replica.deployment_identity_source,
        runtime_deployment_identity_verified=replica.runtime_deployment_identity_verified,
    )


def _configuration(tier: Tier, engine_version: str | None) -> ServedConfiguration:
    return ServedConfiguration(
        metadata_source=tier.metadata_source,
        context_limit_tokens=tier.context_limit,
        engine=tier.engine,
        quantization=tier.quantization,
        engine_version=engine_version,
        max_concurrency=tier.ceiling,
        modalities=declared(tier, "capabilities").words("modalities"),
    )


def _fingerprint(tier: Tier) -> DeclaredIdentity:
    """What is declared: for a replica tier of all its members, else in `params`."""
    whole = project_identity(tier.replica_identity)
    if whole is not None:
        return whole
    said = declared(tier, "fingerprint")
    return DeclaredIdentity(
        model_revision=said.text("model_revision"),
        engine_version=said.text("engine_version"),
        image_digest=said.text("image_digest"),
        config_fingerprint=said.text("config_fingerprint"),
    )


def _endpoint_sha256(tier: Tier) -> str | None:
    """Tells whether a direct tier was pointed elsewhere, to the operator alone.

    Whoever can guess the URL can check the guess, which is why no client sees this page.
    """
    if tier.is_replica:
        return None
    return sha256(tier.endpoint_of(DIRECT_MEMBER).encode()).hexdigest()
