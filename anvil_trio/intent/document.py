"""The file of intents, format version 1: bytes to a value and back. Pure.

    {"version": 1, "tiers": {TIER: {"state": "quiesced", "reason": REASON}},
     "members": {TIER: {MEMBER: REASON}}}

It is taken as a whole or not at all: whoever guesses at half a file may open what was closed.
"""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from anvil_trio.config.json_object import read_json_object
from anvil_trio.intent.intents import Intents, is_reason
from anvil_trio.names import MemberId, TierId

__all__ = ["MAX_STATE_BYTES", "CorruptState", "parse_state", "render_state"]

MAX_STATE_BYTES = 1_048_576
"""A file is never larger; readers take one byte more, to see that there is one."""

_VERSION = 1
_KEYS = {"version", "tiers", "members"}
_QUIESCED = "quiesced"

Row = tuple[tuple[TierId, MemberId | None], str]


class CorruptState(ValueError):  # noqa: N818 - named by what it is
    """The bytes are no file of intents. It says nothing of what they hold (R012)."""


def parse_state(data: bytes) -> Intents:
    """The intents that `data` holds; `members` may be absent.

    Raises CorruptState for everything else: too large, no JSON, a name twice, another version, a
    key or a value that version 1 does not have.
    """
    document = read_json_object(data) if len(data) <= MAX_STATE_BYTES else None
    if document is None or not {"version", "tiers"} <= document.keys() <= _KEYS:
        raise CorruptState
    version = document["version"]
    if type(version) is not int or version != _VERSION:
        raise CorruptState
    rows = [*_tiers(document["tiers"]), *_members(document.get("members", {}))]
    return Intents(MappingProxyType(dict(rows)))


def render_state(intents: Intents) -> bytes:
    """The file that `parse_state` reads as `intents`: sorted, so that equal intents are equal."""
    tiers: dict[str, dict[str, str]] = {}
    members: dict[str, dict[str, str]] = {}
    for (tier_id, member_id), reason in intents.reasons.items():
        if member_id is None:
            tiers[tier_id] = {"state": _QUIESCED, "reason": reason}
        else:
            members.setdefault(tier_id, {})[member_id] = reason
    document = {"version": _VERSION, "tiers": tiers, "members": members}
    return json.dumps(document, sort_keys=True, indent=1).encode() + b"\n"


def _tiers(value: object) -> Iterator[Row]:
    for tier_id, intent in _items(value):
        entry = dict(_items(intent))
        if entry.keys() != {"state", "reason"} or entry["state"] != _QUIESCED:
            raise CorruptState
        yield (TierId(tier_id), None), _reason(entry["reason"])


def _members(value: object) -> Iterator[Row]:
    for tier_id, members in _items(value):
        for member_id, reason in _items(members):
            yield (TierId(tier_id), MemberId(member_id)), _reason(reason)


def _items(value: object) -> Iterator[tuple[str, object]]:
    if not isinstance(value, Mapping):
        raise CorruptState
    yield from value.items()


def _reason(value: object) -> str:
    if not isinstance(value, str) or not is_reason(value):
        raise CorruptState
    return value
