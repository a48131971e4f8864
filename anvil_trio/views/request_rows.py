"""The counters and durations of `GET /metrics`, as rows; read from the board as they stand."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from anvil_trio.meters import request_metrics as metrics
from anvil_trio.meters.board import MemberMeters, Meters, RouteMeters
from anvil_trio.meters.metric import Metric
from anvil_trio.meters.numbers import Spread, Tally
from anvil_trio.names import Alias, TierId
from anvil_trio.views.state_rows import Row

__all__ = ["Only", "SpreadRow", "counter_rows", "spread_rows"]

Only = tuple[Alias, TierId]
"""One alias and its tier: the rows of others are left out."""

SpreadRow = tuple[tuple[str, ...], Spread]
"""The values of a metric's labels, in their order, and the durations."""

_OF_ROUTE: Mapping[Metric, Callable[[RouteMeters], Mapping[str, Tally]]] = MappingProxyType({
    metrics.REQUESTS: lambda meters: meters.requests,
    metrics.REFUSALS: lambda meters: meters.refusals,
    metrics.CLIENT_DISCONNECTS: lambda meters: meters.left,
})
_OF_MEMBER: Mapping[Metric, Callable[[MemberMeters], Spread]] = MappingProxyType({
    metrics.FIRST_CONTENT: lambda meters: meters.first_content,
    metrics.STREAM_GAP: lambda meters: meters.gap,
    metrics.UPSTREAM_DURATION: lambda meters: meters.upstream,
})


def counter_rows(metric: Metric, meters: Meters, only: Only | None) -> Iterator[Row]:
    """The rows of one counter of `request_metrics`."""
    if metric in _OF_ROUTE:
        return _route_rows(_OF_ROUTE[metric], meters, only)
    if metric == metrics.ATTEMPTS:
        return (
            ((*pair, word), tally.value)
            for pair, member in _members(meters, only)
            for word, tally in member.attempts.items()
        )
    assert metric == metrics.PROBE_FAILURES, "a counter of the catalog"
    return ((pair, member.probe_failures.value) for pair, member in _members(meters, only))


def _route_rows(
    tallies: Callable[[RouteMeters], Mapping[str, Tally]], meters: Meters, only: Only | None
) -> Iterator[Row]:
    for key, route in meters.routes.items():
        if only is None or only == key:
            for word, tally in tallies(route).items():
                yield (*key, word), tally.value


def spread_rows(metric: Metric, meters: Meters, only: Only | None) -> Iterator[SpreadRow]:
    """The rows of one histogram of `request_metrics`."""
    if metric == metrics.ADMISSION_WAIT:
        for tier_id, spread in meters.waits.items():
            if only is None or only[1] == tier_id:
                yield (tier_id,), spread
    else:
        for pair, member in _members(meters, only):
            yield pair, _OF_MEMBER[metric](member)


def _members(meters: Meters, only: Only | None) -> Iterator[tuple[tuple[str, str], MemberMeters]]:
    for key, member in meters.members.items():
        if only is None or only[1] == key[0]:
            yield key, member
