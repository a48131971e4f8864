"""The rules between the keys of one tier. Each looks only at what is there and valid."""

from collections.abc import Iterator

from anvil_trio.config.params import Params
from anvil_trio.config.problems import ConfigProblem, ProblemCode
from anvil_trio.config.table import Table

__all__ = ["find_conflicts"]

# The model has defaults for three of these, for whoever builds a tier in code.
_REQUIRED_IN_FILE = ("dialect", "privacy", "tool_support")
_ONLY_WITH_REPLICAS = ("replica_identity", "replica_strategy", "replica_affinity")
_OWNED_BY_UPSTREAM = ("model", "context_limit", "engine", "quantization", "model_identity")
_NEEDED_FOR_IDENTITY = ("model", "health_path")


def find_conflicts(tier: Table, params: Params) -> Iterator[ConfigProblem]:
    """What the keys of one tier ask of one another and do not get."""
    yield from _check_required(tier)
    yield from _check_endpoint(tier)
    yield from _check_context(tier)
    yield from _check_history(tier)
    if tier.get("realtime") is True and tier.get("dialect") == "anthropic":
        yield tier.conflict("realtime", "is allowed only with dialect openai")
    if not tier.has("replicas"):
        yield from _check_direct(tier)
        yield from _check_upstream_metadata(tier, params)


def _check_required(tier: Table) -> Iterator[ConfigProblem]:
    for key in _REQUIRED_IN_FILE:
        if not tier.has(key):
            yield tier.missing(key, "is required")


def _check_endpoint(tier: Table) -> Iterator[ConfigProblem]:
    """R002: exactly one endpoint shape."""
    if tier.has("base_url") == tier.has("replicas"):
        message = "must have either base_url or replicas, and not both"
        yield ConfigProblem(tier.path, ProblemCode.CONFLICT, message)


def _check_context(tier: Table) -> Iterator[ConfigProblem]:
    source = tier.get("metadata_source")
    if source == "configured" and not tier.has("context_limit"):
        yield tier.missing("context_limit", "is required with metadata_source configured")
    context, output = tier.get("context_limit"), tier.get("max_output_tokens")
    if isinstance(context, int) and isinstance(output, int) and output > context:
        yield tier.conflict("max_output_tokens", "must not be above context_limit")
    asks_upstream = tier.get("context_admission") == "upstream"
    if asks_upstream and source == "configured" and tier.get("model_identity") is False:
        message = "needs metadata_source upstream or model_identity true"
        yield tier.conflict("context_admission", message)


def _check_history(tier: Table) -> Iterator[ConfigProblem]:
    """`strip_reasoning_history` is the old spelling of `compat.reasoning_history`."""
    if not tier.has("strip_reasoning_history"):
        return
    if tier.get("dialect") == "anthropic":
        yield tier.conflict("strip_reasoning_history", "is allowed only with dialect openai")
    compat = tier.raw.get("compat")
    if isinstance(compat, dict) and "reasoning_history" in compat:
        message = "must not be set beside compat.reasoning_history"
        yield tier.conflict("strip_reasoning_history", message)


def _check_direct(tier: Table) -> Iterator[ConfigProblem]:
    for key in _ONLY_WITH_REPLICAS:
        if tier.has(key):
            yield tier.conflict(key, "is allowed only with replicas")
    if tier.get("model_identity") is True:
        for key in _NEEDED_FOR_IDENTITY:
            if not tier.has(key):
                yield tier.missing(key, "is required with model_identity")


def _check_upstream_metadata(tier: Table, params: Params) -> Iterator[ConfigProblem]:
    """The engine owns its identity and context: nothing may say the same from outside."""
    if tier.get("metadata_source") != "upstream":
        return
    forbidden = "is not allowed with metadata_source upstream"
    if tier.get("dialect") == "anthropic":
        yield tier.conflict("dialect", "must be openai with metadata_source upstream")
    if not tier.has("health_path"):
        yield tier.missing("health_path", "is required with metadata_source upstream")
    for key in _OWNED_BY_UPSTREAM:
        if tier.has(key):
            yield tier.conflict(key, forbidden)
    if params.fingerprint is not None:
        yield ConfigProblem(params.fingerprint.path, ProblemCode.CONFLICT, forbidden)
