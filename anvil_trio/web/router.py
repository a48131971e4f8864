"""One table of every route: path, method, scope, dialect and pool. Docs and tests read it too."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from anvil_trio.web.auth import Principal, Scope

__all__ = [
    "ACTIVATION",
    "ADMIN_PATHS",
    "HIDEABLE",
    "MEDIA_PATHS",
    "MODEL_PATH",
    "OPENAPI",
    "REQUEST_PATH",
    "ROUTES",
    "TRANSITION",
    "WORKLOADS",
    "Pool",
    "Route",
    "dialect_of",
    "entry_of",
    "find",
    "methods_of",
    "named_in",
    "path_meant",
]

ACTIVATION = "/v1/admin/activate"
TRANSITION = "/v1/admin/transition"
ADMIN_PATHS = frozenset({ACTIVATION, TRANSITION})
"""The paths that are there only where there is an operator's token."""

WORKLOADS = "/v1/workloads"
"""A path that is there only where this host has a name."""

OPENAPI = "/openapi.json"

MCP = "/mcp"
A2A = "/a2a"
AGENT_CARD = "/.well-known/agent-card.json"


class Pool(StrEnum):
    """Which bound a route's requests count against."""

    CHAT = "chat"  # the front door's permits
    SERVICES = "services"  # likewise, but for the clients' budgets; speech has few places besides
    MANAGEMENT = "management"  # the operator's orders: few at once, and never a chat place
    MEDIA = "media"  # MCP, A2A and artifacts: places of their own, and few who stay
    REALTIME = "realtime"  # as chat, for as long as a session lasts
    FEED = "feed"  # few and long: a subscriber's WebSocket, which takes no chat place
    NONE = "none"  # read-only: takes no place and waits for nothing but its actor's answer


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path. `scope` None means open to everyone.

    `dialect` None means that the page serves callers of every dialect; what a caller's headers say
    then decides how it is put. `is_operators` False means that only a client which was given the
    scope may use it, and not the operator's token.
    """

    method: str
    path: str
    name: str
    scope: Scope | None
    dialect: str | None
    pool: Pool
    summary: str
    is_operators: bool = True

    def is_open_to(self, who: Principal) -> bool:
        """Whether this caller may use it."""
        scopes = who.scopes
        is_given = self.scope is None or self.scope in scopes
        return is_given or (self.is_operators and Scope.OPERATOR in scopes)


MODEL_PATH = "/v1/models/{model}"
REQUEST_PATH = "/v1/requests/{id}"

ARTIFACT_PATH = "/artifacts/{id}"

_VARIABLE = {
    "/v1/models/": MODEL_PATH,
    "/v1/requests/": REQUEST_PATH,
    "/artifacts/": ARTIFACT_PATH,
}
"""The paths with a variable end, by what stands before it."""

_VERSION = "/v1"


def _page(path: str, name: str, scope: Scope, summary: str) -> Route:
    """A read-only page, in the words of the caller's dialect where it is refused."""
    return Route("GET", path, name, scope, None, Pool.NONE, summary)


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
        "/v1/realtime",
        "realtime",
        Scope.INFERENCE_USE,
        "chat",
        Pool.REALTIME,
        "OpenAI Realtime over a WebSocket: one session of a tier that has them.",
    ),
    _page(
        "/v1/models",
        "models",
        Scope.INFERENCE_USE,
        "Configured aliases, with replica state; in Anthropic's shape for its clients.",
    ),
    _page(
        "/v1/models/capacity",
        "capacity",
        Scope.INFERENCE_USE,
        "Declared capacity, admission counters and engine signals of each tier.",
    ),
    _page(
        "/v1/models/capabilities",
        "capabilities",
        Scope.INFERENCE_USE,
        "What each tier takes: tools, modalities, thinking, limits.",
    ),
    _page(
        "/v1/models/fingerprints",
        "fingerprints",
        Scope.OPERATOR,
        "Declared and observed identity of each tier.",
    ),
    _page(MODEL_PATH, "model", Scope.INFERENCE_USE, "One configured alias, in either shape."),
    _page(
        "/v1/router/status",
        "status",
        Scope.OPERATOR,
        "Version, uptime, aliases and tier states.",
    ),
    _page("/v1/stats", "stats", Scope.OPERATOR, "Sums and percentiles over the newest records."),
    _page(
        REQUEST_PATH,
        "request",
        Scope.WORKLOADS_READ,
        "The record of one request, by the router's id or the caller's.",
    ),
    _page(
        "/v1/requests",
        "requests",
        Scope.WORKLOADS_READ,
        "A session's requests that have ended, or the requests that run now.",
    ),
    _page("/v1/decisions", "decisions", Scope.OPERATOR, "The newest records."),
    _page("/v1/health/tiers", "health_tiers", Scope.OPERATOR, "What the probes last found."),
    Route(
        "GET",
        WORKLOADS,
        "workloads",
        Scope.WORKLOADS_READ,
        None,
        Pool.NONE,
        "This node's requests, for whoever collects those of many nodes.",
        is_operators=False,
    ),
    _page(OPENAPI, "openapi", Scope.INFERENCE_USE, "This surface, as OpenAPI 3.1."),
    Route(
        "GET",
        "/metrics",
        "metrics",
        Scope.OPERATOR,
        None,
        Pool.NONE,
        "Counters and gauges as Prometheus reads them.",
    ),
    Route(
        "GET",
        "/v1/router/events",
        "events",
        Scope.WORKLOADS_READ,
        None,
        Pool.FEED,
        "The live feed of records and changes, over a WebSocket.",
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
    *(
        Route(method, path, name, Scope.OPERATOR, "chat", Pool.MEDIA, summary)
        for method, path, name, summary in (
            ("POST", MCP, "mcp", "Media workflows as tools of the Model Context Protocol."),
            ("POST", A2A, "a2a", "Media workflows as tasks of Agent2Agent 1.0."),
            ("GET", AGENT_CARD, "agent_card", "What an A2A client is to know of this agent."),
            ("GET", ARTIFACT_PATH, "artifact", "What a media job has made, whole or in ranges."),
        )
    ),
)

