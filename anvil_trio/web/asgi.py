"""The ASGI application: framing, identity, route, handler; nothing else happens here.

Identity comes before routing, so an unknown path is a 401 to a stranger: no path oracle.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.web import edge, router, websocket
from anvil_trio.web.activation import Activate, answer_activation, no_activation
from anvil_trio.web.asgi_types import Headers, Receive, Scope, Send, headers_of, text_of
from anvil_trio.web.auth import Authenticator, Principal
from anvil_trio.web.chat import DIALECTS, answer_chat
from anvil_trio.web.cors import Cors
from anvil_trio.web.counting import COUNTERS, answer_count
from anvil_trio.web.health import answer_health
from anvil_trio.web.observe import VIEWS, Question
from anvil_trio.web.respond import send_json, send_problem
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
        cors = Cors(generation.config.server.cors_origins)
        permitted = cors.preflight(method, headers)
        if permitted is not None:
            return await edge.send_empty(send, permitted)
        reply = edge.without_body(method, cors.wrapped(headers, send))
        with generation.life.used():
            return await self._answer(generation, scope, receive, reply)

    async def _answer(
        self, generation: Generation, scope: Scope, receive: Receive, send: Send
    ) -> None:
        path, headers = router.normalise_path(text_of(scope, "path")), headers_of(scope)
        if _is_framing_conflicting(headers):
            what = problem(Code.INVALID_REQUEST, message="Content-Length and Transfer-Encoding.")
            return await _send(send, path, headers, what, [(b"connection", b"close")])
        route = router.find(text_of(scope, "method"), path)
        if route is not None and route.scope is None:
            return await self._answer_anyone(route, send)
        who = self.authenticator.identify(headers)
        if isinstance(who, Problem):
            return await _send(send, path, headers, who)
        if not self.authenticator.is_on and not router.ADMIN_PATHS.isdisjoint({
            path,
            router.path_meant(path),
        }):
            path, route = _NOWHERE, None  # without a token nobody is the operator
        if route is None:
            return await _no_route(send, text_of(scope, "method"), path, headers)
        if route.scope is not None and not who.may(route.scope):
            return await _send(send, path, headers, problem(Code.SCOPE_DENIED))
        return await self._handle(generation, route, who, scope, receive, send)

    async def _answer_anyone(self, route: router.Route, send: Send) -> None:
        """What needs no key."""
        if route.name == "health":
            await answer_health(send, is_draining=self.house.is_draining)
        else:
            await edge.answer_root(send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """No route takes a WebSocket: every handshake is refused, a stranger's with a 401."""
        who = self.authenticator.identify(headers_of(scope))
        path = router.normalise_path(text_of(scope, "path"))
        what = who if isinstance(who, Problem) else websocket.refusal_of(path)
        await websocket.refuse(what, scope, receive, send)

    async def _handle(
        self,
        generation: Generation,
        route: router.Route,
        who: Principal,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if route.pool is router.Pool.CHAT:
            assert route.dialect is not None, "a chat route has its dialect"
            dialect = DIALECTS[route.dialect]
            return await answer_chat(self.house, generation, who, dialect, scope, receive, send)
        if route.pool is router.Pool.SERVICES:
            return await self._serve(generation, route, who, scope, receive, send)
        counter = COUNTERS.get(route.name)
        if counter is not None:
            return await answer_count(self.house, generation, counter, scope, receive, send)
        if route.name == "activation":
            settings = generation.config.server
            return await answer_activation(
                self.house, settings, self.activate, scope, receive, send
            )
        if route.pool is router.Pool.MANAGEMENT:
            return await answer_transition(self.house, generation, scope, receive, send)
        return await self._show(generation, route, scope, send)

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
        """A read-only page."""
        headers = headers_of(scope)
        query = scope.get("query_string", b"")
        assert isinstance(query, bytes)
        path = text_of(scope, "path")
        question = Question(query, router.model_in(path), is_anthropic=_is_anthropic(headers))
        view = await VIEWS[route.name](self.house, generation, question)
        if isinstance(view, Problem):
            await _send(send, path, headers, view)
        else:
            await send_json(send, view)


def _is_framing_conflicting(headers: Headers) -> bool:
    """Both framings at once are refused before the body is read (decisions 19, 53)."""
    names = {name for name, _ in headers}
    return b"content-length" in names and b"transfer-encoding" in names


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
