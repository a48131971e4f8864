"""The few ASGI shapes this application uses, and safe ways to read a scope."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TypeAlias

__all__ = [
    "Headers",
    "Message",
    "Receive",
    "Scope",
    "Send",
    "declared_length",
    "headers_of",
    "text_of",
]

_LENGTH_DIGITS = 20  # more than any body has

Message: TypeAlias = MutableMapping[str, object]
Scope: TypeAlias = MutableMapping[str, object]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]


def headers_of(scope: Mapping[str, object]) -> Headers:
    """The request's headers: lower-case names, in the order in which they came."""
    headers = scope.get("headers")
    return list(headers) if isinstance(headers, list | tuple) else []


def text_of(scope: Mapping[str, object], key: str) -> str:
    """A text member of the scope; empty if there is none."""
    value = scope.get(key)
    return value if isinstance(value, str) else ""


def declared_length(headers: Headers) -> int:
    """What `Content-Length` says, 0 where it says nothing; the server has checked its form."""
    for name, value in headers:
        if name == b"content-length":
            return int(value[:_LENGTH_DIGITS]) if value.isdigit() else 0
    return 0
