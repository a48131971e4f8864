"""The ASGI application: framing, identity, route, handler; nothing else happens here.

Identity comes before routing, so an unknown path is a 401 to a stranger: no path oracle.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.web import edge, router, websocket
from anvil_trio.web.activation import Activate, answer_activation, no_activation
from anvil_trio.web.asgi_types import Headers, Receive, Scope, Send, headers_of, text_of
from anvil_trio.web.asked import Asked
from anvil_trio.web.auth import Authenticator, Principal
from anvil_trio.web.chat import DIALECTS, answer_chat
from anvil_trio.web.cors import Cors
from anvil_trio.web.counting import COUNTERS, answer_count
from anvil_trio.web.feed import answer_feed, check_subscriber
from anvil_trio.web.health import answer_health
from anvil_trio.web.media import answer_media
from anvil_trio.web.metrics import answer_metrics
from anvil_trio.web.observe import VIEWS
from anvil_trio.web.question import Question
from anvil_trio.web.realtime import answer_realtime, credentials_of
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
                generation = self.current()
                with generation.life.users:
                    await self._http(generation, Asked(scope, receive, send))
            case "websocket":
                await self._websocket(scope, receive, send)
            case "lifespan":
                await _lifespan(receive, send)

    async def _http(self, generation: Generation, asked: Asked) -> None:
        """The way of every request to its handler."""
        if (
            generation.config.server.cors_origins or asked.method == "HEAD"
        ) and await _is_preflight(generation, asked):
            return None
        if b"transfer-encoding" in asked.first and b"content-length" in asked.first:
            return await _refuse_framing(asked)
        route = router.find(asked.method, asked.path)
        if route is not None and route.scope is None:
            return await self._answer_anyone(route, asked)
        who = self.authenticator.identify(asked.headers)
        if isinstance(who, Problem):
            return await _refuse(asked, who)
        if route is None or route.path in router.HIDEABLE:
            route = self._unless_hidden(generation, asked, route)
        if route is None or not route.is_open_to(who):
            return await _turn_away(asked, route)
        if route.pool is router.Pool.CHAT:
            work = answer_chat(self.house, generation, who, route, asked)
        else:
            work = self._handle(generation, route, who, asked)
        return await work

    def _unless_hidden(
        self, generation: Generation, asked: Asked, route: router.Route | None
    ) -> router.Route | None:
        """The same; nothing, nowhere, for a path that is hidden, or was meant to be one."""
        meant = {router.entry_of(asked.path), router.path_meant(asked.path)}
        if not self._hidden(generation) & meant:
            return route
        asked.path = _NOWHERE
        return None

    def _hidden(self, generation: Generation) -> frozenset[str]:
        """Paths that this configuration does not have: to everybody as if they were nowhere."""
        paths = set() if self.authenticator.is_on else set(router.ADMIN_PATHS)  # nobody is operator
        if generation.config.server.workload_host is None:
            paths.add(router.WORKLOADS)
        if self.house.operations is None:
            paths |= router.MEDIA_PATHS
        return frozenset(paths)

    async def _answer_anyone(self, route: router.Route, asked: Asked) -> None:
        """What needs no key."""
        if route.name == "health":
            await answer_health(asked.send, is_draining=self.house.is_draining)
        else:
            await edge.answer_root(asked.send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The live feed or a session for whoever may have it; every other handshake is refused."""
        generation, path = self.current(), text_of(scope, "path")
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
        self, generation: Generation, route: router.Route, who: Principal, asked: Asked
    ) -> None:
        """What is not chat."""
        if route.pool is router.Pool.SERVICES:
            await self._serve(generation, route, who, asked)
        elif route.name in COUNTERS:
            await answer_count(self.house, generation, COUNTERS[route.name], asked)
        elif route.name == "activation":
            await answer_activation(self.house, generation.config.server, self.activate, asked)
        elif route.pool is router.Pool.MANAGEMENT:
            await answer_transition(self.house, generation, asked)
        elif route.pool is router.Pool.MEDIA:
            await answer_media(self.house, generation, who, route, asked)
        elif route.pool in {router.Pool.FEED, router.Pool.REALTIME}:
            await websocket.send_refusal(asked.send, websocket.SOCKET_ONLY)
        else:
            await self._show(generation, route, asked)

    async def _serve(
        self, generation: Generation, route: router.Route, who: Principal, asked: Asked
    ) -> None:
        """A service beside chat; a path for which none is configured is not there."""
        if serves(generation, route.name):
            await answer_service(self.house, generation, who, route.name, asked)
        else:
            await _refuse(asked, problem(Code.NOT_FOUND))

    async def _show(self, generation: Generation, route: router.Route, asked: Asked) -> None:
        """One of the read-only pages."""
        if route.name == "metrics":
            refusal = await answer_metrics(
                asked.send, self.house, generation, asked.query, asked.headers
            )
            return None if refusal is None else await _refuse(asked, refusal)
        question = Question(
            asked.query,
            router.named_in(asked.path),
            is_anthropic=_is_anthropic(asked),
            hidden=self._hidden(generation),
        )
        view = await VIEWS[route.name](self.house, generation, question)
        if isinstance(view, Problem):
            return await _refuse(asked, view)
        return await send_json(asked.send, view)


@lru_cache(maxsize=4)
def _cors_of(origins: tuple[str, ...]) -> Cors:
    """One configuration's; made once, and not for each request."""
    return Cors(origins)


async def _is_preflight(generation: Generation, asked: Asked) -> bool:
    """Whether it was one, and is answered; else every reply is as browsers and HEAD want it.

    Refusals too, so that a page can read them. Where no origins are configured nothing is said.
    """
    origins = tuple(generation.config.server.cors_origins)
    if origins:
        cors = _cors_of(origins)
        permitted = cors.preflight(asked.method, asked.headers)
        if permitted is not None:
            await edge.send_empty(asked.send, permitted)
            return True
        asked.send = cors.wrapped(asked.headers, asked.send)
    if asked.method == "HEAD":
        asked.send = edge.without_body(asked.send)
    return False


def _is_anthropic(asked: Asked) -> bool:
    """Whether a client of Anthropic's kind is asking: all of them name a version."""
    return b"anthropic-version" in asked.first


async def _refuse_framing(asked: Asked) -> None:
    """Both framings at once are refused before the body is read (decisions 19, 53)."""
    what = problem(Code.INVALID_REQUEST, message="Content-Length and Transfer-Encoding.")
    await _refuse(asked, what, [(b"connection", b"close")])


async def _turn_away(asked: Asked, route: router.Route | None) -> None:
    """Whoever may not use this route, or asks for one that is not there."""
    if route is not None:
        return await _refuse(asked, problem(Code.SCOPE_DENIED))
    path = asked.path
    refusal = websocket.refusal_of(path) if websocket.is_upgrade(asked.headers) else None
    if refusal is not None:
        return await websocket.send_refusal(asked.send, refusal)
    allow = edge.allow_header(path)
    if allow and asked.method == "OPTIONS":
        return await edge.send_empty(asked.send, allow)
    return await _refuse(asked, edge.refusal_at(path), allow)


async def _refuse(asked: Asked, what: Problem, extra: Headers | None = None) -> None:
    """An error in the dialect of the path; where there is nothing, in that of the caller."""
    name = router.dialect_of(asked.path, is_anthropic=_is_anthropic(asked))
    await send_problem(asked.send, what, DIALECTS[name].render_problem(what), extra or [])


async def _lifespan(receive: Receive, send: Send) -> None:
    """The house is opened by whoever made this application; there is nothing to do."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return
