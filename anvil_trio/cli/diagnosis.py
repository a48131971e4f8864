"""A diagnosis: the router's pages about one request, a session or what runs, put in order. Pure.

Every key is listed here, every value is a number, a closed word or a name that a page may show.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from pydantic import JsonValue

from anvil_trio.cli.findings import find_in_active, find_in_record, render_findings
from anvil_trio.cli.replies import (
    ActivePage,
    ActiveRow,
    HistoryPage,
    RecordRow,
    RequestPage,
    StatusPage,
    plain_text,
)
from anvil_trio.decisions.words import (
    AttemptReason,
    RequestKind,
    Selection,
    TokenSource,
    WorkloadOutcome,
)
from anvil_trio.dialects.ir import FinishReason

__all__ = ["LIMITATIONS", "SCHEMA", "diagnose_active", "diagnose_request", "diagnose_session"]

SCHEMA = "anvil-router-diagnosis/v1"

LIMITATIONS: Mapping[str, str] = {
    "metadata_only": "Records hold numbers, closed words and ids; no prompt, no answer and no "
    "word of an engine.",
    "never_replayed": "No engine was asked, and the request was not sent again.",
    "retained_only": "Only what is retained is found: the newest records in memory, older ones "
    "where the router has a decision log.",
    "file_unavailable": "The router's decision log could not be read; this is from memory alone.",
    "current_is_now": "current_router is the router now; the request may have met another process "
    "or configuration.",
    "current_unknown": "The credential does not open the status page, or it was not answered.",
    "one_moment": "What runs is what ran at one moment.",
    "refusals_not_told_apart": "A replica tier's record does not tell readiness, quiesce and "
    "capacity apart.",
}
"""What a diagnosis cannot say, by code."""

_SCOPES = frozenset({
    "current_decision_log_buffer",
    "decision_log_jsonl",
    "active_workload_buffer",
})
_UNKNOWN = "unknown"
_RUNNING = "running"

_DELIVERY = {
    WorkloadOutcome.SUCCESS: "delivered",
    WorkloadOutcome.DISCONNECTED: "client_left",
    WorkloadOutcome.REJECTED: "refused",
    WorkloadOutcome.ERROR: "failed",
    WorkloadOutcome.TIMEOUT: "failed",
    WorkloadOutcome.CANCELLED: "failed",
}
_SERVED = frozenset({AttemptReason.SERVED, AttemptReason.SERVED_OUTPUT_CLAMPED})
_STATES = frozenset({"queued", "running"})
_PHASES = frozenset({"checking", "queued", "admitted", "dispatched", "streaming"})


def diagnose_request(page: RequestPage, status: StatusPage | None) -> dict[str, JsonValue]:
    """One finished request, beside the router as it is now (None: not known)."""
    current = None if status is None else status.config_sha256
    codes = ["metadata_only", "never_replayed", "current_is_now"]
    if status is None:
        codes.append("current_unknown")
    if page.record.replica_selection == Selection.NOT_ADMITTED:
        codes.append("refusals_not_told_apart")
    return {
        "schema": SCHEMA,
        "scope": _scope(page.scope),
        "request": _record(page.record, current),
        "current_router": {
            "status": "unavailable" if status is None else "available",
            "metadata": None if status is None else _metadata(status),
        },
        "limitations": _limitations(codes),
    }


def diagnose_session(session_id: str, page: HistoryPage) -> dict[str, JsonValue]:
    """The finished requests of one session, newest first."""
    codes = ["metadata_only", "never_replayed", "retained_only"]
    if not page.available:
        codes.append("file_unavailable")
    return {
        "schema": SCHEMA,
        "scope": _scope(page.scope),
        "session_id": session_id,
        "active": False,
        "requests": [_record(record, None) for record in page.records],
        "truncated": page.truncated,
        "limitations": _limitations(codes),
    }


def diagnose_active(page: ActivePage) -> dict[str, JsonValue]:
    """What runs now, newest first."""
    return {
        "schema": SCHEMA,
        "scope": _scope(page.scope),
        "session_id": None,
        "active": True,
        "requests": [_active(row) for row in page.records],
        "truncated": page.truncated,
        "limitations": _limitations(["metadata_only", "never_replayed", "one_moment"]),
    }


def _record(record: RecordRow, current_sha256: str | None) -> dict[str, JsonValue]:
    measured, usage, limit = record.measurements, record.usage, record.output_limit
    outcome = _word(record.workload_outcome, WorkloadOutcome)
    return {
        "gateway_request_id": plain_text(record.gateway_request_id),
        "request_id": plain_text(record.request_id),
        "session_id": plain_text(record.session_id),
        "client_id": plain_text(record.client_id),
        "workbench_run_id": plain_text(record.workbench_run_id),
        "task_id": plain_text(record.task_id),
        "kind": _word(record.kind, RequestKind),
        "route": plain_text(record.route),
        "requested_tier": plain_text(record.requested_tier),
        "served_tier": plain_text(record.served_tier),
        "replica_member_id": plain_text(record.replica_member_id),
        "replica_selection": _word(record.replica_selection, Selection),
        "config_sha256": plain_text(record.config_sha256),
        "router_version": plain_text(record.router_version),
        "outcome": outcome or _UNKNOWN,
        "upstream_outcome": _upstream_outcome(record),
        "delivery_outcome": _UNKNOWN if outcome is None else _DELIVERY[WorkloadOutcome(outcome)],
        "finish_reason": _word(measured.finish_reason, FinishReason),
        "timing": {
            "latency_ms": record.latency_ms,
            "readiness_check_ms": measured.readiness_check_ms,
            "admission_wait_ms": record.admission_wait_ms,
            "upstream_duration_ms": measured.upstream_duration_ms,
            "time_to_first_content_ms": measured.time_to_first_content_ms,
        },
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "prompt_source": _word(usage.prompt_source, TokenSource) or _UNKNOWN,
            "completion_source": _word(usage.completion_source, TokenSource) or _UNKNOWN,
            "cache_read_input_tokens": record.cache_read_input_tokens,
        },
        "output_limit": {
            "requested": limit.requested,
            "applied": limit.applied,
            "clamped": limit.clamped,
        },
        "active": _activity(None),
        **render_findings(find_in_record(record, current_sha256)),
    }


def _active(row: ActiveRow) -> dict[str, JsonValue]:
    return {
        "gateway_request_id": plain_text(row.gateway_request_id),
        "session_id": plain_text(row.session_id),
        "client_id": plain_text(row.client_id),
        "route": plain_text(row.route),
        "outcome": _RUNNING,
        "upstream_outcome": _UNKNOWN,
        "delivery_outcome": _UNKNOWN,
        "timing": {
            "latency_ms": row.elapsed_ms,
            "readiness_check_ms": None,
            "admission_wait_ms": row.admission_wait_ms,
            "upstream_duration_ms": None,
            "time_to_first_content_ms": None,
        },
        "usage": {
            "prompt_tokens": row.input_tokens,
            "completion_tokens": row.output_tokens,
            "prompt_source": _UNKNOWN,
            "completion_source": _UNKNOWN,
            "cache_read_input_tokens": row.cache_read_input_tokens,
        },
        "output_limit": {"requested": None, "applied": None, "clamped": False},
        "active": _activity(row),
        **render_findings(find_in_active(row)),
    }


def _activity(row: ActiveRow | None) -> dict[str, JsonValue]:
    """What only a running request has; nulls for one that ended."""
    row = ActiveRow(gateway_request_id="") if row is None else row
    return {
        "state": row.state if row.state in _STATES else None,
        "phase": row.phase if row.phase in _PHASES else None,
        "elapsed_ms": row.elapsed_ms,
        "last_activity_ms": row.last_activity_ms,
        "estimated_input_tokens": row.estimated_input_tokens,
        "context_limit_tokens": row.context_limit_tokens,
    }


def _metadata(status: StatusPage) -> dict[str, JsonValue]:
    return {
        "package_version": plain_text(status.package_version),
        "started_at": plain_text(status.started_at),
        "uptime_seconds": status.uptime_seconds,
        "config_sha256": plain_text(status.config_sha256),
        "tiers_configured": status.tier_counts.configured,
        "tiers_enabled": status.tier_counts.enabled,
    }


def _upstream_outcome(record: RecordRow) -> str:
    """Whether an engine was asked, and what it made of it, as far as the record knows."""
    reasons = {attempt.reason for attempt in record.attempts}
    if reasons & _SERVED:
        return "success"
    if AttemptReason.BACKEND_ERROR in reasons:
        return "error"
    was_asked = {AttemptReason.CLIENT_DISCONNECTED, AttemptReason.COMPLETION_ERROR} & reasons
    return _UNKNOWN if was_asked else "not_attempted"


def _word(text: str | None, words: type[StrEnum]) -> str | None:
    return text if text in {word.value for word in words} else None


def _scope(text: str) -> str:
    return text if text in _SCOPES else _UNKNOWN


def _limitations(codes: Sequence[str]) -> list[JsonValue]:
    return [{"code": code, "message": LIMITATIONS[code]} for code in codes]
