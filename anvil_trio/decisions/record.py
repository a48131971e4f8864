"""The decision record: one per request, free of content, and its line in the journal."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec
from msgspec.structs import force_setattr

from anvil_trio.decisions.scheduler import SchedulerEvidence, checked_evidence
from anvil_trio.decisions.words import (
    AttemptOutcome,
    AttemptReason,
    RequestKind,
    Selection,
    TokenSource,
    WorkloadOutcome,
)
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.names import is_identifier

__all__ = [
    "UNKNOWN_MODEL_ROUTE",
    "UNPARSED_ROUTE",
    "Attempt",
    "DecisionRecord",
    "checked_pair",
    "render_line",
]

UNKNOWN_MODEL_ROUTE = "unknown_model"
"""The route of every request for a model that is not configured: never the caller's text."""

UNPARSED_ROUTE = "unparsed"
"""The route of a request that ended before its model was known."""

_SELECTIONS = {word.value: word for word in Selection}
_ASKED = frozenset({Selection.IDENTITY_PASSED, Selection.NOT_ADMITTED})
_is_member_id = lru_cache(maxsize=1024)(is_identifier)  # they are few, and in every record
_ENCODER = msgspec.json.Encoder(order="sorted")


class Attempt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What came of the one member that was asked, or the gate that stood before it."""

    tier_id: str
    succeeded: bool
    reason: AttemptReason
    outcome: AttemptOutcome
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class DecisionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How one request was decided and how it ended, in numbers and closed words only (R012).

    Times are whole milliseconds, `unix_ts` and `workload_*_at` seconds since 1970. None is "not
    known" or "did not happen", never 0. `replica_member_id` and `replica_selection` hold a valid
    pair or two Nones, whatever the maker said: see `checked_pair`. `replica_scheduler` is None
    unless it fits them, and `affinity_hit` is None without a member.

    Thousands are kept and none can be in a cycle, so the garbage collector looks at none of them.
    """

    kind: RequestKind
    route: str
    unix_ts: float
    workload_created_at: float
    workload_updated_at: float
    workload_outcome: WorkloadOutcome
    gateway_request_id: str
    latency_ms: int
    attempts: tuple[Attempt, ...] = ()
    requested_tier: str | None = None
    served_tier: str | None = None
    replica_member_id: str | None = None
    replica_selection: Selection | None = None
    replica_scheduler: SchedulerEvidence | None = None
    affinity_hit: bool | None = None
    request_id: str | None = None
    session_id: str | None = None
    workbench_run_id: str | None = None
    task_id: str | None = None
    client_id: str | None = None
    request_bytes: int = 0
    response_bytes: int = 0
    readiness_check_ms: int | None = None
    admission_wait_ms: int | None = None
    upstream_duration_ms: int | None = None
    time_to_first_content_ms: int | None = None
    finish_reason: FinishReason | None = None
    finish_reason_missing: bool = False
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    prompt_tokens_source: TokenSource = TokenSource.UNKNOWN
    completion_tokens_source: TokenSource = TokenSource.UNKNOWN
    cache_read_input_tokens: int | None = None
    output_limit_requested: int | None = None
    output_limit_applied: int | None = None
    output_limit_clamped: bool = False
    dropped_fields: tuple[str, ...] = ()
    config_sha256: str | None = None
    router_version: str | None = None

    def __post_init__(self) -> None:
        member_id, selection = checked_pair(
            self.replica_member_id, self.replica_selection, len(self.attempts)
        )
        if member_id is not self.replica_member_id:
            force_setattr(self, "replica_member_id", member_id)
        if selection is not self.replica_selection:
            force_setattr(self, "replica_selection", selection)
        if self.replica_scheduler is not None:
            is_asked = selection in _ASKED
            evidence = checked_evidence(self.replica_scheduler, member_id) if is_asked else None
            force_setattr(self, "replica_scheduler", evidence)
        if member_id is None and self.affinity_hit is not None:
            force_setattr(self, "affinity_hit", None)


def checked_pair(
    member_id: object, selection: object, attempts: int
) -> tuple[str | None, Selection | None]:
    """The member and how it was chosen, or two Nones: an invalid pair is dropped whole (T011).

    Valid are a member's identifier with `identity_passed` and exactly one attempt, and no member
    with `not_admitted` or `request_rejected` and no attempt. Nothing is converted to text.
    """
    word = selection if type(selection) is Selection else _word(selection)
    if word is Selection.IDENTITY_PASSED:
        if type(member_id) is str and attempts == 1 and _is_member_id(member_id):
            return member_id, word
        return None, None
    return (None, word) if member_id is None and attempts == 0 else (None, None)


def _word(selection: object) -> Selection | None:
    return _SELECTIONS.get(selection) if type(selection) is str else None


def render_line(record: DecisionRecord) -> bytes:
    """The record as one line of JSON, newline included: these keys and no others, sorted."""
    line = _always_shown(record)
    for key, value in _shown_when_known(record).items():
        if value is not None:
            line[key] = value
    return _ENCODER.encode(line) + b"\n"


def _always_shown(record: DecisionRecord) -> dict[str, object]:
    """What a line always holds, null where it is not known."""
    return {
        "attempts": [_attempt(attempt) for attempt in record.attempts],
        "completion_tokens_source": record.completion_tokens_source,
        "dropped_fields": record.dropped_fields,
        "finish_reason": record.finish_reason,
        "finish_reason_missing": record.finish_reason_missing,
        "gateway_request_id": record.gateway_request_id,
        "kind": record.kind,
        "latency_ms": record.latency_ms,
        "output_limit_applied": record.output_limit_applied,
        "output_limit_clamped": record.output_limit_clamped,
        "output_limit_requested": record.output_limit_requested,
        "prompt_tokens_source": record.prompt_tokens_source,
        "readiness_check_ms": record.readiness_check_ms,
        "request_bytes": record.request_bytes,
        "request_id": record.request_id,
        "requested_tier": record.requested_tier,
        "response_bytes": record.response_bytes,
        "route": record.route,
        "served_tier": record.served_tier,
        "task_id": record.task_id,
        "time_to_first_content_ms": record.time_to_first_content_ms,
        "total_completion_tokens": record.total_completion_tokens,
        "total_prompt_tokens": record.total_prompt_tokens,
        "unix_ts": record.unix_ts,
        "upstream_duration_ms": record.upstream_duration_ms,
        "workbench_run_id": record.workbench_run_id,
        "workload_created_at": record.workload_created_at,
        "workload_outcome": record.workload_outcome,
        "workload_updated_at": record.workload_updated_at,
    }


def _shown_when_known(record: DecisionRecord) -> Mapping[str, object]:
    """What a line holds only where there is something to say."""
    return {
        "admission_wait_ms": record.admission_wait_ms,
        "affinity_hit": record.affinity_hit,
        "cache_read_input_tokens": record.cache_read_input_tokens,
        "client_id": record.client_id,
        "config_sha256": record.config_sha256,
        "replica_member_id": record.replica_member_id,
        "replica_scheduler": record.replica_scheduler,
        "replica_selection": record.replica_selection,
        "router_version": record.router_version,
        "session_id": record.session_id,
    }


def _attempt(attempt: Attempt) -> Mapping[str, object]:
    return {
        "completion_tokens": attempt.completion_tokens,
        "outcome": attempt.outcome,
        "prompt_tokens": attempt.prompt_tokens,
        "reason": attempt.reason,
        "succeeded": attempt.succeeded,
        "tier_id": attempt.tier_id,
    }
