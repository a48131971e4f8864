"""What the handshake of a realtime session says: a key, a protocol, a model; and what is answered.

Browsers cannot set headers on a WebSocket, so OpenAI's clients offer the key as a subprotocol. It
is a credential and nothing else: it is never the protocol that is agreed on.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from anvil_trio.errors import Code, Problem, problem

__all__ = ["Wanted", "credentials_in", "is_beta", "protocol_for", "read_wanted"]

Header = tuple[bytes, bytes]

PROTOCOL = "realtime"
_KEY = "openai-insecure-api-key."
_BETA_PROTOCOL = "openai-beta.realtime-v1"
_BETA: Header = (b"openai-beta", b"realtime=v1")
_INTENT = re.compile(r"[a-z][a-z_-]{0,31}")
_KNOWN = frozenset({"model", "intent"})
_MOST_FIELDS = 8


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which model a session is asked for, and what for, if that is said."""

    model: str
    intent: str | None = None


def credentials_in(subprotocols: Iterable[str]) -> list[Header]:
    """The keys among the offered subprotocols, as the headers that would say the same."""
    return [
        (b"authorization", b"Bearer " + offered.removeprefix(_KEY).encode())
        for offered in subprotocols
        if offered.startswith(_KEY)
    ]


def protocol_for(subprotocols: Sequence[str]) -> str | None:
    """The subprotocol that is agreed on; None where nothing but a key, or nothing, is offered."""
    return PROTOCOL if PROTOCOL in subprotocols else None


def is_beta(headers: Iterable[Header], subprotocols: Sequence[str]) -> bool:
    """Whether the client speaks the protocol's first version, which engines must be told of."""
    return _BETA_PROTOCOL in subprotocols or any(
        (name, value.strip()) == _BETA for name, value in headers
    )


def read_wanted(query: bytes) -> Wanted | Problem:
    """What the query asks for; a 400 that names the parameter and never its value.

    Anything but `model` and `intent` is refused: whatever went up unread could be a credential.
    """
    try:
        fields = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(query),
            encoding="utf-8",
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:  # also text that is no ASCII, or no UTF-8 once it is unquoted
        return _invalid(None, "The query cannot be read.")
    named = dict(fields)
    if not named.keys() <= _KNOWN:
        return _invalid(None, "The query may have `model` and `intent`.")
    if len(named) != len(fields):
        return _invalid(None, "Each parameter may be given once.")
    model, intent = named.get("model", "").strip(), named.get("intent")
    if not model:
        return _invalid("model", "`model` must name the session's model.")
    if intent is not None and not _INTENT.fullmatch(intent):
        return _invalid("intent", "`intent` must be one word.")
    return Wanted(model, intent)


def _invalid(name: str | None, words: str) -> Problem:
    return problem(Code.INVALID_REQUEST, message=words, param=name)
