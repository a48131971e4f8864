"""`GET /v1/requests/{id}` and `GET /v1/requests`: single requests, ended ones and running ones."""

from collections.abc import Sequence
from typing import Literal

from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.facts import ActiveRequest, Phase
from anvil_trio.views.shape import Count, Shape
from anvil_trio.views.summary import Summary, project_summary
from anvil_trio.views.text import show_text

__all__ = [
    "Active",
    "ActivePage",
    "HistoryPage",
    "RequestPage",
    "Scope",
    "project_active",
    "project_history",
    "project_request",
    "state_of",
]

Scope = Literal["current_decision_log_buffer", "decision_log_jsonl"]
"""Where records were looked for: in memory alone, or in memory and the file."""

ActiveState = Literal["queued", "running"]

_QUEUED = frozenset({Phase.CHECKING, Phase.QUEUED})


class RequestPage(Shape, frozen=True, kw_only=True):
    """One request that has ended; `scope` says where its record was found."""

    object: Literal["router_request"] = "router_request"
    scope: Scope
    record: Summary


class HistoryPage(Shape, frozen=True, kw_only=True):
    """A session's requests that have ended, newest first.

    `truncated` says that there may be more; `available` is false where the file could not be read.
    """

    object: Literal["router_request_history"] = "router_request_history"
    session_id: str
    scope: Scope
    records: list[Summary]
    truncated: bool
    available: bool


class Active(Shape, frozen=True, kw_only=True):
    """One request that runs now. Times are whole milliseconds, `created_at` seconds since 1970."""

    gateway_request_id: str
    state: ActiveState
    phase: Phase
    created_at: float
    session_id: str | None
    client_id: str | None
    route: str
    elapsed_ms: Count
    last_activity_ms: Count
    admission_wait_ms: Count | None
    estimated_input_tokens: Count | None
    input_tokens: Count | None
    output_tokens: Count | None
    cache_read_input_tokens: Count | None
    context_limit_tokens: Count | None


class ActivePage(Shape, frozen=True, kw_only=True):
    """The requests that run now, newest first."""

    object: Literal["router_request_history"] = "router_request_history"
    session_id: str | None
    scope: Literal["active_workload_buffer"] = "active_workload_buffer"
    records: list[Active]
    truncated: bool
    available: Literal[True] = True


def project_request(record: DecisionRecord, scope: Scope) -> RequestPage:
    """The one record that was found."""
    return RequestPage(scope=scope, record=project_summary(record))


def project_history(
    session_id: str,
    records: Sequence[DecisionRecord],
    *,
    limit: int,
    scope: Scope,
    may_be_more: bool,
    is_available: bool,
) -> HistoryPage:
    """The newest `limit` of a session's records, which are given newest first."""
    return HistoryPage(
        session_id=show_text(session_id),
        scope=scope,
        records=[project_summary(one) for one in records[:limit]],
        truncated=may_be_more or len(records) > limit,
        available=is_available,
    )


def project_active(
    running: Sequence[ActiveRequest], *, session_id: str | None, limit: int
) -> ActivePage:
    """The newest `limit` of the running requests, of one session if it is named."""
    wanted = [one for one in running if session_id in {None, one.session_id}]
    wanted.sort(key=lambda one: one.created_unix, reverse=True)
    return ActivePage(
        session_id=None if session_id is None else show_text(session_id),
        records=[_active(one) for one in wanted[:limit]],
        truncated=len(wanted) > limit,
    )


def state_of(phase: Phase) -> ActiveState:
    """Whether a running request waits, or has a place in its tier."""
    return "queued" if phase in _QUEUED else "running"


def _active(one: ActiveRequest) -> Active:
    return Active(
        gateway_request_id=one.gateway_request_id,
        state=state_of(one.phase),
        phase=one.phase,
        created_at=round(one.created_unix, 3),
        session_id=None if one.session_id is None else show_text(one.session_id),
        client_id=one.client_id,
        route=one.route,
        elapsed_ms=one.elapsed_ms,
        last_activity_ms=one.last_activity_ms,
        admission_wait_ms=one.admission_wait_ms,
        estimated_input_tokens=one.estimated_input_tokens,
        input_tokens=one.input_tokens,
        output_tokens=one.output_tokens,
        cache_read_input_tokens=one.cache_read_input_tokens,
        context_limit_tokens=one.context_limit_tokens,
    )
