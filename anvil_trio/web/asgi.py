"""The ASGI application: framing, identity, route, handler; nothing else happens here.

Identity comes before routing, so an unknown path is a 401 to a stranger: no path oracle.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from anvil_trio.dialects.ir import ClientDialect
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.web import edge, router, websocket
from anvil_trio.web.activation import Activate, answer_activation, no_activation
from anvil_trio.web.asgi_types import Headers, Receive, Scope, Send, headers_of, text_of
from anvil_trio.web.auth import Authenticator, Principal
from anvil_trio.web.chat import DIALECTS, Asked, answer_chat
from anvil_trio.web.cors import Cors
from anvil_trio.web.counting import COUNTERS, answer_count
from anvil_trio.web.feed import answer_feed, check_subscriber
from anvil_trio.web.health import answer_health
from anvil_trio.web.media import answer_media
from anvil_trio.web.metrics import answer_metrics
from anvil_trio.web.observe import VIEWS
from anvil_trio.web.question import Question
from anvil_trio.web.realtime import answer_realtime, credentials_of
from anvil_trio.web.respond import send_json, send_problem, server_side
from anvil_trio.web.services import answer_service, serves
from anvil_trio.web.transition import answer_transition

__all__ = ["App", "Application", "CurrentGeneration"]

CurrentGeneration: TypeAlias = Callable[[], Generation]
_NOWHERE = "/-"
"""A path at which there is nothing."""

Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class App:
    """One house's endpoint. `current` is asked once per request."""

    house: House
    current: CurrentGeneration
    authenticator: Authenticator
    activate: Activate = no_activation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Dispatch `http`, `websocket` and `lifespan`."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._websocket(scope, receive, send)
            case "lifespan":
                await _lifespan(receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Headers for browsers first, so that also refusals can be read there."""
        method, headers = text_of(scope, "method"), headers_of(scope)
        generation = self.current()
        cors = _cors_of(tuple(generation.config.server.cors_origins))
        permitted = cors.preflight(method, headers)
        if permitted is not None:
            return await edge.send_empty(send, permitted)
        reply = edge.without_body(method, cors.wrapped(headers, send))
        with generation.life.users:
            return await self._answer(generation, scope, headers, receive, reply)

    async def _answer(
        self,
        generation: Generation,
        scope: Scope,
        headers: Headers,
        receive: Receive,
        send: Send,
    ) -> None:
        path = router.normalise_path(text_of(scope, "path"))
        if _is_framing_conflicting(headers):
            what = problem(Code.INVALID_REQUEST, message="Content-Length and Transfer-Encoding.")
            return await _send(send, path, headers, what, [(b"connection", b"close")])
        route = router.find(text_of(scope, "method"), path)
        if route is not None and route.scope is None:
            return await self._answer_anyone(route, send)
        who = self.authenticator.identify(headers)
        if isinstance(who, Problem):
            return await _send(send, path, headers, who)
        if route is None or route.path in router.HIDEABLE:
            path, route = self._unless_hidden(generation, path, route)
        if route is None:
            return await _no_route(send, text_of(scope, "method"), path, headers)
        if not route.is_open_to(who):
            return await _send(send, path, headers, problem(Code.SCOPE_DENIED))
        if route.pool is router.Pool.CHAT:
            asked = Asked(headers, receive, send, server_side(scope))
            work = answer_chat(self.house, generation, who, _dialect_of(route), asked)
        else:
            work = self._handle(generation, route, who, scope, receive, send)
        return await work

    def _unless_hidden(
        self, generation: Generation, path: str, route: router.Route | None
    ) -> tuple[str, router.Route | None]:
        """The same; nothing, nowhere, for a path that is hidden, or was meant to be one."""
        if self._hidden(generation) & {router.entry_of(path), router.path_meant(path)}:
            return _NOWHERE, None
        return path, route

    def _hidden(self, generation: Generation) -> frozenset[str]:
        """Paths that this configuration does not have: to everybody as if they were nowhere."""
        paths = set() if self.authenticator.is_on else set(router.ADMIN_PATHS)  # nobody is operator
        if generation.config.server.workload_host is None:
            paths.add(router.WORKLOADS)
        if self.house.operations is None:
            paths |= router.MEDIA_PATHS
        return frozenset(paths)

    async def _answer_anyone(self, route: router.Route, send: Send) -> None:
        """What needs no key."""
        if route.name == "health":
            await answer_health(send, is_draining=self.house.is_draining)
        else:
            await edge.answer_root(send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The live feed or a session for whoever may have it; every other handshake is refused."""
        generation, path = self.current(), router.normalise_path(text_of(scope, "path"))
        route, server = router.find("GET", path), generation.config.server
        is_session = route is not None and route.pool is router.Pool.REALTIME
        who = self.authenticator.identify(
            credentials_of(scope) if is_session else headers_of(scope)
        )
        if isinstance(who, Problem):
            return await websocket.refuse(who, scope, receive, send)
        if route is None or route.pool not in {router.Pool.FEED, router.Pool.REALTIME}:
            return await websocket.refuse(websocket.refusal_of(path), scope, receive, send)
        what = check_subscriber(route, who, scope, server)
        if what is None and is_session:
            with generation.life.users:
                return await answer_realtime(self.house, generation, who, scope, receive, send)
        if what is not None or (what := await answer_feed(self.house, server, receive, send)):
            return await websocket.refuse(what, scope, receive, send)
        return None

    async def _handle(
        self,
        generation: Generation,
        route: router.Route,
        who: Principal,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if route.pool is router.Pool.SERVICES:
            await self._serve(generation, route, who, scope, receive, send)
        elif route.name in COUNTERS:
            await answer_count(self.house, generation, COUNTERS[route.name], scope, receive, send)
        elif route.name == "activation":
            settings = generation.config.server
            await answer_activation(self.house, settings, self.activate, scope, receive, send)
        elif route.pool is router.Pool.MANAGEMENT:
            await answer_transition(self.house, generation, scope, receive, send)
        elif route.pool is router.Pool.MEDIA:
            await answer_media(self.house, generation, who, route, scope, receive, send)
        elif route.pool in {router.Pool.FEED, router.Pool.REALTIME}:
            await websocket.send_refusal(send, websocket.SOCKET_ONLY)
        else:
            await self._show(generation, route, scope, send)

    async def _serve(
        self,
        generation: Generation,
        route: router.Route,
        who: Principal,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """A service beside chat; a path for which none is configured is not there."""
        if serves(generation, route.name):
            await answer_service(self.house, generation, who, route.name, scope, receive, send)
        else:
            await _send(send, route.path, headers_of(scope), problem(Code.NOT_FOUND))

    async def _show(
        self, generation: Generation, route: router.Route, scope: Scope, send: Send
    ) -> None:
        """One of the read-only pages."""
        headers, path = headers_of(scope), text_of(scope, "path")
        query = scope.get("query_string", b"")
        assert isinstance(query, bytes)
        if route.name == "metrics":
            refusal = await answer_metrics(send, self.house, generation, query, headers)
            return None if refusal is None else await _send(send, path, headers, refusal)
        question = Question(
            query,
            router.named_in(path),
            is_anthropic=_is_anthropic(headers),
            hidden=self._hidden(generation),
        )
        view = await VIEWS[route.name](self.house, generation, question)
        if isinstance(view, Problem):
            return await _send(send, path, headers, view)
        return await send_json(send, view)


def _dialect_of(route: router.Route) -> ClientDialect:
    assert route.dialect is not None, "a chat route has its dialect"
    return DIALECTS[route.dialect]


@lru_cache(maxsize=4)
def _cors_of(origins: tuple[str, ...]) -> Cors:
    """One configuration's; made once, and not for each request."""
    return Cors(origins)


def _is_framing_conflicting(headers: Headers) -> bool:
    """Both framings at once are refused before the body is read (decisions 19, 53)."""
    names = dict(headers)
    return b"transfer-encoding" in names and b"content-length" in names


def _is_anthropic(headers: Headers) -> bool:
    """Whether a client of Anthropic's kind is asking: all of them name a version."""
    return any(name == b"anthropic-version" for name, _ in headers)


async def _no_route(send: Send, method: str, path: str, headers: Headers) -> None:
    refusal = websocket.refusal_of(path) if websocket.is_upgrade(headers) else None
    if refusal is not None:
        return await websocket.send_refusal(send, refusal)
    allow = edge.allow_header(path)
    if allow and method == "OPTIONS":
        return await edge.send_empty(send, allow)
    return await _send(send, path, headers, edge.refusal_at(path), allow)


async def _send(
    send: Send, path: str, headers: Headers, what: Problem, extra: Headers | None = None
) -> None:
    """An error in the dialect of the path; where there is nothing, in that of the caller."""
    name = router.dialect_of(path, is_anthropic=_is_anthropic(headers))
    await send_problem(send, what, DIALECTS[name].render_problem(what), extra or [])


async def _lifespan(receive: Receive, send: Send) -> None:
    """The house is opened by whoever made this application; there is nothing to do."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return
