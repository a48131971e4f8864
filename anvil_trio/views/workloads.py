"""`GET /v1/workloads`: this node's requests, for whoever collects the workloads of many nodes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Final, Literal

from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.words import WorkloadOutcome
from anvil_trio.facts import ActiveRequest, Phase
from anvil_trio.views.requests import state_of
from anvil_trio.views.shape import Shape

__all__ = [
    "KIND",
    "OWNER",
    "STATES",
    "Workload",
    "WorkloadSource",
    "WorkloadsPage",
    "WorkloadsQuery",
    "project_workloads",
]

OWNER: Final = "router"
KIND: Final = "router-request"
STATES = ("queued", "running", "ended")

WorkloadState = Literal["queued", "running", "ended"]


class Workload(Shape, frozen=True, kw_only=True):
    """One request. Moments are seconds since 1970; the id is a digest, which joins nothing else."""

    id: str
    kind: Literal["router-request"] = KIND
    state: WorkloadState
    phase: Phase | None
    outcome: WorkloadOutcome | None
    created_at: float
    updated_at: float


class WorkloadSource(Shape, frozen=True, kw_only=True):
    """What one owner on this node runs, newest first."""

    owner: Literal["router"] = OWNER
    records: list[Workload]


class WorkloadsPage(Shape, frozen=True, kw_only=True):
    """One node's workloads."""

    schema: Literal["anvil-workloads/v1"] = "anvil-workloads/v1"
    host: str
    status: Literal["ok"] = "ok"
    collection_timestamp: float
    sources: list[WorkloadSource]


@dataclass(frozen=True, slots=True)
class WorkloadsQuery:
    """Which workloads; None asks for all."""

    owner: str | None = None
    kind: str | None = None
    state: str | None = None
    host: str | None = None
    is_active_only: bool = False
    recent_s: int | None = None
    limit: int = 100


def project_workloads(
    host: str,
    running: Sequence[ActiveRequest],
    ended: Iterable[DecisionRecord],
    asked: WorkloadsQuery,
    *,
    now_unix: float,
) -> WorkloadsPage:
    """The running requests, then the ended ones, each newest first. `ended` are newest first."""
    is_ours = asked.owner in {None, OWNER} and asked.host in {None, host}
    found: Iterator[Workload] = iter(())
    if is_ours and asked.kind in {None, KIND}:
        found = _found(running, ended, asked, now_unix)
    records = list(islice(found, asked.limit))
    return WorkloadsPage(
        host=host,
        collection_timestamp=round(now_unix, 3),
        sources=[WorkloadSource(records=records)] if is_ours else [],
    )


def _found(
    running: Sequence[ActiveRequest],
    ended: Iterable[DecisionRecord],
    asked: WorkloadsQuery,
    now_unix: float,
) -> Iterator[Workload]:
    for one in sorted(running, key=lambda one: one.created_unix, reverse=True):
        shown = _active(one, now_unix)
        if asked.state in {None, shown.state}:
            yield shown
    if asked.is_active_only or asked.state not in {None, "ended"}:
        return
    for record in ended:
        if asked.recent_s is not None and record.unix_ts < now_unix - asked.recent_s:
            return
        yield _ended(record)


def _active(one: ActiveRequest, now_unix: float) -> Workload:
    return Workload(
        id=_digest(one.gateway_request_id),
        state=state_of(one.phase),
        phase=one.phase,
        outcome=None,
        created_at=round(one.created_unix, 3),
        updated_at=round(now_unix - one.last_activity_ms / 1000, 3),
    )


def _ended(record: DecisionRecord) -> Workload:
    return Workload(
        id=_digest(record.gateway_request_id),
        state="ended",
        phase=None,
        outcome=record.workload_outcome,
        created_at=record.workload_created_at,
        updated_at=record.workload_updated_at,
    )


def _digest(gateway_request_id: str) -> str:
    return sha256(gateway_request_id.encode()).hexdigest()
