"""The few ASGI shapes this application uses, and safe ways to read a scope."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TypeAlias

__all__ = [
    "Headers",
    "Message",
    "Receive",
    "Scope",
    "Send",
    "first_of",
    "headers_of",
    "text_of",
]

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


def first_of(headers: Headers) -> Mapping[bytes, bytes]:
    """The first value of each name."""
    return dict(reversed(headers))
