"""The ASGI application: framing, identity, route, handler; nothing else happens here.

Identity comes before routing, so an unknown path is a 401 to a stranger: no path oracle.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.web import router, websocket
from anvil_trio.web.asgi_types import Headers, Receive, Scope, Send, headers_of, text_of
from anvil_trio.web.auth import Authenticator, Principal
from anvil_trio.web.chat import DIALECTS, answer_chat
from anvil_trio.web.counting import COUNTERS, answer_count
from anvil_trio.web.health import answer_health
from anvil_trio.web.observe import VIEWS
from anvil_trio.web.respond import send_json, send_problem
from anvil_trio.web.transition import answer_transition

__all__ = ["App", "Application", "CurrentGeneration"]

CurrentGeneration: TypeAlias = Callable[[], Generation]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class App:
    """One house's endpoint. `current` is asked once per request."""

    house: House
    current: CurrentGeneration
    authenticator: Authenticator

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
        path = router.normalise_path(text_of(scope, "path"))
        headers = headers_of(scope)
        if _is_framing_conflicting(headers):
            what = problem(Code.INVALID_REQUEST, message="Content-Length and Transfer-Encoding.")
            return await _send(send, path, what, [(b"connection", b"close")])
        if path == "/healthz" and scope["method"] == "GET":
            return await answer_health(send, is_draining=self.house.is_draining)
        who = self.authenticator.identify(headers)
        if isinstance(who, Problem):
            return await _send(send, path, who)
        if path == router.TRANSITION and not self.authenticator.is_on:
            path = ""  # without a token nobody is the operator, and there is nothing
        route = router.find(text_of(scope, "method"), path)
        if route is None:
            return await _no_route(send, path, headers)
        if route.scope is not None and not who.may(route.scope):
            return await _send(send, path, problem(Code.SCOPE_DENIED))
        return await self._handle(route, who, scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """No route takes a WebSocket: every handshake is refused, a stranger's with a 401."""
        who = self.authenticator.identify(headers_of(scope))
        path = router.normalise_path(text_of(scope, "path"))
        what = who if isinstance(who, Problem) else websocket.refusal_of(path)
        await websocket.refuse(what, scope, receive, send)

    async def _handle(
        self, route: router.Route, who: Principal, scope: Scope, receive: Receive, send: Send
    ) -> None:
        generation = self.current()
        if route.pool is router.Pool.CHAT:
            dialect = DIALECTS[route.dialect]
            return await answer_chat(self.house, generation, who, dialect, scope, receive, send)
        counter = COUNTERS.get(route.name)
        if counter is not None:
            return await answer_count(generation, counter, scope, receive, send)
        if route.pool is router.Pool.MANAGEMENT:
            return await answer_transition(self.house, generation, scope, receive, send)
        query = scope.get("query_string", b"")
        assert isinstance(query, bytes)
        view = await VIEWS[route.name](self.house, generation, query)
        if isinstance(view, Problem):
            return await _send(send, route.path, view)
        return await send_json(send, view)


def _is_framing_conflicting(headers: Headers) -> bool:
    """Both framings at once are refused before the body is read (decisions 19, 53)."""
    names = {name for name, _ in headers}
    return b"content-length" in names and b"transfer-encoding" in names


async def _no_route(send: Send, path: str, headers: Headers) -> None:
    refusal = websocket.refusal_of(path) if websocket.is_upgrade(headers) else None
    if refusal is not None:
        return await websocket.send_refusal(send, refusal)
    methods = router.methods_of(path)
    if not methods:
        return await _send(send, path, problem(Code.NOT_FOUND))
    allow = (b"allow", ", ".join(methods).encode())
    return await _send(send, path, problem(Code.METHOD_NOT_ALLOWED), [allow])


async def _send(send: Send, path: str, what: Problem, extra: Headers | None = None) -> None:
    """An error in the dialect of the path; where there is nothing, in OpenAI's shape."""
    body = DIALECTS[router.dialect_of(path)].render_problem(what)
    await send_problem(send, what, body, extra or [])


async def _lifespan(receive: Receive, send: Send) -> None:
    """The house is opened by whoever made this application; there is nothing to do."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return
