"""JSON from outside, read strictly: UTF-8, one object, no name twice, no NaN."""

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

__all__ = ["read_json_object"]


def read_json_object(data: bytes) -> Mapping[str, JsonValue] | None:
    """The members of the one object that `data` holds; None if it is anything else.

    A name that is given twice, anywhere, makes it nothing: whoever wrote it meant one of the two.
    """
    try:
        found = json.loads(
            data.decode("utf-8"), object_pairs_hook=_members, parse_constant=_no_number
        )
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _members(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError
    return members


def _no_number(_: str) -> object:
    raise ValueError
