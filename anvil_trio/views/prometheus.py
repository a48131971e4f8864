"""The router's metrics as a collector of prometheus_client, made anew for each scrape.

A family may come in several pieces, none of them large, so that whoever writes them out can let
requests run in between. Labels are those of the catalog and nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from anvil_trio.meters import buffer_metrics, process_metrics, request_metrics, state_metrics
from anvil_trio.meters.board import Meters
from anvil_trio.meters.buffer import Totals
from anvil_trio.meters.catalog import CATALOG
from anvil_trio.meters.metric import Kind, Metric
from anvil_trio.views.buffer_rows import buffer_rows
from anvil_trio.views.request_rows import Only, SpreadRow, counter_rows, spread_rows
from anvil_trio.views.state_rows import Row, StateRows

__all__ = ["ProcessNumbers", "RouterCollector", "Scrape", "make_registry"]

_ROWS = 50  # in one piece
_SPREADS = 3  # likewise: each has one sample per bound and two more

_STATE = frozenset(state_metrics.ALL)
_REQUESTS = frozenset(request_metrics.ALL)
_BUFFER = frozenset(buffer_metrics.ALL) - {buffer_metrics.BUFFER_CAPACITY}


@dataclass(frozen=True, slots=True)
class ProcessNumbers:
    """What the process says of itself. None: there is no decision log, no trace collector."""

    started_unix: float
    buffer_capacity: int
    log_failures: int | None = None
    spans_exported: int | None = None
    spans_dropped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Scrape:
    """All that one scrape shows; the work of `state` and `buffer` is done."""

    meters: Meters
    state: StateRows
    buffer: Mapping[str, Totals]
    process: ProcessNumbers
    only: Only | None = None


def make_registry(scrape: Scrape) -> CollectorRegistry:
    """A registry of its own with one collector, and with none that watches the interpreter."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(RouterCollector(scrape))
    return registry


class RouterCollector(Collector):
    """Gives every metric of the catalog, those without a sample too; asks nobody."""

    def __init__(self, scrape: Scrape) -> None:
        self._scrape = scrape

    def collect(self) -> Iterator[Family]:
        """The families in the order of the catalog, in pieces of some fifty samples."""
        for metric in CATALOG:
            if metric.kind is Kind.HISTOGRAM:
                rows = spread_rows(metric, self._scrape.meters, self._scrape.only)
                yield from _histograms(metric, rows)
            else:
                yield from _plain(metric, self._rows(metric))

    def _rows(self, metric: Metric) -> Iterable[Row]:
        scrape = self._scrape
        if metric in _STATE:
            return scrape.state.of(metric)
        if metric in _REQUESTS:
            return counter_rows(metric, scrape.meters, scrape.only)
        if metric in _BUFFER:
            return buffer_rows(metric, scrape.buffer)
        return _process_rows(metric, scrape.process)


def _process_rows(metric: Metric, process: ProcessNumbers) -> Iterable[Row]:
    if metric == process_metrics.SPANS_DROPPED:
        return [((reason,), number) for reason, number in process.spans_dropped.items()]
    number = {
        buffer_metrics.BUFFER_CAPACITY: process.buffer_capacity,
        process_metrics.DECISION_LOG_FAILURES: process.log_failures,
        process_metrics.SPANS_EXPORTED: process.spans_exported,
        process_metrics.PROCESS_START: process.started_unix,
    }[metric]
    return [] if number is None else [((), number)]


def _plain(metric: Metric, rows: Iterable[Row]) -> Iterator[Family]:
    """At least one piece, so that also a metric without a row is announced."""
    make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    left = iter(rows)
    piece = list(islice(left, _ROWS))
    while True:
        family = make(metric.name, metric.text, labels=metric.labels)
        for labels, number in piece:
            family.add_metric(labels, number)
        yield family
        piece = list(islice(left, _ROWS))
        if not piece:
            return


def _histograms(metric: Metric, rows: Iterable[SpreadRow]) -> Iterator[Family]:
    left = iter(rows)
    while piece := list(islice(left, _SPREADS)):
        family = HistogramMetricFamily(metric.name, metric.text, labels=metric.labels)
        for labels, spread in piece:
            family.add_metric(labels, spread.cumulative(), spread.total_s)
        yield family
