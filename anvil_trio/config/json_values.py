"""Whether a table of the file can be sent to an engine as JSON."""

import math
from collections.abc import Mapping

__all__ = ["MAX_JSON_DEPTH", "is_json"]

MAX_JSON_DEPTH = 64
_INT64 = range(-(2**63), 2**63)


def is_json(table: object) -> bool:
    """Whether `table` holds nothing but JSON: no dates, no NaN, no integer beyond 64 bits.

    Tables and arrays may be `MAX_JSON_DEPTH` deep, `table` included. Nothing recurses here, so
    that depth is a refusal and never a crash.
    """
    waiting = [(table, 1)]
    while waiting:
        value, depth = waiting.pop()
        inner = _inside(value)
        if inner is None:
            if not _is_scalar(value):
                return False
        elif depth > MAX_JSON_DEPTH:
            return False
        else:
            waiting += [(item, depth + 1) for item in inner]
    return True


def _inside(value: object) -> list[object] | None:
    if isinstance(value, Mapping):
        return [*value.values()]
    return [*value] if isinstance(value, list | tuple) else None


def _is_scalar(value: object) -> bool:
    match value:
        case bool() | str() | None:
            return True
        case int():
            return value in _INT64
        case float():
            return math.isfinite(value)
        case _:
            return False
