"""What is shown of a validation: always the same nine keys, and never a name out of a file."""

from pydantic import JsonValue

from anvil_trio.topology.codes import RefusalCode
from anvil_trio.topology.snapshot import Refused, Snapshot

__all__ = ["RESULT_SCHEMA", "explain_refusal", "project_result", "render_result"]

RESULT_SCHEMA = "replica-topology-validation/v1"

_WORDS = {
    RefusalCode.CONFIG_TOO_LARGE: "The configuration is too large.",
    RefusalCode.ROUTER_CONFIG_INVALID: "The arguments or the configuration are not valid.",
    RefusalCode.TOPOLOGY_INVALID: "The topology is not valid.",
    RefusalCode.RESOURCE_REUSED: "Two members have one resource.",
    RefusalCode.RESOURCE_MISSING: "A member's resource is not declared.",
    RefusalCode.HOST_MISMATCH: "A member's resource belongs to another host.",
    RefusalCode.ENDPOINT_MISSING: "A member's resource has no endpoint.",
    RefusalCode.ENDPOINT_MISMATCH: "A member's URL is not its resource's endpoint.",
    RefusalCode.HOST_SPLIT: "The members of a tier are on different hosts.",
}


def project_result(result: Snapshot | Refused) -> dict[str, JsonValue]:
    """The closed object for machines; what a refusal does not know is null."""
    known: dict[str, JsonValue] = dict.fromkeys((
        "error_code",
        "tier_count",
        "replica_tier_count",
        "replica_member_count",
        "deployment_identity_source",
    ))
    if isinstance(result, Refused):
        known["error_code"] = result.code.value
    else:
        known |= {
            "tier_count": result.tier_count,
            "replica_tier_count": result.replica_tier_count,
            "replica_member_count": result.replica_member_count,
            "deployment_identity_source": result.deployment_identity_source,
        }
    return {
        "schema_version": RESULT_SCHEMA,
        "valid": isinstance(result, Snapshot),
        "config_sha256": result.sha256,
        "runtime_deployment_identity_verified": False,
        **known,
    }


def render_result(data: dict[str, JsonValue]) -> str:
    """One line for people, made of nothing but that object."""
    if not data["valid"]:
        return f"router config topology refused: {data['error_code']}"
    return (
        f"router config topology valid: tiers={data['tier_count']}"
        f" replica_tiers={data['replica_tier_count']}"
        f" replica_members={data['replica_member_count']}"
    )


def explain_refusal(code: RefusalCode) -> str:
    """The fixed words of a code."""
    return _WORDS[code]
