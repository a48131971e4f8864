"""A digest of what a configuration promises in public, for telling two of them apart."""

from hashlib import sha256

import msgspec
from pydantic import JsonValue

from anvil_trio.config.model import (
    AudioRoute,
    Compat,
    MediaPolicy,
    PurposeModel,
    ReplicaIdentity,
    RouterConfig,
    Tier,
)

__all__ = ["project_config", "public_sha256"]

_CANONICAL = msgspec.json.Encoder(order="sorted")


def public_sha256(config: RouterConfig) -> str:
    """64 hex digits, equal for two configurations that promise the same in public.

    Not the digest of the file: that one covers URLs and the names of secrets, and a guess at
    those could be checked against it.
    """
    return sha256(_CANONICAL.encode(project_config(config))).hexdigest()


def project_config(config: RouterConfig) -> dict[str, JsonValue]:
    """What the digest covers: routes, tiers, declared members and identities; nothing private."""
    return {
        "routes": dict(config.routes),
        "tiers": [_tier(tier) for tier in config.tiers],
        "services": [*map(_purpose, config.purpose_models), *map(_audio, config.audio_routes)],
    }


def _purpose(model: PurposeModel) -> JsonValue:
    return {"id": model.id, "kind": model.kind, "model": model.model}


def _audio(route: AudioRoute) -> JsonValue:
    return {
        "id": route.id,
        "kind": route.purpose,
        "model": route.model,
        "sample_rate": route.source_sample_rate,
        "default": route.default,
    }


def _tier(tier: Tier) -> dict[str, JsonValue]:
    return {
        "id": tier.id,
        "dialect": tier.dialect.value,
        "privacy": tier.privacy,
        "tool_support": tier.tool_support,
        "realtime": tier.realtime,
        "model": tier.model,
        "model_identity": tier.model_identity,
        "metadata_source": tier.metadata_source,
        "context_admission": tier.context_admission,
        "context_limit": tier.context_limit,
        "max_output_tokens": tier.max_output_tokens,
        "max_concurrency": tier.max_concurrency,
        "engine": tier.engine,
        "quantization": tier.quantization,
        "compat": _compat(tier.compat),
        "media_policy": _media_policy(tier.media_policy),
        "replica_strategy": tier.replica_strategy,
        "replica_affinity": tier.replica_affinity,
        "replica_identity": _identity(tier.replica_identity),
        "members": [
            {
                "id": member.id,
                "qualification_ref": member.qualification_ref,
                "max_concurrency": member.max_concurrency,
            }
            for member in sorted(tier.replicas, key=lambda member: member.id)
        ],
    }


def _identity(identity: ReplicaIdentity | None) -> dict[str, JsonValue] | None:
    if identity is None:
        return None
    return {
        "model_revision": identity.model_revision,
        "engine_version": identity.engine_version,
        "image_digest": identity.image_digest,
        "config_fingerprint": identity.config_fingerprint,
    }


def _compat(compat: Compat) -> dict[str, JsonValue]:
    return {
        "system_position": compat.system_position,
        "developer_role": compat.developer_role,
        "empty_content": compat.empty_content,
        "max_tokens_field": compat.max_tokens_field,
        "reasoning_history": compat.reasoning_history,
        "prefill": compat.prefill,
        "drop_billing_header": compat.drop_billing_header,
    }


def _media_policy(policy: MediaPolicy | None) -> dict[str, JsonValue] | None:
    if policy is None:
        return None
    return {
        "image_limit": policy.image_limit,
        "video_limit": policy.video_limit,
        "image_tokens_estimate": policy.image_tokens_estimate,
        "video_tokens_estimate": policy.video_tokens_estimate,
    }
