"""`GET /v1/router/events`: one subscriber of the live feed, from its handshake to its last frame.

What a subscriber has not taken waits in its own bounded subscription of the bus, which drops the
oldest. Nobody who publishes ever waits for one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import trio

from anvil_trio import __version__
from anvil_trio.actors.bus import Subscription
from anvil_trio.config.model import ServerSettings
from anvil_trio.decisions.events import Event
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.house import House
from anvil_trio.views.feed import render_dropped, render_heartbeat, render_hello
from anvil_trio.views.query import check_no_query
from anvil_trio.web.asgi_types import Message, Receive, Scope, Send, headers_of
from anvil_trio.web.auth import Principal
from anvil_trio.web.cors import Cors
from anvil_trio.web.router import Pool, Route

__all__ = ["BUFFER_EVENTS", "MAX_CLIENT_BYTES", "Close", "answer_feed", "check_subscriber"]

BUFFER_EVENTS = 1_000
"""How many events wait for one subscriber; a record is one to two KiB, and all share it."""

MAX_CLIENT_BYTES = 4_096
"""How long a message of a client may be. Nothing that it says means anything here."""

_FAREWELL_S = 1.0

_FULL = problem(Code.SERVER_BUSY, message="The feed has as many subscribers as it takes.")
_STOPPING = problem(Code.SHUTTING_DOWN)
_FOREIGN = problem(Code.SCOPE_DENIED, message="Pages of this origin may not open a WebSocket.")


@dataclass(frozen=True, slots=True)
class Close:
    """Why we end a subscription, as its close frame says it."""

    code: int
    reason: str


_GOING_AWAY = Close(1001, "shutting_down")
_TOO_SLOW = Close(1008, "too_slow")
_TOO_BIG = Close(1009, "message_too_big")


def check_subscriber(
    route: Route, who: Principal, scope: Scope, server: ServerSettings
) -> Problem | None:
    """Why an authenticated caller may not have a WebSocket, told before it is accepted.

    Browsers let any page open a WebSocket and only say whose page it is; where authentication is
    off that is the one thing that stands between the feed, or an engine, and the web.
    """
    if not route.is_open_to(who):
        return problem(Code.SCOPE_DENIED)
    if not Cors(server.cors_origins).admits(headers_of(scope)):
        return _FOREIGN
    if route.pool is not Pool.FEED:
        return None
    query = scope.get("query_string", b"")
    assert isinstance(query, bytes)
    return check_no_query(query)


async def answer_feed(
    house: House, server: ServerSettings, receive: Receive, send: Send
) -> Problem | None:
    """Serve one subscriber until either side ends it; a problem, and nothing sent, if none can be.

    It ends with 1001 when the router stops, 1008 when a message is not taken within
    `client_stall_timeout_s`, 1009 for a client's message above `MAX_CLIENT_BYTES`.
    """
    until = trio.CancelScope()
    with house.subscribers.seated(until) as is_seated:
        if not is_seated:
            return _STOPPING if house.is_draining else _FULL
        with house.bus.subscribe(BUFFER_EVENTS) as events:
            text_of = house.subscribers.text_of
            await _Subscriber(receive, send, events, server, until, text_of).run()
    return None


class _Subscriber:
    """The two directions of one WebSocket."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        events: Subscription[Event],
        server: ServerSettings,
        until: trio.CancelScope,
        text_of: Callable[[Event], str],
    ) -> None:
        self._receive, self._send, self._events = receive, send, events
        self._text_of = text_of
        self._stall_s = server.client_stall_timeout_s
        self._heartbeat_s = server.heartbeat_interval_s
        self._until = until
        self._close: Close | None = _GOING_AWAY  # unless one of us knows better

    async def run(self) -> None:
        """Tell and listen until one of the two, or the house, says that it is over."""
        with self._until:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._listen)
                nursery.start_soon(self._tell)
        if self._close is None:
            return
        with trio.move_on_after(_FAREWELL_S):
            await self._send({
                "type": "websocket.close",
                "code": self._close.code,
                "reason": self._close.reason,
            })

    async def _listen(self) -> None:
        """Drop what the client says, as long as it is little; see it leave."""
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                return self._end(None)
            if _size_of(message) > MAX_CLIENT_BYTES:
                return self._end(_TOO_BIG)

    async def _tell(self) -> None:
        await self._deliver({"type": "websocket.accept"})
        await self._say(render_hello(__version__, self._heartbeat_s))
        told = 0
        while True:
            event: Event | None = None
            with trio.move_on_after(self._heartbeat_s):
                event = await self._events.receive()
            if self._events.dropped > told:  # what was dropped came before this event
                count, told = self._events.dropped - told, self._events.dropped
                await self._say(render_dropped(count))
            await self._say(render_heartbeat() if event is None else self._text_of(event))

    async def _say(self, text: str) -> None:
        await self._deliver({"type": "websocket.send", "text": text})

    async def _deliver(self, message: Message) -> None:
        with trio.move_on_after(self._stall_s) as patience:
            await self._send(message)
        if patience.cancelled_caught:
            self._end(_TOO_SLOW)

    def _end(self, close: Close | None) -> None:
        """The first one to say why is believed."""
        if not self._until.cancel_called:
            self._close = close
            self._until.cancel()


def _size_of(message: Message) -> int:
    """How long what the client sent is; nothing for its handshake."""
    text, data = message.get("text"), message.get("bytes")
    if isinstance(text, str):
        return len(text.encode())
    return len(data) if isinstance(data, bytes) else 0