MEDIA_PATHS = frozenset(route.path for route in _TABLE if route.pool is Pool.MEDIA)
"""The paths that are there only where there is a media service."""

HIDEABLE = frozenset({*ADMIN_PATHS, WORKLOADS, *MEDIA_PATHS})
"""All paths of which a configuration may know nothing."""

ROUTES: Mapping[tuple[str, str], Route] = MappingProxyType({
    (route.method, route.path): route for route in _TABLE
})

_METHODS: Mapping[str, frozenset[str]] = MappingProxyType({
    path: frozenset(route.method for route in _TABLE if route.path == path)
    for path in {route.path for route in _TABLE}
})


def _normal(path: str) -> str:
    """A path as the table spells it: without trailing slashes, case kept."""
    return path.rstrip("/") or "/"


def find(method: str, path: str) -> Route | None:
    """The route of one method on one path; HEAD is answered wherever GET is."""
    route = ROUTES.get((method, path))
    if route is not None:
        return route
    return ROUTES.get(("GET" if method == "HEAD" else method, entry_of(path)))


def methods_of(path: str) -> tuple[str, ...]:
    """All methods of a path in lexical order; empty if there is nothing there.

    OPTIONS, which is answered for every path, goes without saying.
    """
    methods = _METHODS.get(entry_of(path), frozenset())
    return tuple(sorted(methods | {"HEAD"} if "GET" in methods else methods))


def named_in(path: str) -> str:
    """The model or request that a path with a variable end names; empty for other paths."""
    path = _normal(path)
    before = next((one for one in _VARIABLE if path.startswith(one)), path)
    return path.removeprefix(before)


def dialect_of(path: str, *, is_anthropic: bool = False) -> str:
    """The dialect of whatever is, or is meant, at a path, in which also its errors are told.

    Where that leaves it open a caller of Anthropic's kind is answered in Messages, others in Chat.
    """
    entry = path_meant(path) or entry_of(path)
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
    meant = entry_of("/".join([_VERSION, *parts]))
    return meant if parts and meant in _METHODS else None


def entry_of(path: str) -> str:
    """A path as the table spells it, its variable end included; any other as it is."""
    path = _normal(path)
    if path in _METHODS:
        return path
    return next((whole for before, whole in _VARIABLE.items() if path.startswith(before)), path)
