"""JSON values to bytes, the one way this application does it."""

import msgspec
from pydantic import JsonValue

__all__ = ["dumps"]

_encode = msgspec.json.Encoder().encode


def dumps(value: JsonValue) -> bytes:
    """`value` as compact UTF-8 JSON; members keep their order."""
    return _encode(value)
