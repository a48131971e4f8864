"""What this server serves: one ASGI application."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from anvil_trio.server.hypercorn_names import ASGIReceiveEvent, ASGISendEvent

__all__ = ["App", "Receive", "Scope", "Send", "TypedApp"]

Scope: TypeAlias = dict[str, object]

App: TypeAlias = Callable[
    [
        Scope,
        Callable[[], Awaitable[dict[str, object]]],
        Callable[[Mapping[str, object]], Awaitable[None]],
    ],
    Awaitable[None],
]
"""An ASGI 3 application: `await app(scope, receive, send)`."""

Receive: TypeAlias = Callable[[], Awaitable[ASGIReceiveEvent]]
Send: TypeAlias = Callable[[ASGISendEvent], Awaitable[None]]
TypedApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
"""The same with the messages as hypercorn types them."""
