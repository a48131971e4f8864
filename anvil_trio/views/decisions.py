"""`GET /v1/decisions`: the newest records, and what they add up to."""

from collections.abc import Sequence

from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.words import WorkloadOutcome
from anvil_trio.views.shape import Count, Shape
from anvil_trio.views.summary import OMITTED, Summary, project_summary

__all__ = ["DecisionTotals", "DecisionsPage", "project_decisions"]


class DecisionTotals(Shape, frozen=True, kw_only=True):
    """Sums over the records of this reply; tokens that nobody counted add nothing."""

    requests: Count
    succeeded: Count
    failed: Count
    prompt_tokens: Count
    completion_tokens: Count
    request_bytes: Count
    response_bytes: Count


class DecisionsPage(Shape, frozen=True, kw_only=True):
    """The newest records in memory, newest first."""

    count: Count
    available: Count
    limit: Count
    records: list[Summary]
    totals: DecisionTotals
    omitted_fields: list[str]


def project_decisions(
    newest: Sequence[DecisionRecord], *, available: int, limit: int
) -> DecisionsPage:
    """`newest` are at most `limit` of the `available` records, newest first."""
    return DecisionsPage(
        count=len(newest),
        available=available,
        limit=limit,
        records=[project_summary(one) for one in newest],
        totals=_totals(newest),
        omitted_fields=list(OMITTED),
    )


def _totals(records: Sequence[DecisionRecord]) -> DecisionTotals:
    succeeded = sum(one.workload_outcome is WorkloadOutcome.SUCCESS for one in records)
    return DecisionTotals(
        requests=len(records),
        succeeded=succeeded,
        failed=len(records) - succeeded,
        prompt_tokens=sum(one.total_prompt_tokens or 0 for one in records),
        completion_tokens=sum(one.total_completion_tokens or 0 for one in records),
        request_bytes=sum(one.request_bytes for one in records),
        response_bytes=sum(one.response_bytes for one in records),
    )
