"""JSON from outside, read strictly: UTF-8, no name twice, no NaN, no half character."""

import json
from collections.abc import Mapping, Sequence

import msgspec
from pydantic import JsonValue

__all__ = ["read_json", "read_json_object"]


def read_json(data: bytes) -> JsonValue:
    """The one value that `data` holds; what is found can be written again.

    Raises ValueError if it holds anything else. A name that is given twice, anywhere, makes it
    nothing: whoever wrote it meant one of the two.
    """
    try:
        msgspec.json.decode(data)  # knows half surrogates, NaN and overflows, but no twins
        found: JsonValue = json.loads(data.decode("utf-8"), object_pairs_hook=_members)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise ValueError from None  # whose words would hold what was read
    return found


def read_json_object(data: bytes) -> Mapping[str, JsonValue] | None:
    """The members of the one object that `data` holds; None if it is anything else."""
    try:
        found = read_json(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _members(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError
    return members
