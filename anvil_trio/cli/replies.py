"""The pages of the router as the reading commands know them: these keys, of these types. Pure.

A key that a page has besides is not read; one that it lacks is unknown. A value of another type is
no answer of a router at all.
"""

from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit

__all__ = [
    "INVALID",
    "ActivePage",
    "ActiveRow",
    "AttemptRow",
    "HistoryPage",
    "RecordRow",
    "RequestPage",
    "StatusPage",
    "StatusTier",
    "plain_text",
    "read_page",
]

INVALID = Failure(
    Exit.TRANSPORT, "router_response_invalid", "The router's answer could not be read."
)

_MAX_TEXT = 256
_MISSING = "-"  # how the pages write a text that is not known

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Page = TypeVar("Page", bound=msgspec.Struct)


class TierCounts(msgspec.Struct):
    configured: Count
    enabled: Count


class StatusTier(msgspec.Struct):
    """One tier of the status page."""

    id: str
    state: str | None = None
    active_requests: Count | None = None
    waiting_requests: Count | None = None


class StatusPage(msgspec.Struct):
    """`GET /v1/router/status`."""

    package_version: str
    started_at: str
    uptime_seconds: Count
    model_aliases: list[str]
    tier_counts: TierCounts
    config_sha256: str
    tiers: list[StatusTier] = []


class AttemptRow(msgspec.Struct):
    """The one attempt of a request, or the gate that it did not pass."""

    outcome: str | None = None
    reason: str | None = None


class Measurements(msgspec.Struct):
    readiness_check_ms: Count | None = None
    upstream_duration_ms: Count | None = None
    time_to_first_content_ms: Count | None = None
    finish_reason: str | None = None
    finish_reason_missing: bool = False


class Usage(msgspec.Struct):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_source: str | None = None
    completion_source: str | None = None


class OutputLimit(msgspec.Struct):
    requested: int | None = None
    applied: int | None = None
    clamped: bool = False


class RecordRow(msgspec.Struct):
    """One finished request, as the pages summarise its record."""

    gateway_request_id: str
    route: str
    workload_outcome: str | None = None
    kind: str | None = None
    requested_tier: str | None = None
    served_tier: str | None = None
    attempts: list[AttemptRow] = []
    latency_ms: Count | None = None
    measurements: Measurements = msgspec.field(default_factory=Measurements)
    usage: Usage = msgspec.field(default_factory=Usage)
    output_limit: OutputLimit = msgspec.field(default_factory=OutputLimit)
    request_id: str | None = None
    workbench_run_id: str | None = None
    task_id: str | None = None
    session_id: str | None = None
    client_id: str | None = None
    cache_read_input_tokens: Count | None = None
    admission_wait_ms: Count | None = None
    config_sha256: str | None = None
    router_version: str | None = None
    replica_member_id: str | None = None
    replica_selection: str | None = None


class RequestPage(msgspec.Struct):
    """`GET /v1/requests/{id}`."""

    scope: str
    record: RecordRow


class HistoryPage(msgspec.Struct):
    """`GET /v1/requests?session_id=...&history=1`."""

    scope: str
    records: list[RecordRow]
    truncated: bool = False
    available: bool = True


class ActiveRow(msgspec.Struct):
    """One request that runs."""

    gateway_request_id: str
    state: str | None = None
    phase: str | None = None
    session_id: str | None = None
    client_id: str | None = None
    route: str | None = None
    elapsed_ms: Count | None = None
    last_activity_ms: Count | None = None
    admission_wait_ms: Count | None = None
    estimated_input_tokens: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    context_limit_tokens: Count | None = None


class ActivePage(msgspec.Struct):
    """`GET /v1/requests?active=1`."""

    scope: str
    records: list[ActiveRow]
    truncated: bool = False


def read_page(reply: Mapping[str, JsonValue], page: type[Page]) -> Page:
    """The page that a reply is. Raises CommandFailed for any other."""
    try:
        return msgspec.convert(reply, page)
    except msgspec.ValidationError:
        raise CommandFailed(INVALID) from None


def plain_text(text: str | None) -> str | None:
    """A name that a page shows: None where it is not known, or would steer a terminal."""
    if text is None or text == _MISSING or len(text) > _MAX_TEXT or not text.isprintable():
        return None
    return text
