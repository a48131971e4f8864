"""One tier as every page shows it: its readiness, and its members where it has named ones."""

from dataclasses import dataclass

from pydantic import JsonValue

from anvil_trio.config.model import ReplicaIdentity, Tier
from anvil_trio.names import DIRECT_MEMBER, TierId
from anvil_trio.views.readiness import ShownReadiness, VerdictOf, join_readiness, show_readiness

__all__ = ["ShownTier", "project_identity", "show_tier"]


@dataclass(frozen=True, slots=True)
class ShownTier:
    """A tier's readiness, and the keys that a replica tier adds to a row; none for a direct tier.

    `tier` is the tier as its engine serves it, where the engine owns that.

    Make it once per tier and payload, so that all rows of one payload agree.
    """

    tier: Tier
    readiness: ShownReadiness
    projection: dict[str, JsonValue]


def show_tier(tier: Tier, verdict_of: VerdictOf) -> ShownTier:
    """What may be shown of a tier (R012, T005.1): no URL, host, resource, credential or parameter.

    An observed model is shown only where it is the expected one. The deployment's identity is
    what the operator declared; no probe verifies it, and the row says so (R005).
    """
    tier_id = TierId(tier.id)
    if not tier.is_replica:
        verdict = verdict_of(tier_id, DIRECT_MEMBER)
        return ShownTier(tier.adopting(verdict.served), show_readiness(tier, verdict), {})
    labels = {member.id: member.qualification_ref for member in tier.replicas}
    shown: list[ShownReadiness] = []
    rows: list[JsonValue] = []
    for member_id in tier.member_ids:
        verdict = verdict_of(tier_id, member_id)
        readiness = show_readiness(tier, verdict)
        is_expected = verdict.observed_model == tier.model
        shown.append(readiness)
        rows.append({
            "id": member_id,
            "qualification_ref": labels[member_id],
            "readiness": readiness.block,
            "served_identity": {
                "expected": tier.model,
                "observed": tier.model if is_expected else None,
            },
        })
    projection: dict[str, JsonValue] = {
        "members": rows,
        "replica_identity": project_identity(tier.replica_identity),
        "deployment_identity_source": "declared",
        "runtime_deployment_identity_verified": False,
    }
    return ShownTier(tier, join_readiness(shown), projection)


def project_identity(identity: ReplicaIdentity | None) -> dict[str, JsonValue] | None:
    """The four declared strings (R005); None where there are none."""
    if identity is None:
        return None
    return {
        "model_revision": identity.model_revision,
        "engine_version": identity.engine_version,
        "image_digest": identity.image_digest,
        "config_fingerprint": identity.config_fingerprint,
    }
