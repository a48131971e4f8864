"""The gauges of the decision buffer in `GET /metrics`, as rows."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from anvil_trio.meters import buffer_metrics as metrics
from anvil_trio.meters.buffer import Summary, Totals
from anvil_trio.meters.metric import Metric
from anvil_trio.views.state_rows import Row

__all__ = ["buffer_rows"]

_SUMS: Mapping[Metric, Callable[[Totals], float]] = MappingProxyType({
    metrics.BUFFER_PROMPT_TOKENS: lambda totals: totals.prompt_tokens,
    metrics.BUFFER_COMPLETION_TOKENS: lambda totals: totals.completion_tokens,
    metrics.BUFFER_REQUEST_BYTES: lambda totals: totals.request_bytes,
    metrics.BUFFER_RESPONSE_BYTES: lambda totals: totals.response_bytes,
})


def _of_spans() -> Iterator[tuple[Metric, tuple[str, Callable[[Summary], float | None]]]]:
    for field, span in metrics.BUFFER_SPANS.items():
        yield span.samples, (field, lambda summary: summary.samples)
        yield span.average, (field, lambda summary: summary.average)
        yield span.p50, (field, lambda summary: summary.p50)
        yield span.p95, (field, lambda summary: summary.p95)


_SPANS = MappingProxyType(dict(_of_spans()))


def buffer_rows(metric: Metric, totals: Mapping[str, Totals]) -> Iterator[Row]:
    """The rows of one metric of `buffer_metrics`, but for the capacity; `totals` are whole.

    What no record knows has no row.
    """
    if metric == metrics.BUFFER_REQUESTS:
        for model, row in totals.items():
            yield (model, "succeeded"), row.succeeded
            yield (model, "failed"), row.failed
    elif metric in _SUMS:
        for model, row in totals.items():
            yield (model,), _SUMS[metric](row)
    else:
        field, of = _SPANS[metric]
        for model, row in totals.items():
            number = of(row.spans[field])
            if number is not None:
                yield (model,), number
