"""One table of every route: path, method, scope, dialect and pool. Docs and tests read it too."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from anvil_trio.web.auth import Scope

__all__ = [
    "ACTIVATION",
    "ADMIN_PATHS",
    "MODEL_PATH",
    "ROUTES",
    "TRANSITION",
    "Pool",
    "Route",
    "dialect_of",
    "find",
    "methods_of",
    "model_in",
    "normalise_path",
    "path_meant",
]

ACTIVATION = "/v1/admin/activate"
TRANSITION = "/v1/admin/transition"
ADMIN_PATHS = frozenset({ACTIVATION, TRANSITION})
"""The paths that are there only where there is an operator's token."""


class Pool(StrEnum):
    """Which bound a route's requests count against."""

    CHAT = "chat"  # the front door's permits
    SERVICES = "services"  # likewise, but for the clients' budgets; speech has few places besides
    MANAGEMENT = "management"  # the operator's orders: few at once, and never a chat place
    NONE = "none"  # read-only: takes no place and waits for nothing but its actor's answer


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path. `scope` None means open to everyone.

    `dialect` None means that the page serves callers of every dialect; what a caller's headers say
    then decides how it is put.
    """

    method: str
    path: str
    name: str
    scope: Scope | None
    dialect: str | None
    pool: Pool
    summary: str


MODEL_PATH = "/v1/models/{model}"
"""The one path with a variable end."""

_MODELS = "/v1/models/"
_VERSION = "/v1"

_TABLE = (
    Route("GET", "/", "root", None, None, Pool.NONE, "That something is here, open to everyone."),
    Route("GET", "/healthz", "health", None, None, Pool.NONE, "Liveness, open to everyone."),
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
    *(
        Route("POST", path, name, Scope.OPERATOR, "chat", Pool.SERVICES, summary)
        for path, name, summary in (
            ("/v1/embeddings", "embeddings", "Embeddings, by a purpose model."),
            ("/v1/rerank", "rerank", "Documents in order, by a purpose model."),
            ("/v1/audio/transcriptions", "transcriptions", "Speech to text, by an audio route."),
            ("/v1/audio/translations", "translations", "Speech to English, by an audio route."),
            ("/v1/audio/speech", "speech", "Text to speech, by an audio route."),
        )
    ),
    Route(
        "GET",
        "/v1/models",
        "models",
        Scope.INFERENCE_USE,
        None,
        Pool.NONE,
        "Configured aliases, with replica state; in Anthropic's shape for its clients.",
    ),
    Route(
        "GET",
        "/v1/models/capacity",
        "capacity",
        Scope.INFERENCE_USE,
        None,
        Pool.NONE,
        "Admission counters of each tier.",
    ),
    Route(
        "GET",
        MODEL_PATH,
        "model",
        Scope.INFERENCE_USE,
        None,
        Pool.NONE,
        "One configured alias, in either shape.",
    ),
    Route(
        "GET",
        "/v1/router/status",
        "status",
        Scope.OPERATOR,
        None,
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
    Route(
        "POST",
        ACTIVATION,
        "activation",
        Scope.OPERATOR,
        "chat",
        Pool.MANAGEMENT,
        "Put the router's own configuration file to work, if it has that digest.",
    ),
)

ROUTES: Mapping[tuple[str, str], Route] = MappingProxyType({
    (route.method, route.path): route for route in _TABLE
})

_METHODS: Mapping[str, frozenset[str]] = MappingProxyType({
    path: frozenset(route.method for route in _TABLE if route.path == path)
    for path in {route.path for route in _TABLE}
})


def normalise_path(path: str) -> str:
    """A path as the table spells it: without trailing slashes, case kept."""
    return path.rstrip("/") or "/"


def find(method: str, path: str) -> Route | None:
    """The route of one method on one path; HEAD is answered wherever GET is."""
    return ROUTES.get(("GET" if method == "HEAD" else method, _entry_of(path)))


def methods_of(path: str) -> tuple[str, ...]:
    """All methods of a path in lexical order; empty if there is nothing there.

    OPTIONS, which is answered for every path, goes without saying.
    """
    methods = _METHODS.get(_entry_of(path), frozenset())
    return tuple(sorted(methods | {"HEAD"} if "GET" in methods else methods))


def model_in(path: str) -> str:
    """The model that a path under `/v1/models/` names."""
    return normalise_path(path).removeprefix(_MODELS)


def dialect_of(path: str, *, is_anthropic: bool = False) -> str:
    """The dialect of whatever is, or is meant, at a path, in which also its errors are told.

    Where that leaves it open a caller of Anthropic's kind is answered in Messages, others in Chat.
    """
    entry = path_meant(path) or _entry_of(path)
    found = next((route.dialect for route in _TABLE if route.path == entry), None)
    return found or ("messages" if is_anthropic else "chat")


def path_meant(path: str) -> str | None:
    """What a path that is not there was meant to be, as the table spells it; None if unknown.

    Clients join base URLs and paths: `/v1` comes twice or not at all, and slashes come double.
    """
    if methods_of(path):
        return None
    parts = [part for part in path.split("/") if part]
    while parts and parts[0] == "v1":
        parts.pop(0)
    meant = _entry_of("/".join([_VERSION, *parts]))
    return meant if parts and meant in _METHODS else None


def _entry_of(path: str) -> str:
    """A path as the table spells it, its variable end included."""
    path = normalise_path(path)
    is_model = path not in _METHODS and path.startswith(_MODELS)
    return MODEL_PATH if is_model else path
