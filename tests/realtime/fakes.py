"""Both ends of a session in memory: a client, and an engine that speaks WebSocket over a stream."""

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, WebSocketRequest
from wsproto import ConnectionType, WSConnection

from anvil_trio.errors import Problem
from anvil_trio.exchange.caller import Header
from anvil_trio.realtime.caller import Goodbye, Message
from anvil_trio.realtime.closes import Close

__all__ = ["EngineEnd", "FakeClient"]


class FakeClient:
    """What a client of a session looks like to it; it takes what it is told to take."""

    def __init__(self) -> None:
        self._leave: Callable[[], None] | None = None
        self._hurry: Callable[[], None] | None = None
        self._say, self._said = trio.open_memory_channel[Message | Goodbye](math.inf)
        self._room = trio.Event()
        self._room.set()
        self._has_closed = False
        self.has_started = False
        self.bytes_sent = 0
        self.accepted = trio.Event()
        self.headers: dict[bytes, bytes] = {}
        self.max_message_chars = 0
        self.received: list[Message] = []
        self.news = trio.Event()
        self.refusal: Problem | None = None
        self.closed: Close | None = None
        self.pings = 0
        self.left_at: float | None = None

    # what a test does

    def say(self, *messages: Message) -> None:
        """Send messages."""
        for message in messages:
            self._say.send_nowait(message)

    def goodbye(self, code: int = 1000) -> None:
        """Close in good order."""
        self._has_closed = True
        self._say.send_nowait(Goodbye(code))
        if self._hurry is not None:
            self._hurry()

    def leave(self) -> None:
        """Vanish."""
        self.left_at = trio.current_time()
        self._room.set()
        if self._leave is not None:
            self._leave()

    def stop_reading(self) -> None:
        """From now on a write waits."""
        if self._room.is_set() and self.left_at is None:
            self._room = trio.Event()

    def read_on(self) -> None:
        """Writes go through again."""
        self._room.set()

    async def heard(self, count: int) -> list[Message]:
        """The first so many messages, once they have come."""
        while len(self.received) < count:
            await self.news.wait()
        return self.received[:count]

    # what the session does

    def watch_for_leaving(self, leave: Callable[[], None]) -> None:
        self._leave = leave
        if self.left_at is not None:
            leave()

    def watch_for_goodbye(self, hurry: Callable[[], None]) -> None:
        self._hurry = hurry
        if self._has_closed:
            hurry()

    async def accept(self, headers: list[Header], max_message_chars: int) -> None:
        assert not self.has_started
        assert self.refusal is None
        self.has_started, self.headers = True, dict(headers)
        self.max_message_chars = max_message_chars
        self.accepted.set()
        await self._room.wait()

    async def refuse(self, what: Problem, headers: list[Header]) -> None:
        assert not self.has_started
        assert self.refusal is None
        self.refusal, self.headers = what, dict(headers)
        await self._room.wait()

    async def receive(self) -> Message | Goodbye:
        return await self._said.receive()

    async def send(self, message: Message) -> None:
        assert self.has_started
        assert self.closed is None, "a message after the close"
        self.bytes_sent += len(message)
        self.received.append(message)
        self.news.set()
        self.news = trio.Event()
        await self._room.wait()

    async def ping(self) -> None:
        self.pings += 1
        await trio.lowlevel.checkpoint()

    async def close(self, close: Close) -> None:
        assert self.has_started
        assert self.closed is None, "two closes"
        self.closed = close
        await self._room.wait()


class EngineEnd:
    """The engines of one test. Each connection is served by `serve`, or by `raw`, in `nursery`."""

    def __init__(
        self,
        nursery: trio.Nursery,
        serve: Callable[[WebSocketConnection], Awaitable[None]] | None = None,
        *,
        raw: Callable[[trio.abc.Stream], Awaitable[None]] | None = None,
        refuse: tuple[int, bytes] | None = None,
    ) -> None:
        self._nursery, self._serve, self._raw, self._refuse = nursery, serve, raw, refuse
        self.requests: list[WebSocketRequest] = []
        self.heard: list[Message] = []
        self.closes: list[int] = []

    def __call__(self, stream: trio.abc.Stream) -> None:
        """One more connection."""
        self._nursery.start_soon(self._run, stream)

    async def _run(self, stream: trio.abc.Stream) -> None:
        async with stream:
            if self._raw is not None:
                return await self._raw(stream)
            async with trio.open_nursery() as nursery:
                connection = WebSocketConnection(stream, WSConnection(ConnectionType.SERVER))
                nursery.start_soon(_read, connection)
                nursery.start_soon(_until_closed, connection, nursery.cancel_scope)
                request = await connection._get_request()
                self.requests.append(request)
                await self._answer(request)
                nursery.cancel_scope.cancel()
        return None

    async def _answer(self, request: WebSocketRequest) -> None:
        try:
            if self._refuse is not None:
                status, body = self._refuse
                return await request.reject(status, body=body)
            connection = await request.accept()
            return await (self._serve or self.echo)(connection)
        except ConnectionClosed as closed:
            if closed.reason is not None:
                self.closes.append(int(closed.reason.code))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    async def echo(self, connection: WebSocketConnection) -> None:
        """Say everything back."""
        while True:
            message = await connection.get_message()
            self.heard.append(message)
            await connection.send_message(message)


async def _read(connection: WebSocketConnection) -> None:
    """Whatever the library's reader makes of an end."""
    with suppress(Exception):
        await connection._reader_task()


async def _until_closed(connection: WebSocketConnection, scope: trio.CancelScope) -> None:
    """A client that has gone before its request was read whole."""
    await connection._close_handshake.wait()
    if connection.closed is not None and connection.closed.code == 1006:
        scope.cancel()
