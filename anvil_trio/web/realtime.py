"""`GET /v1/realtime`: from an authenticated WebSocket handshake to one session."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol, cast

import trio

from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Problem
from anvil_trio.exchange.caller import Header
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.realtime.caller import Goodbye
from anvil_trio.realtime.caller import Message as Said
from anvil_trio.realtime.closes import Close
from anvil_trio.realtime.handshake import credentials_in, is_beta, protocol_for, read_wanted
from anvil_trio.realtime.run import run_session
from anvil_trio.web import websocket
from anvil_trio.web.asgi_types import Headers, Receive, Scope, Send, first_of, headers_of
from anvil_trio.web.auth import Principal
from anvil_trio.web.chat import call_of
from anvil_trio.web.watcher import run_watched

__all__ = ["ClientSocket", "ServerSide", "answer_realtime", "credentials_of"]

_VANISHED = 1006
_LEFT = "websocket.disconnect"


class ServerSide(Protocol):
    """What our own server puts into the scope of a WebSocket."""

    gone: bool
    on_gone: Callable[[], None] | None
    close_code: int | None
    max_message_chars: int | None
    ping: Callable[[], Awaitable[None]] | None


def credentials_of(scope: Scope) -> Headers:
    """The headers of a handshake and, as if it were one, the key among its subprotocols."""
    return [*headers_of(scope), *credentials_in(_offered(scope))]


async def answer_realtime(
    house: House,
    generation: Generation,
    principal: Principal,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Run one session; under a server that does not tell of leaving, a watcher stands in."""
    headers, offered = headers_of(scope), _offered(scope)
    query = scope.get("query_string", b"")
    assert isinstance(query, bytes)
    server = _server_side(scope)
    caller = ClientSocket(scope, receive, send, server, protocol_for(offered))
    await receive()  # the handshake itself
    work = partial(
        run_session,
        house,
        generation,
        call_of(principal, CHAT, first_of(headers)),
        caller,
        read_wanted(query),
        is_beta=is_beta(headers, offered),
    )
    if server is None:
        await run_watched(work, caller.wait_for_leaving, caller.has_left)
    else:
        await work()


class ClientSocket:
    """The caller of one session over ASGI; see `SessionCaller`.

    With our own server its leaving is known in the step in which the server learns of it, and with
    which code it closed. Another server tells of it in `receive()`, and gives 1006 for every end.
    """

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        server: ServerSide | None,
        protocol: str | None,
    ) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._server, self._protocol = server, protocol
        self._leave: Callable[[], None] | None = None
        self._hurry: Callable[[], None] | None = None
        self._watching = trio.CancelScope()
        self.has_started = False
        self.bytes_sent = 0

    def watch_for_leaving(self, leave: Callable[[], None]) -> None:
        """See `Watched`."""
        self._leave = leave
        if self._server is not None:
            self._server.on_gone = self._gone
            if self._server.gone:
                self._gone()

    def watch_for_goodbye(self, hurry: Callable[[], None]) -> None:
        """See `SessionCaller`."""
        self._hurry = hurry
        if self._server is not None and self._server.gone:
            self._gone()

    def _gone(self) -> None:
        """A client that closed in good order is heard out; one that vanished is not."""
        assert self._server is not None
        if self._server.close_code is None:
            self.has_left()
        elif self._hurry is not None:
            self._hurry()

    def has_left(self) -> None:
        """Say that the client has vanished."""
        if self._leave is not None:
            self._leave()

    async def wait_for_leaving(self) -> None:
        """Under a server that does not tell, until the handshake is accepted: they have left."""
        with self._watching:
            while (await self._receive())["type"] != _LEFT:
                pass
            return
        await trio.sleep_forever()

    async def accept(self, headers: list[Header], max_message_chars: int) -> None:
        """See `SessionCaller`. The key that came as a subprotocol is never named."""
        self.has_started = True
        self._watching.cancel()
        if self._server is not None:
            self._server.max_message_chars = max_message_chars
        await self._send({
            "type": "websocket.accept",
            "subprotocol": self._protocol,
            "headers": list(headers),
        })

    async def refuse(self, what: Problem, headers: list[Header]) -> None:
        """See `SessionCaller`."""
        await websocket.answer(what, self._scope, self._send, headers)

    async def receive(self) -> Said | Goodbye:
        """See `SessionCaller`."""
        message = await self._receive()
        if message["type"] == _LEFT:
            code = message.get("code", _VANISHED)
            assert isinstance(code, int)
            if code == _VANISHED:
                self.has_left()
            return Goodbye(code)
        text, data = message.get("text"), message.get("bytes")
        said = text if isinstance(text, str) else data
        assert isinstance(said, str | bytes)
        return said

    async def send(self, message: Said) -> None:
        """See `SessionCaller`."""
        if isinstance(message, str):
            self.bytes_sent += len(message.encode())
            await self._send({"type": "websocket.send", "text": message})
        else:
            self.bytes_sent += len(message)
            await self._send({"type": "websocket.send", "bytes": message})

    async def ping(self) -> None:
        """See `SessionCaller`."""
        if self._server is not None and self._server.ping is not None:
            await self._server.ping()

    async def close(self, close: Close) -> None:
        """See `SessionCaller`."""
        await self._send({"type": "websocket.close", "code": close.code, "reason": close.reason})


def _offered(scope: Scope) -> list[str]:
    offered = scope.get("subprotocols")
    return [one for one in offered if isinstance(one, str)] if isinstance(offered, list) else []


def _server_side(scope: Scope) -> ServerSide | None:
    extensions = cast("Mapping[str, ServerSide]", scope.get("extensions") or {})
    return extensions.get("anvil.client")
