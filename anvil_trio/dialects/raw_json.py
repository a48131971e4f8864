"""JSON members kept as the bytes they came in, so that only what must change is written anew.

Nothing here copies or decodes a value that it hands on: `Raw` is a window on the text it was found
in, and keeps that text alive.
"""

from collections.abc import Mapping

import msgspec

__all__ = [
    "ABSENT",
    "NULL",
    "encode",
    "is_empty_list",
    "is_given",
    "is_list",
    "is_object",
    "is_string",
    "is_utf8",
    "items_of",
    "members_of",
    "raw_of",
    "with_members",
]

ABSENT = msgspec.Raw(b"")
"""The default of a Raw field: the member is not there. Compare by identity."""

NULL = msgspec.Raw(b"null")
"""What every JSON null is equal to."""

encode = msgspec.json.Encoder().encode

members_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
"""The members of a JSON object in their order; of a name given twice the last value counts.

Raises msgspec.DecodeError, or RecursionError for text nested beyond reason.
"""

items_of = msgspec.json.Decoder(list[msgspec.Raw]).decode
"""The items of a JSON array. Raises as `members_of`."""


def is_given(raw: msgspec.Raw) -> bool:
    """Whether a member is there and is not null."""
    return raw is not ABSENT and raw != NULL


def is_string(raw: msgspec.Raw) -> bool:
    """Whether a member is a JSON string."""
    return _first_byte(raw) == b'"'


def is_list(raw: msgspec.Raw) -> bool:
    """Whether a member is a JSON array."""
    return _first_byte(raw) == b"["


def is_object(raw: msgspec.Raw) -> bool:
    """Whether a member is a JSON object."""
    return _first_byte(raw) == b"{"


def is_empty_list(raw: msgspec.Raw) -> bool:
    """Whether a member is an array without items; does not read the items of one that has some."""
    return is_list(raw) and not bytes(raw).strip(b"[] \t\r\n")


def _first_byte(raw: msgspec.Raw) -> bytes:
    return bytes(memoryview(raw)[:1])  # at run time a Raw is a buffer, not bytes


def raw_of(value: object) -> msgspec.Raw:
    """A value as a raw member."""
    return msgspec.Raw(encode(value))


def is_utf8(data: bytes) -> bool:
    """Whether `data` is text at all; cheap for ASCII. The decoder checks only what it decodes."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def with_members(data: bytes, changes: Mapping[str, msgspec.Raw | None]) -> msgspec.Raw:
    """The object `data` with some members set, or left out where the change is None.

    A member that is there keeps its place, a new one is last, all others keep their bytes.
    """
    members = members_of(data)
    for name, value in changes.items():
        if value is None:
            members.pop(name, None)
        else:
            members[name] = value
    return raw_of(members)
