"""The query parameters of the read-only pages: a value, or the problem with them."""

from dataclasses import dataclass
from urllib.parse import parse_qsl

from anvil_trio.config.model import RouterConfig
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.names import Alias

__all__ = [
    "ModelQuery",
    "check_no_query",
    "parse_capacity_query",
    "parse_models_query",
    "read_query",
]

_PAGING = frozenset({"after", "after_id", "before", "before_id", "limit", "order"})
"""What the vendors' SDKs send to page through a model list; ours fits on one page."""

_MALFORMED = problem(Code.INVALID_REQUEST, message="The query could not be read.")
_UNKNOWN = problem(
    Code.INVALID_REQUEST, message="The query has a parameter that this path does not take."
)
_REPEATED = problem(Code.INVALID_REQUEST, message="The query may name a model once.", param="model")
_NOT_FOUND = problem(Code.MODEL_NOT_FOUND, param="model")


@dataclass(frozen=True, slots=True)
class ModelQuery:
    """`model=`: the one configured alias to show, or None for all of them."""

    only: Alias | None = None


def parse_models_query(query: bytes, config: RouterConfig) -> ModelQuery | Problem:
    """Which entries of `/v1/models` are asked for; paging is ignored."""
    return _model(query, config, ignored=_PAGING)


def parse_capacity_query(query: bytes, config: RouterConfig) -> ModelQuery | Problem:
    """Which row of `/v1/models/capacity` is asked for."""
    return _model(query, config, ignored=frozenset())


def check_no_query(query: bytes) -> Problem | None:
    """A problem for any parameter at all."""
    fields = read_query(query)
    if isinstance(fields, Problem):
        return fields
    return _UNKNOWN if fields else None


def _model(query: bytes, config: RouterConfig, *, ignored: frozenset[str]) -> ModelQuery | Problem:
    fields = read_query(query)
    if isinstance(fields, Problem):
        return fields
    if any(name != "model" and name not in ignored for name, _ in fields):
        return _UNKNOWN
    models = [value for name, value in fields if name == "model"]
    if len(models) > 1:
        return _REPEATED
    if not models:
        return ModelQuery()
    found = config.resolve(models[0])
    return _NOT_FOUND if found is None else ModelQuery(found[0])


def read_query(query: bytes) -> list[tuple[str, str]] | Problem:
    """All parameters in order, decoded; a problem if one is not `name=value` in UTF-8."""
    if not query:
        return []
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict"
        )
    except ValueError:
        return _MALFORMED
