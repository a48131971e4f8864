"""One table of every route: path, method, scope, dialect and pool. Docs and tests read it too."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from anvil_trio.web.auth import Scope

__all__ = [
    "ROUTES",
    "TRANSITION",
    "Pool",
    "Route",
    "dialect_of",
    "find",
    "methods_of",
    "normalise_path",
]

TRANSITION = "/v1/admin/transition"
"""The one path that is there only where there is an operator's token."""


class Pool(StrEnum):
    """Which bound a route's requests count against."""

    CHAT = "chat"  # the front door's permits
    MANAGEMENT = "management"  # the operator's orders: few at once, and never a chat place
    NONE = "none"  # read-only: takes no place and waits for nothing but its actor's answer


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path. `scope` None means open to everyone."""

    method: str
    path: str
    name: str
    scope: Scope | None
    dialect: str
    pool: Pool
    summary: str


_TABLE = (
    Route("GET", "/healthz", "health", None, "chat", Pool.NONE, "Liveness, open to everyone."),
    Route(
        "POST",
        "/v1/chat/completions",
        "chat",
        Scope.INFERENCE_USE,
        "chat",
        Pool.CHAT,
        "OpenAI Chat Completions, unary and streamed.",
    ),
    Route(
        "POST",
        "/v1/messages",
        "messages",
        Scope.INFERENCE_USE,
        "messages",
        Pool.CHAT,
        "Anthropic Messages, unary and streamed.",
    ),
    Route(
        "POST",
        "/v1/messages/count_tokens",
        "count_tokens",
        Scope.INFERENCE_USE,
        "messages",
        Pool.NONE,
        "How many tokens a Messages request has: an engine's count, else an estimate.",
    ),
    Route(
        "POST",
        "/v1/responses",
        "responses",
        Scope.INFERENCE_USE,
        "responses",
        Pool.CHAT,
        "OpenAI Responses without a memory, unary and streamed.",
    ),
    Route(
        "POST",
        "/v1/responses/input_tokens",
        "input_tokens",
        Scope.INFERENCE_USE,
        "responses",
        Pool.NONE,
        "How many tokens a Responses request has: an estimate.",
    ),
    Route(
        "GET",
        "/v1/models",
        "models",
        Scope.INFERENCE_USE,
        "chat",
        Pool.NONE,
        "Configured aliases, with replica state.",
    ),
    Route(
        "GET",
        "/v1/models/capacity",
        "capacity",
        Scope.INFERENCE_USE,
        "chat",
        Pool.NONE,
        "Admission counters of each tier.",
    ),
    Route(
        "GET",
        "/v1/router/status",
        "status",
        Scope.OPERATOR,
        "chat",
        Pool.NONE,
        "Version, uptime, aliases and tier states.",
    ),
    Route(
        "GET",
        TRANSITION,
        "transition",
        Scope.OPERATOR,
        "chat",
        Pool.MANAGEMENT,
        "Intent, counters and readiness of tiers or of one member.",
    ),
    Route(
        "POST",
        TRANSITION,
        "transition",
        Scope.OPERATOR,
        "chat",
        Pool.MANAGEMENT,
        "Quiesce, drain or readmit a tier or one member.",
    ),
)

ROUTES: Mapping[tuple[str, str], Route] = MappingProxyType({
    (route.method, route.path): route for route in _TABLE
})


def normalise_path(path: str) -> str:
    """A path as the table spells it: without trailing slashes, case kept."""
    return path.rstrip("/") or "/"


def find(method: str, path: str) -> Route | None:
    """The route of one method on one path."""
    return ROUTES.get((method, normalise_path(path)))


def methods_of(path: str) -> tuple[str, ...]:
    """All methods of a path in lexical order; empty if there is nothing there."""
    wanted = normalise_path(path)
    return tuple(sorted(route.method for route in _TABLE if route.path == wanted))


def dialect_of(path: str) -> str:
    """The dialect of whatever is at a path, in which also its errors are told; else Chat."""
    wanted = normalise_path(path)
    return next((route.dialect for route in _TABLE if route.path == wanted), "chat")
