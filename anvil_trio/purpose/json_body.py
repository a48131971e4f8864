"""JSON bodies of services: their members as they came, and the few fields that are looked at."""

from collections.abc import Collection, Mapping

import msgspec

from anvil_trio.dialects.json_span import spans_of
from anvil_trio.dialects.raw_json import ABSENT, is_empty_list, is_list, is_string, is_utf8
from anvil_trio.dialects.raw_json import members_of as decode_members
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.purpose.asks import invalid

__all__ = [
    "BROKEN",
    "check_known",
    "is_full_list",
    "is_full_text",
    "members_of",
    "read_model",
    "read_text",
]

BROKEN = (msgspec.DecodeError, RecursionError)
"""What a body that is not as expected makes its decoder raise."""

_TEXT = msgspec.json.Decoder(str)
_NO_OBJECT = problem(Code.INVALID_REQUEST, message="The body must be one JSON object in UTF-8.")
_UNKNOWN = problem(Code.INVALID_REQUEST, message="The body has a field that is not known here.")


def members_of(body: bytes) -> Mapping[str, msgspec.Raw] | Problem:
    """The members of the one object in `body`, each as it came."""
    try:
        return decode_members(body) if is_utf8(body) else _NO_OBJECT
    except BROKEN:
        return _NO_OBJECT


def check_known(members: Mapping[str, msgspec.Raw], known: Collection[str]) -> Problem | None:
    """A problem if there is a member of another name; which one is not said."""
    return None if members.keys() <= set(known) else _UNKNOWN


def read_model(body: bytes, members: Mapping[str, msgspec.Raw]) -> str | Problem:
    """The model that is named: once, so that nobody can read another one."""
    name = read_text(members, "model")
    if isinstance(name, str) and len(spans_of(body, "model")) > 1:
        return invalid("model", "`model` may be given once.")
    return name


def read_text(members: Mapping[str, msgspec.Raw], name: str) -> str | Problem:
    """A member that must be a text and not empty."""
    raw = members.get(name, ABSENT)
    text = _TEXT.decode(raw) if is_string(raw) else ""
    return text or invalid(name, f"`{name}` must be a text and not empty.")


def is_full_text(raw: msgspec.Raw) -> bool:
    """Whether a member is a string with something in it."""
    return is_string(raw) and bytes(raw) != b'""'


def is_full_list(raw: msgspec.Raw) -> bool:
    """Whether a member is a list with something in it."""
    return is_list(raw) and not is_empty_list(raw)
