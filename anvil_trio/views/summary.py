"""One decision record as the pages show it: these fields of it, and no others (R012, T011)."""

from anvil_trio.decisions.record import Attempt, DecisionRecord
from anvil_trio.decisions.scheduler import SchedulerEvidence
from anvil_trio.decisions.words import (
    AttemptOutcome,
    AttemptReason,
    RequestKind,
    Selection,
    TokenSource,
    WorkloadOutcome,
)
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.views.shape import ABSENT, Absent, Count, Shape
from anvil_trio.views.text import show_text

__all__ = ["OMITTED", "Summary", "project_summary"]

OMITTED = ("unix_ts", "workload_created_at", "workload_updated_at")
"""Fields of a record that stand in the decision log alone."""


class SummaryAttempt(Shape, frozen=True, kw_only=True):
    """What came of the one member that was asked, or the gate that stood before it."""

    tier_id: str
    succeeded: bool
    reason: AttemptReason
    outcome: AttemptOutcome
    prompt_tokens: Count | None
    completion_tokens: Count | None


class Measurements(Shape, frozen=True, kw_only=True):
    """Phases in whole milliseconds, and how the answer ended."""

    readiness_check_ms: Count | None
    upstream_duration_ms: Count | None
    time_to_first_content_ms: Count | None
    finish_reason: FinishReason | None
    finish_reason_missing: bool


class SummaryUsage(Shape, frozen=True, kw_only=True):
    """Tokens, and who counted them."""

    prompt_tokens: Count | None
    completion_tokens: Count | None
    prompt_source: TokenSource
    completion_source: TokenSource


class OutputLimitShown(Shape, frozen=True, kw_only=True):
    """The caller's limit on the answer, and the one that was sent."""

    requested: int | None
    applied: int | None
    clamped: bool


class Summary(Shape, frozen=True, kw_only=True):
    """How one request was decided and how it ended; `-` is a text that there is not."""

    route: str
    kind: RequestKind
    requested_tier: str
    served_tier: str
    attempts: list[SummaryAttempt]
    total_prompt_tokens: Count | None
    total_completion_tokens: Count | None
    request_bytes: Count
    response_bytes: Count
    latency_ms: Count
    measurements: Measurements
    usage: SummaryUsage
    output_limit: OutputLimitShown
    dropped_fields: list[str]
    request_id: str
    gateway_request_id: str
    workbench_run_id: str
    task_id: str
    session_id: str
    client_id: str
    cache_read_input_tokens: Count | None
    admission_wait_ms: Count | None
    config_sha256: str
    router_version: str
    workload_outcome: WorkloadOutcome
    replica_member_id: str | Absent = ABSENT
    replica_selection: Selection | Absent = ABSENT
    replica_scheduler: SchedulerEvidence | Absent = ABSENT
    affinity_hit: bool | Absent = ABSENT


def project_summary(record: DecisionRecord) -> Summary:
    """One record, field by field."""
    return Summary(
        route=record.route,
        kind=record.kind,
        requested_tier=show_text(record.requested_tier),
        served_tier=show_text(record.served_tier),
        attempts=[_attempt(one) for one in record.attempts],
        total_prompt_tokens=record.total_prompt_tokens,
        total_completion_tokens=record.total_completion_tokens,
        request_bytes=record.request_bytes,
        response_bytes=record.response_bytes,
        latency_ms=record.latency_ms,
        measurements=_measurements(record),
        usage=_usage(record),
        output_limit=OutputLimitShown(
            requested=record.output_limit_requested,
            applied=record.output_limit_applied,
            clamped=record.output_limit_clamped,
        ),
        dropped_fields=list(record.dropped_fields),
        request_id=show_text(record.request_id),
        gateway_request_id=record.gateway_request_id,
        workbench_run_id=show_text(record.workbench_run_id),
        task_id=show_text(record.task_id),
        session_id=show_text(record.session_id),
        client_id=show_text(record.client_id),
        cache_read_input_tokens=record.cache_read_input_tokens,
        admission_wait_ms=record.admission_wait_ms,
        config_sha256=show_text(record.config_sha256),
        router_version=show_text(record.router_version),
        workload_outcome=record.workload_outcome,
        replica_member_id=record.replica_member_id or ABSENT,
        replica_selection=record.replica_selection or ABSENT,
        replica_scheduler=record.replica_scheduler or ABSENT,
        affinity_hit=ABSENT if record.affinity_hit is None else record.affinity_hit,
    )


def _attempt(one: Attempt) -> SummaryAttempt:
    return SummaryAttempt(
        tier_id=one.tier_id,
        succeeded=one.succeeded,
        reason=one.reason,
        outcome=one.outcome,
        prompt_tokens=one.prompt_tokens,
        completion_tokens=one.completion_tokens,
    )


def _measurements(record: DecisionRecord) -> Measurements:
    return Measurements(
        readiness_check_ms=record.readiness_check_ms,
        upstream_duration_ms=record.upstream_duration_ms,
        time_to_first_content_ms=record.time_to_first_content_ms,
        finish_reason=record.finish_reason,
        finish_reason_missing=record.finish_reason_missing,
    )


def _usage(record: DecisionRecord) -> SummaryUsage:
    return SummaryUsage(
        prompt_tokens=record.total_prompt_tokens,
        completion_tokens=record.total_completion_tokens,
        prompt_source=record.prompt_tokens_source,
        completion_source=record.completion_tokens_source,
    )
