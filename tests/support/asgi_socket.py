"""The client of one in-process WebSocket: it takes what it is told to take, on virtual time."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from anvil_trio.web.asgi import App
from anvil_trio.web.asgi_types import Headers, Message
from tests.support.asgi import BEARER

EVENTS = "/v1/router/events"


class Socket:
    """What the application was told and what it said; a client that is `stuck` takes nothing."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.is_over = False
        self.is_stuck = False
        self._coming, self._incoming = trio.open_memory_channel[Message](100)
        self._coming.send_nowait({"type": "websocket.connect"})

    @property
    def kinds(self) -> list[str]:
        """The types of the ASGI messages that were sent."""
        return [message["type"] for message in self.sent]

    @property
    def told(self) -> list[dict[str, Any]]:
        """The feed's messages so far."""
        return [json.loads(one["text"]) for one in self.sent if one["type"] == "websocket.send"]

    @property
    def close(self) -> tuple[int, str]:
        """How it was closed by the application, at the very end."""
        last = self.sent[-1]
        assert last["type"] == "websocket.close", last
        return last["code"], last["reason"]

    @property
    def refusal(self) -> tuple[int, str]:
        """Status and code of a handshake that was refused in words."""
        start, body = self.sent
        assert start["type"] == "websocket.http.response.start"
        return start["status"], json.loads(body["body"])["error"]["code"]

    def say(self, **message: object) -> None:
        """One message of the client."""
        self._coming.send_nowait({"type": "websocket.receive", **message})

    def leave(self) -> None:
        """The client goes, and the server tells of it."""
        self._coming.send_nowait({"type": "websocket.disconnect", "code": 1006})

    async def receive(self) -> Message:
        """ASGI's receive."""
        return await self._incoming.receive()

    async def send(self, message: Message) -> None:
        """ASGI's send. What a stuck client is sent is handed over first, as by our own server."""
        await trio.lowlevel.checkpoint()
        self.sent.append(dict(message))
        if self.is_stuck:
            await trio.sleep_forever()


async def serve(app: App, socket: Socket, *, headers: Headers | None = None, **scope: Any) -> None:
    """Serve one WebSocket to its end."""
    plain = {
        "type": "websocket",
        "path": EVENTS,
        "query_string": b"",
        "headers": [BEARER] if headers is None else headers,
        "extensions": {"websocket.http.response": {}},
    }
    await app({**plain, **scope}, socket.receive, socket.send)
    socket.is_over = True


@asynccontextmanager
async def subscribed(app: App, **scope: Any) -> AsyncIterator[Socket]:
    """A client that follows the feed until the block is left."""
    socket = Socket()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: serve(app, socket, **scope))
        await trio.testing.wait_all_tasks_blocked()
        yield socket
        nursery.cancel_scope.cancel()
