"""The query of `GET /metrics`: which alias, and how many of the newest records."""

from dataclasses import dataclass

from anvil_trio.config.model import RouterConfig
from anvil_trio.decisions.ring import RING_SIZE
from anvil_trio.errors import Problem
from anvil_trio.names import TierId
from anvil_trio.views.query import parse_query
from anvil_trio.views.request_rows import Only

__all__ = ["MetricsQuery", "parse_metrics_query"]


@dataclass(frozen=True, slots=True)
class MetricsQuery:
    """`model=`: one configured alias, shown with its tier. `limit=`: how many records count."""

    only: Only | None = None
    limit: int = RING_SIZE


def parse_metrics_query(query: bytes, config: RouterConfig) -> MetricsQuery | Problem:
    """What is asked for, or what is wrong with it; no text of the query is repeated."""
    wanted = parse_query("metrics", query, config)
    if isinstance(wanted, Problem):
        return wanted
    if wanted.only is None:
        return MetricsQuery(limit=wanted.limit)
    return MetricsQuery((wanted.only, TierId(config.routes[wanted.only])), wanted.limit)
