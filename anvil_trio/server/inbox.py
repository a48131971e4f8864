"""What hypercorn calls a task group, and the inbox each application task reads.

Unlike hypercorn's channel, the end of the client never waits its turn: it is known, and `on_gone`
called, in the step in which the server learns of it. And once the application has ended nobody
waits for it: an answer given without reading a large body leaks nothing.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import cast

import trio

from anvil_trio.server.hypercorn_names import (
    AppWrapper,
    ASGIReceiveEvent,
    ASGISendEvent,
    Config,
    Scope,
    TaskGroup,
)
from anvil_trio.server.log import ServerLog

__all__ = ["EXTENSION", "Inbox", "Tasks", "inbox_of"]

EXTENSION = "anvil.client"
"""The key of the `Inbox` in `scope["extensions"]`."""

_ROOM = 10
_NORMAL_CLOSURE = 1000
_DISCONNECTS = frozenset({"http.disconnect", "websocket.disconnect"})


class Inbox:
    """The messages for one application task, in order; a disconnect stays and is read again.

    For the application: `gone` is whether the client left before its exchange was over, and
    `on_gone` is called, once, in the step in which that is learned. It must neither wait nor raise.
    An exchange that ended by itself is never `gone`.

    For the protocol: `room` is how many messages may wait before `put` does, `wanted` is awaited
    whenever the application asks and nothing is there, `outgoing` until what it sent is taken.
    """

    __slots__ = (
        "_arrived",
        "_is_over",
        "_messages",
        "_taken",
        "_type",
        "gone",
        "on_gone",
        "outgoing",
        "room",
        "wanted",
    )

    def __init__(self, kind: str) -> None:
        self.gone = False
        self.on_gone: Callable[[], None] | None = None
        self.room = _ROOM
        self.wanted: Callable[[], Awaitable[None]] | None = None
        self.outgoing: Callable[[], Awaitable[None]] | None = None
        self._type = kind
        self._messages: deque[ASGIReceiveEvent] = deque()
        self._arrived: trio.Event | None = None
        self._taken: trio.Event | None = None
        self._is_over = False

    @property
    def is_hungry(self) -> bool:
        """Whether the application waits for a message."""
        return self._arrived is not None

    @property
    def is_shut(self) -> bool:
        """Whether nobody waits for more: the client or the application left, or the reply ended."""
        return self.gone or self._is_over

    async def put(self, message: ASGIReceiveEvent) -> None:
        """Hand on what hypercorn has to say; waits while the application has enough to read."""
        if self.is_shut:
            return
        if message["type"] in _DISCONNECTS:
            self._put_end(message)
            return
        self._messages.append(message)
        self._wake_reader()
        while len(self._messages) >= self.room and not self.is_shut:
            if self._taken is None:
                self._taken = trio.Event()
            await self._taken.wait()

    def _put_end(self, message: ASGIReceiveEvent) -> None:
        # Nobody said that the client had left, so the exchange is over: the reply was complete, or
        # the application closed its WebSocket first. Any other WebSocket's end is the client's.
        if message["type"] == "websocket.disconnect" and message["code"] != _NORMAL_CLOSURE:
            self.lose()
            return
        self._messages.append(message)
        self._finish()

    async def receive(self) -> ASGIReceiveEvent:
        """ASGI's receive. Cancelled, no message is lost."""
        if not self._messages and self.wanted is not None:
            await self.wanted()
        while not self._messages:
            if self._arrived is None:
                self._arrived = trio.Event()
            await self._arrived.wait()
        message = self._messages[0]
        if message["type"] not in _DISCONNECTS:
            self._messages.popleft()
            self._wake_writer()
        return message

    async def drained(self) -> None:
        """Wait until what the application sent has been taken, or nearly.

        It is how a send that was cancelled, whose bytes keep their place, is waited for again.
        Returns at once when the client has left.
        """
        if self.outgoing is not None and not self.is_shut:
            await self.outgoing()

    def lose(self) -> None:
        """The client has left. Nothing happens if the exchange was over; idempotent."""
        if self.is_shut:
            return
        self.gone = True
        if self._type == "websocket":
            self._messages.append({"type": "websocket.disconnect", "code": 1006})
        else:
            self._messages.append({"type": "http.disconnect"})
        self._wake_reader()
        self._wake_writer()
        if self.on_gone is not None:
            self.on_gone()

    def end(self) -> None:
        """The application has ended: what it did not read is dropped."""
        self._messages.clear()
        self._finish()

    def _finish(self) -> None:
        self._is_over = True
        self._wake_reader()
        self._wake_writer()

    def _wake_reader(self) -> None:
        if self._arrived is not None:
            self._arrived.set()
            self._arrived = None

    def _wake_writer(self) -> None:
        if self._taken is not None:
            self._taken.set()
            self._taken = None


class Tasks(TaskGroup):
    """Hypercorn's task group over one connection's nursery."""

    def __init__(self, nursery: trio.Nursery, log: ServerLog) -> None:
        self._nursery = nursery
        self._log = log
        self._inboxes: set[Inbox] = set()

    async def __aenter__(self) -> TaskGroup:
        """Hypercorn's server enters its group; ours lives in a nursery that is open already."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to close."""

    async def spawn_app(
        self,
        app: AppWrapper,
        config: Config,  # noqa: ARG002 - hypercorn's signature
        scope: Scope,
        send: Callable[[ASGISendEvent | None], Awaitable[None]],
    ) -> Callable[[ASGIReceiveEvent], Awaitable[None]]:
        """Start one application task; what it may receive is put into the callable returned."""
        inbox = Inbox(scope["type"])
        _extensions(scope)[EXTENSION] = inbox
        self._inboxes.add(inbox)
        self._nursery.start_soon(self._run_app, app, scope, inbox, send)
        return inbox.put

    def spawn(self, func: Callable[[], Awaitable[object]], *args: object) -> None:
        """Start one of the protocol's own tasks; hypercorn passes them no arguments."""
        assert not args
        self._nursery.start_soon(func)

    def lose_client(self) -> None:
        """Tell every application task whose exchange is not over that its client has left."""
        for inbox in list(self._inboxes):
            inbox.lose()

    async def _run_app(
        self,
        app: AppWrapper,
        scope: Scope,
        inbox: Inbox,
        send: Callable[[ASGISendEvent | None], Awaitable[None]],
    ) -> None:
        try:
            await app(scope, inbox.receive, send, trio.to_thread.run_sync, trio.from_thread.run)
        except* Exception as failed:  # noqa: BLE001 - whatever it was, it was that request's
            self._log.application_failed(failed)
        finally:
            inbox.end()
            self._inboxes.discard(inbox)
        await send(None)


def inbox_of(scope: Scope) -> Inbox | None:
    """The inbox of the task that `spawn_app` started with `scope`, if it did."""
    inbox = _extensions(scope).get(EXTENSION)
    return inbox if isinstance(inbox, Inbox) else None


def _extensions(scope: Scope) -> dict[str, object]:
    return cast("dict[str, dict[str, object]]", scope)["extensions"]
