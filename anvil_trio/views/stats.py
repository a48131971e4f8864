"""`GET /v1/stats`: what the records in memory add up to."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.words import TokenSource, WorkloadOutcome
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.views.shape import Count, Shape

__all__ = ["StatsBlock", "StatsPage", "Tally", "project_stats"]


class RequestCounts(Shape, frozen=True, kw_only=True):
    """How many requests there were, and how many of them were served."""

    total: Count
    succeeded: Count
    failed: Count


class TokenCounts(Shape, frozen=True, kw_only=True):
    """Sums of what was counted or estimated."""

    prompt: Count
    completion: Count
    total: Count


class SourceCounts(Shape, frozen=True, kw_only=True):
    """How many requests' tokens were counted by whom."""

    upstream: Count
    estimated: Count
    unknown: Count


class UsageSources(Shape, frozen=True, kw_only=True):
    """Who counted the tokens of prompts and of answers."""

    prompt: SourceCounts
    completion: SourceCounts


class ByteCounts(Shape, frozen=True, kw_only=True):
    """Sums over bodies."""

    request: Count
    response: Count
    total: Count


class Percentiles(Shape, frozen=True, kw_only=True):
    """Milliseconds over those requests where something was measured, by nearest rank."""

    samples: Count
    average: float | None
    p50: Count | None
    p95: Count | None


class FinishReasonCounts(Shape, frozen=True, kw_only=True):
    """How answers ended; `unknown` where the engine did not say, or there was no answer."""

    stop: Count
    length: Count
    tool_calls: Count
    content_filter: Count
    unknown: Count


class StatsBlock(Shape, frozen=True, kw_only=True):
    """One alias's part."""

    requests: RequestCounts
    tokens: TokenCounts
    usage_sources: UsageSources
    bytes: ByteCounts
    latency_ms: Percentiles
    finish_reason_counts: FinishReasonCounts
    readiness_check_ms: Percentiles
    upstream_duration_ms: Percentiles
    time_to_first_content_ms: Percentiles


class StatsPage(Shape, frozen=True, kw_only=True):
    """The newest `count` of the `matching` records, of which `available` are in memory."""

    object: Literal["router_stats"] = "router_stats"
    scope: Literal["current_decision_log_buffer"] = "current_decision_log_buffer"
    available: Count
    matching: Count
    count: Count
    limit: Count
    model: str | None
    requests: RequestCounts
    tokens: TokenCounts
    usage_sources: UsageSources
    bytes: ByteCounts
    latency_ms: Percentiles
    finish_reason_counts: FinishReasonCounts
    readiness_check_ms: Percentiles
    upstream_duration_ms: Percentiles
    time_to_first_content_ms: Percentiles
    routes: dict[str, StatsBlock]


class Tally:
    """What a number of records add up to. Adding one costs a few additions.

    So whoever adds many may do it in parts, and let others run between them.
    """

    def __init__(self) -> None:
        self._outcomes: Counter[WorkloadOutcome] = Counter()
        self._finishes: Counter[FinishReason | None] = Counter()
        self._prompt_sources: Counter[TokenSource] = Counter()
        self._completion_sources: Counter[TokenSource] = Counter()
        self._prompt = self._completion = self._request = self._response = 0
        self._latency: list[int] = []
        self._readiness: list[int] = []
        self._upstream: list[int] = []
        self._first_content: list[int] = []

    def add(self, record: DecisionRecord) -> None:
        """Count one record. A measured zero is a sample; what was not measured is none."""
        self._outcomes[record.workload_outcome] += 1
        self._finishes[record.finish_reason] += 1
        self._prompt_sources[record.prompt_tokens_source] += 1
        self._completion_sources[record.completion_tokens_source] += 1
        self._prompt += record.total_prompt_tokens or 0
        self._completion += record.total_completion_tokens or 0
        self._request += record.request_bytes
        self._response += record.response_bytes
        self._latency.append(record.latency_ms)
        for samples, value in (
            (self._readiness, record.readiness_check_ms),
            (self._upstream, record.upstream_duration_ms),
            (self._first_content, record.time_to_first_content_ms),
        ):
            if value is not None:
                samples.append(value)

    @property
    def count(self) -> int:
        """How many records were added."""
        return len(self._latency)

    @property
    def block(self) -> StatsBlock:
        """All of it."""
        succeeded = self._outcomes[WorkloadOutcome.SUCCESS]
        return StatsBlock(
            requests=RequestCounts(
                total=self.count, succeeded=succeeded, failed=self.count - succeeded
            ),
            tokens=TokenCounts(
                prompt=self._prompt,
                completion=self._completion,
                total=self._prompt + self._completion,
            ),
            usage_sources=UsageSources(
                prompt=_sources(self._prompt_sources),
                completion=_sources(self._completion_sources),
            ),
            bytes=ByteCounts(
                request=self._request,
                response=self._response,
                total=self._request + self._response,
            ),
            latency_ms=_percentiles(self._latency),
            finish_reason_counts=_finishes(self._finishes),
            readiness_check_ms=_percentiles(self._readiness),
            upstream_duration_ms=_percentiles(self._upstream),
            time_to_first_content_ms=_percentiles(self._first_content),
        )


def project_stats(
    total: Tally,
    routes: Mapping[str, Tally],
    *,
    available: int,
    matching: int,
    limit: int,
    model: str | None,
) -> StatsPage:
    """The page over what was counted; `routes` hold the same records by route."""
    whole = total.block
    return StatsPage(
        available=available,
        matching=matching,
        count=total.count,
        limit=limit,
        model=model,
        requests=whole.requests,
        tokens=whole.tokens,
        usage_sources=whole.usage_sources,
        bytes=whole.bytes,
        latency_ms=whole.latency_ms,
        finish_reason_counts=whole.finish_reason_counts,
        readiness_check_ms=whole.readiness_check_ms,
        upstream_duration_ms=whole.upstream_duration_ms,
        time_to_first_content_ms=whole.time_to_first_content_ms,
        routes={route: routes[route].block for route in sorted(routes)},
    )


def _sources(counted: Counter[TokenSource]) -> SourceCounts:
    return SourceCounts(
        upstream=counted[TokenSource.UPSTREAM],
        estimated=counted[TokenSource.ESTIMATED],
        unknown=counted[TokenSource.UNKNOWN],
    )


def _finishes(counted: Counter[FinishReason | None]) -> FinishReasonCounts:
    return FinishReasonCounts(
        stop=counted[FinishReason.STOP],
        length=counted[FinishReason.LENGTH],
        tool_calls=counted[FinishReason.TOOL_CALLS],
        content_filter=counted[FinishReason.CONTENT_FILTER],
        unknown=counted[None],
    )


def _percentiles(samples: Sequence[int]) -> Percentiles:
    if not samples:
        return Percentiles(samples=0, average=None, p50=None, p95=None)
    ranked = sorted(samples)
    return Percentiles(
        samples=len(ranked),
        average=round(sum(ranked) / len(ranked), 3),
        p50=_nearest_rank(ranked, 50),
        p95=_nearest_rank(ranked, 95),
    )


def _nearest_rank(ranked: Sequence[int], percent: int) -> int:
    return ranked[math.ceil(len(ranked) * percent / 100) - 1]
