"""One tier as every page shows it: its readiness, and its members where it has named ones."""

from dataclasses import dataclass
from typing import Literal

from anvil_trio.config.model import ReplicaIdentity, ReplicaMember, Tier
from anvil_trio.facts import Verdict
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.views.readiness import (
    ReadinessBlock,
    ShownReadiness,
    VerdictOf,
    join_readiness,
    show_readiness,
)
from anvil_trio.views.shape import ABSENT, Absent, Count, Shape

__all__ = [
    "DeclaredIdentity",
    "Declares",
    "Member",
    "ReplicaFields",
    "ServedIdentity",
    "ShownTier",
    "Verified",
    "project_identity",
    "show_tier",
]

Declares = Literal["declared"]
Verified = Literal[False]
"""A deployment's identity is declared; nothing here verifies it (R005)."""


class ServedIdentity(Shape, frozen=True, kw_only=True):
    """The configured model, and the same name again if the engine says that it serves it."""

    expected: str | None
    observed: str | None


class DeclaredIdentity(Shape, frozen=True, kw_only=True):
    """What the operator declares of a deployment."""

    model_revision: str | None
    engine_version: str | None
    image_digest: str | None
    config_fingerprint: str | None


class Member(Shape, frozen=True, kw_only=True):
    """One member of a replica tier; the last four keys only where a capacity tier ranks by them."""

    id: str
    qualification_ref: str
    readiness: ReadinessBlock
    served_identity: ServedIdentity
    freshness: str | Absent = ABSENT
    pressure_ppm: Count | Absent | None = ABSENT
    requests_state: str | Absent = ABSENT
    kv_state: str | Absent = ABSENT


class ReplicaFields(Shape, frozen=True, kw_only=True):
    """What a replica tier adds to a row; all absent for a direct tier."""

    members: list[Member] | Absent = ABSENT
    replica_identity: DeclaredIdentity | Absent | None = ABSENT
    deployment_identity_source: Declares | Absent = ABSENT
    runtime_deployment_identity_verified: Verified | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class ShownTier:
    """A tier's readiness, and the keys that a replica tier adds to a row; none for a direct tier.

    `tier` is the tier as its engine serves it, where the engine owns that; `served` says whether
    somebody who is ready serves what is expected.

    Make it once per tier and payload, so that all rows of one payload agree.
    """

    tier: Tier
    readiness: ShownReadiness
    served: ServedIdentity
    projection: ReplicaFields


def show_tier(tier: Tier, verdict_of: VerdictOf) -> ShownTier:
    """What may be shown of a tier (R012, T005.1): no URL, host, resource, credential or parameter.

    An observed model is shown only where it is the expected one. The deployment's identity is
    what the operator declared; no probe verifies it, and the row says so (R005).
    """
    tier_id = TierId(tier.id)
    if not tier.is_replica:
        verdict = verdict_of(tier_id, DIRECT_MEMBER)
        return _direct(tier.adopting(verdict.served), verdict)
    declared = {MemberId(member.id): member for member in tier.replicas}
    rows = [_member(tier, declared[one], verdict_of(tier_id, one)) for one in tier.member_ids]
    readiness = join_readiness(shown for shown, _ in rows)
    return ShownTier(
        tier,
        readiness,
        _served(tier, is_shown=readiness.is_ready),
        ReplicaFields(
            members=[row for _, row in rows],
            replica_identity=project_identity(tier.replica_identity),
            deployment_identity_source="declared",
            runtime_deployment_identity_verified=False,
        ),
    )


def project_identity(identity: ReplicaIdentity | None) -> DeclaredIdentity | None:
    """The four declared strings (R005); None where there are none."""
    if identity is None:
        return None
    return DeclaredIdentity(
        model_revision=identity.model_revision,
        engine_version=identity.engine_version,
        image_digest=identity.image_digest,
        config_fingerprint=identity.config_fingerprint,
    )


def _direct(tier: Tier, verdict: Verdict) -> ShownTier:
    readiness = show_readiness(tier, verdict)
    is_observed = verdict.observed_model == tier.model or verdict.served is not None
    served = _served(tier, is_shown=readiness.is_ready and is_observed)
    return ShownTier(tier, readiness, served, ReplicaFields())


def _member(tier: Tier, member: ReplicaMember, verdict: Verdict) -> tuple[ShownReadiness, Member]:
    readiness = show_readiness(tier, verdict)
    row = Member(
        id=member.id,
        qualification_ref=member.qualification_ref,
        readiness=readiness.block,
        served_identity=_served(tier, is_shown=verdict.observed_model == tier.model),
    )
    return readiness, row


def _served(tier: Tier, *, is_shown: bool) -> ServedIdentity:
    return ServedIdentity(expected=tier.model, observed=tier.model if is_shown else None)
