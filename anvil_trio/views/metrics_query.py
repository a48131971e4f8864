"""The query of `GET /metrics`: which alias, and how many of the newest records."""

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from anvil_trio.config.model import RouterConfig
from anvil_trio.decisions.ring import RING_SIZE
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.names import TierId
from anvil_trio.views.query import parse_capacity_query, read_query
from anvil_trio.views.request_rows import Only

__all__ = ["MetricsQuery", "parse_metrics_query"]

_NUMBER = re.compile(r"[0-9]{1,5}")
_BAD_LIMIT = problem(
    Code.INVALID_REQUEST,
    message=f"The limit is one whole number from 1 to {RING_SIZE}.",
    param="limit",
)


@dataclass(frozen=True, slots=True)
class MetricsQuery:
    """`model=`: one configured alias, shown with its tier. `limit=`: how many records count."""

    only: Only | None = None
    limit: int = RING_SIZE


def parse_metrics_query(query: bytes, config: RouterConfig) -> MetricsQuery | Problem:
    """What is asked for, or what is wrong with it; no text of the query is repeated."""
    fields = read_query(query)
    if isinstance(fields, Problem):
        return fields
    rest = [(name, value) for name, value in fields if name != "limit"]
    wanted = parse_capacity_query(urlencode(rest).encode(), config)
    if isinstance(wanted, Problem):
        return wanted
    limit = _limit([value for name, value in fields if name == "limit"])
    if limit is None:
        return _BAD_LIMIT
    if wanted.only is None:
        return MetricsQuery(limit=limit)
    return MetricsQuery((wanted.only, TierId(config.routes[wanted.only])), limit)


def _limit(values: list[str]) -> int | None:
    """The one number that was given, the whole buffer if none was, None if it is no such number."""
    if not values:
        return RING_SIZE
    if len(values) > 1 or _NUMBER.fullmatch(values[0]) is None:
        return None
    number = int(values[0])
    return number if 1 <= number <= RING_SIZE else None
