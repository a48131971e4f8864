"""How a private overlay changes a topology: tables merge, rows merge by id, all else is replaced.

The result is checked like any topology; an overlay by itself need not be one. It cannot take a row
away.
"""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

__all__ = ["merge_overlay"]

_Row = Mapping[str, object]


def merge_overlay(base: Mapping[str, object], overlay: Mapping[str, object]) -> dict[str, object]:
    """`base` with `overlay` over it; neither is changed. Both are within the bounds of depth."""
    merged = dict(base)
    for key, value in overlay.items():
        merged[key] = _merge(base[key], value) if key in base else value
    return merged


def _merge(old: object, new: object) -> object:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return merge_overlay(old, new)
    if _are_rows(old) and _are_rows(new):
        return _merge_rows(old, new)
    return new


def _are_rows(value: object) -> TypeGuard[Sequence[_Row]]:
    return isinstance(value, list) and all(
        isinstance(row, Mapping) and isinstance(row.get("id"), str) for row in value
    )


def _merge_rows(old: Sequence[_Row], new: Sequence[_Row]) -> list[_Row]:
    """The old rows in their order, then what is new; an id twice on one side stays twice."""
    rows = list(old)
    places = {row["id"]: at for at, row in reversed(list(enumerate(old)))}
    for row in new:
        at = places.pop(row["id"], None)
        if at is None:
            rows.append(row)
        else:
            rows[at] = merge_overlay(rows[at], row)
    return rows
