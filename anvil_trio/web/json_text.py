"""JSON values to bytes, the one way this application does it."""

import msgspec
from pydantic import JsonValue

from anvil_trio.views.shape import Shape

__all__ = ["dumps"]

_encode = msgspec.json.Encoder().encode


def dumps(value: JsonValue | Shape) -> bytes:
    """`value` as compact UTF-8 JSON; members keep their order."""
    return _encode(value)
