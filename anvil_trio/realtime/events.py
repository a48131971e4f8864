"""The few events of the protocol that are looked at: those that name the model, and our own error.

A message keeps every character but the model's name. One that is no JSON, or names no model where
the protocol does, is handed on as it came.
"""

import json
from dataclasses import dataclass

import msgspec

from anvil_trio.dialects.json_span import with_text
from anvil_trio.errors import Problem

__all__ = ["Names", "error_event"]

_NAMED = '"model"'
_ESCAPE = "\\u"  # a name may be spelled with these
_CARRIERS = ("session", "response")
"""The members of an event that describe a session or a response, and name its model."""

_VALID = msgspec.json.Decoder(msgspec.Raw)


@dataclass(frozen=True, slots=True)
class Names:
    """What a session's model is called: `alias` by its client, `model` by its engine."""

    alias: str
    model: str

    def to_engine(self, message: str) -> str:
        """A client's message; whichever model it names, it means the one of its session."""
        return _renamed(message, self.model)

    def to_client(self, message: str) -> str:
        """An engine's message, in which the model is what the client calls it."""
        return _renamed(message, self.alias)


def error_event(what: Problem, request_id: str) -> str:
    """The event that says why a session ends, in fixed words."""
    event = {
        "type": "error",
        "event_id": f"event_{request_id}",
        "error": {
            "type": what.type,
            "code": what.code.value,
            "message": what.message,
            "param": what.param,
            "event_id": None,
        },
    }
    return msgspec.json.encode(event).decode()


def _renamed(message: str, name: str) -> str:
    if _NAMED not in message and _ESCAPE not in message:
        return message
    data = message.encode()
    if not _is_json(data):
        return message
    for carrier in _CARRIERS:
        data = with_text(data, carrier, "model", text=name)
    return data.decode()


def _is_json(data: bytes) -> bool:
    """Whether this is JSON to anybody; half a surrogate pair in an escape is to some."""
    try:
        _VALID.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return _is_loose_json(data)
    return True


def _is_loose_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
