"""One leaked field in every projection: a key too many, or a private value under a public key."""

from tests.support.mutants import Mutant, Suite

__all__ = ["LEAKS"]


def _leak(module: str, old: str, new: str, what: str) -> Mutant:
    return Mutant(f"{module} shows {what}", f"anvil_trio.views.{module}", old, new)


def _key(module: str, struct: str, key: str) -> Mutant:
    """A struct gets one key more."""
    old = f"class {struct}(Shape, frozen=True, kw_only=True):\n"
    new = f'{old}    {key}: str = "x"\n'
    return _leak(module, old, new, f"{key} in {struct}")


_MUTANTS = (
    _key("activation", "Activation", "path"),
    _leak(
        "activation",
        "current_tiers=[tier.id for tier in old.tiers]",
        "current_tiers=[tier.auth_env for tier in old.tiers]",
        "auth_env",
    ),
    _key("admission", "AdmissionMember", "resource_id"),
    _leak("anthropic_models", "display_name=alias,", "display_name=tier.auth_env,", "auth_env"),
    _key("anthropic_models", "AnthropicModel", "auth_env"),
    _leak("capabilities", 'said.words("modalities")', "[str(tier.params)]", "all that is declared"),
    _key("capabilities", "Thinking", "note"),
    _leak("capacity", "Engine(name=tier.engine,", "Engine(name=str(tier.params),", "params"),
    _key("capacity", "Gpu", "base_url"),
    _key("decisions", "DecisionTotals", "path"),
    _leak(
        "fingerprints",
        "sha256(tier.endpoint_of(DIRECT_MEMBER).encode()).hexdigest()",
        "tier.endpoint_of(DIRECT_MEMBER)",
        "base_url",
    ),
    _key("fingerprints", "ServedConfiguration", "auth_env"),
    _leak("health", "reason=shown.readiness.reason,", "reason=verdicts[0].reason,", "raw reasons"),
    _key("health", "TierHealth", "url"),
    _leak("models", "        name=alias,", "        name=tier.auth_env,", "auth_env"),
    _key("models", "Model", "health_path"),
    _leak(
        "readiness",
        "return reason if is_known else _UNAVAILABLE",
        "return reason",
        "raw reasons",
    ),
    _key("readiness", "ReadinessBlock", "error"),
    _leak(
        "replica",
        "qualification_ref=member.qualification_ref",
        "qualification_ref=member.base_url",
        "base_url",
    ),
    _leak("replica", "        id=member.id,", "        id=member.host_id,", "host_id"),
    _leak(
        "replica",
        "observed=tier.model if is_shown else None",
        "observed=tier.model if is_shown else tier.auth_env",
        "auth_env",
    ),
    _key("replica", "Member", "resource_id"),
    _leak(
        "requests",
        "session_id=None if one.session_id is None else show_text(one.session_id),",
        "session_id=one.session_id,",
        "a key sent as a session",
    ),
    _key("requests", "Active", "prompt"),
    _leak("scenario", "        note=_NOTE,", "        note=str(tier.params),", "params"),
    _key("scenario", "Scenario", "url"),
    _key("signals", "Live", "url"),
    _key("stats", "StatsPage", "path"),
    _key("stats", "StatsBlock", "path"),
    _leak(
        "status",
        "        package_version=package_version,",
        "        package_version=str(config.server.decision_log_path),",
        "a path",
    ),
    _key("status", "StatusTier", "base_url"),
    _leak(
        "summary",
        "session_id=show_text(record.session_id)",
        "session_id=str(record.session_id)",
        "a key sent as a session",
    ),
    _key("summary", "Summary", "prompt"),
    _leak(
        "transition",
        "        expected_model=tier.model,",
        "        expected_model=tier.replicas[0].resource_id,",
        "resource_id",
    ),
    _key("transition", "Intent", "host_id"),
    _leak(
        "workloads",
        "        id=_digest(one.gateway_request_id),",
        "        id=one.gateway_request_id,",
        "the id itself",
    ),
    _key("workloads", "Workload", "session_id"),
)

LEAKS = Suite(
    name="leaks",
    hunt="tests.unit.views.leak_hunt",
    packages=("anvil_trio.views", "tests.support.pages"),
    mutants=_MUTANTS,
)
