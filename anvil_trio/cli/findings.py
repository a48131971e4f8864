"""What a request's numbers and words show, and where to look next. Pure; the words are all here."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from anvil_trio.cli.replies import ActiveRow, RecordRow
from anvil_trio.decisions.record import UNKNOWN_MODEL_ROUTE, UNPARSED_ROUTE
from anvil_trio.decisions.words import AttemptReason, Selection, TokenSource
from anvil_trio.dialects.ir import FinishReason

__all__ = ["FINDINGS", "Finding", "find_in_active", "find_in_record", "render_findings"]

_LONG_WAIT_MS = 1_000
_LATE_CONTENT_MS = 10_000
_QUIET_MS = 15_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation, and the check that may explain it; None where there is nothing to check."""

    code: str
    observation: str
    next_check: str | None = None


_ENGINE_LOG = "Read the log of the member's engine at that time."
_EVENT_LINES = "Read the router's event lines at that time."
_READINESS = "Run router transition-status: it shows intent and readiness."
_LOAD = "Compare the counts of GET /v1/models/capacity with the tier's ceilings."
_OWN_LIMITS = "Compare the request with the tier's context_limit and tool_support."

_ALL = (
    Finding("served", "The request was served whole."),
    Finding(
        "served_output_clamped",
        "It was served with a smaller output limit than the caller asked for.",
        "Compare the caller's limit with the tier's max_output_tokens.",
    ),
    Finding(
        "client_disconnected",
        "The caller left, or stopped reading, before it had the whole answer.",
        "Look for a timeout of the caller, or of a proxy in between.",
    ),
    Finding(
        "backend_error",
        "The member's engine refused, failed, broke off or took too long.",
        _ENGINE_LOG,
    ),
    Finding(
        "completion_error",
        "The router ended it: by a shutdown, a cancellation or a fault of its own.",
        _EVENT_LINES,
    ),
    Finding("request_rejected", "The request is not valid for its tier.", _OWN_LIMITS),
    Finding("over_context", "The prompt is longer than the tier's context.", _OWN_LIMITS),
    Finding("media_admission", "The tier does not take this media.", _OWN_LIMITS),
    Finding("tools_unsupported", "The tier does not take tools.", _OWN_LIMITS),
    Finding("quiesced", "An operator had stopped new work.", _READINESS),
    Finding("unavailable", "No member was ready, or the tier had failed.", _READINESS),
    Finding("admission_timeout", "No place became free in time.", _LOAD),
    Finding(
        "not_admitted",
        "No member took it: none was ready, the tier was quiesced, or all were full.",
        _READINESS,
    ),
    Finding(
        "unknown_model",
        "Its model is not configured.",
        "Compare the caller's model with GET /v1/models.",
    ),
    Finding(
        "unparsed",
        "It ended before its model was known: a bad body, its client's cap, or a full router.",
        "Look at the status and code that the caller was sent.",
    ),
    Finding("long_wait", "It waited for more than a second for a place.", _LOAD),
    Finding(
        "late_content",
        "The first content came more than ten seconds after a member was chosen.",
        _ENGINE_LOG,
    ),
    Finding("no_content", "The engine was asked and sent no content.", _ENGINE_LOG),
    Finding(
        "output_limit_reached",
        "The answer was cut at its output limit.",
        "Compare output_limit with what the caller needs.",
    ),
    Finding(
        "finish_reason_missing",
        "The engine ended its stream well, but without a finish reason.",
        "Look for the engine's version and its known faults.",
    ),
    Finding("usage_estimated", "Token counts are estimates: the engine did not report them."),
    Finding(
        "configuration_changed",
        "The router's configuration has changed since.",
        "Compare the tier's settings of then and now.",
    ),
    Finding("checking", "The request is being read and checked."),
    Finding("queued", "It waits for a place on a member.", _LOAD),
    Finding("admitted", "A member is reserved; the request is on its way to it."),
    Finding("dispatched", "The engine has the request and has not begun to answer."),
    Finding("streaming", "The engine is answering."),
    Finding(
        "quiet",
        "Nothing has moved for more than fifteen seconds.",
        "Read the log of the tier's engines now.",
    ),
)

FINDINGS = {finding.code: finding for finding in _ALL}

_PHASES = frozenset({"checking", "queued", "admitted", "dispatched", "streaming"})


def find_in_record(record: RecordRow, current_sha256: str | None) -> Iterator[Finding]:
    """What a finished request shows; `current_sha256` is the configuration of now, if known."""
    yield from map(FINDINGS.__getitem__, _ending_of(record))
    measured = record.measurements
    waited_ms = record.admission_wait_ms or 0
    if waited_ms > _LONG_WAIT_MS:
        yield FINDINGS["long_wait"]
    first_ms = measured.time_to_first_content_ms
    if first_ms is not None and first_ms - waited_ms > _LATE_CONTENT_MS:
        yield FINDINGS["late_content"]
    if first_ms is None and measured.upstream_duration_ms is not None:
        yield FINDINGS["no_content"]
    if measured.finish_reason == FinishReason.LENGTH:
        yield FINDINGS["output_limit_reached"]
    if measured.finish_reason_missing:
        yield FINDINGS["finish_reason_missing"]
    if TokenSource.ESTIMATED in {record.usage.prompt_source, record.usage.completion_source}:
        yield FINDINGS["usage_estimated"]
    if None not in {record.config_sha256, current_sha256} and (
        record.config_sha256 != current_sha256
    ):
        yield FINDINGS["configuration_changed"]


def find_in_active(row: ActiveRow) -> Iterator[Finding]:
    """What a request that runs shows."""
    if row.phase in _PHASES:
        yield FINDINGS[row.phase or ""]
    if row.last_activity_ms is not None and row.last_activity_ms > _QUIET_MS:
        yield FINDINGS["quiet"]


def render_findings(findings: Iterable[Finding]) -> dict[str, JsonValue]:
    """`observations`, and `next_checks` without repetition."""
    found = list(findings)
    checks = dict.fromkeys(one.next_check for one in found if one.next_check is not None)
    return {
        "observations": [{"code": one.code, "message": one.observation} for one in found],
        "next_checks": [*checks],
    }


def _ending_of(record: RecordRow) -> Iterator[str]:
    """Why it ended as it did, from the most special to the most general that is known."""
    if record.route == UNKNOWN_MODEL_ROUTE:
        yield "unknown_model"
    elif record.route == UNPARSED_ROUTE:
        yield "unparsed"
    elif record.attempts:
        reason = record.attempts[0].reason
        if reason in set(AttemptReason):
            yield str(reason)
    elif record.replica_selection in {Selection.NOT_ADMITTED, Selection.REQUEST_REJECTED}:
        yield str(record.replica_selection)
