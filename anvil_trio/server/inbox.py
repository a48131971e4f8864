"""What an application task knows of its client: the messages, and whether it is still there.

Unlike hypercorn's channel, the end of the client never waits its turn: it is known, and `on_gone`
called, in the step in which the server learns of it. And once the application has ended nobody
waits for it: an answer given without reading a large body leaks nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import trio

from anvil_trio.server.hypercorn_names import ASGIReceiveEvent, ASGISendEvent

__all__ = ["Direct", "Inbox"]

_ROOM = 10
_NORMAL_CLOSURE = 1000
_ABNORMAL_CLOSURE = 1006
_DISCONNECTS = frozenset({"http.disconnect", "websocket.disconnect"})


class Direct(Protocol):
    """A reply without the messages of ASGI, and without waiting.

    Each call says whether the kernel has all of it; who is told that it has not may wait for
    `Inbox.drained`. To a client that has left nothing is sent. After `answer` and `last` the
    application says no more.
    """

    def answer(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send a whole reply."""
        ...

    def first(self, status: int, headers: Sequence[tuple[bytes, bytes]], data: bytes) -> bool:
        """Send a head and the first part of its body."""
        ...

    def more(self, data: bytes) -> bool:
        """Send another part; the part before it has been sent or waited for."""
        ...

    def last(self, data: bytes) -> bool:
        """Send the last part."""
        ...


class Inbox:
    """The messages for one application task, in order; a disconnect stays and is read again.

    For the application, as `scope["extensions"]["anvil.client"]`: `gone` is whether the client left
    before its exchange was over, and `on_gone` is called, once, in the step in which that is
    learned; it must neither wait nor raise. An exchange that ended by itself is never `gone`.

    Of a WebSocket also: `max_message_chars` is for the application to set before it accepts, where
    its messages may be of another length than the server's settings say; `ping` sends a ping.
    `close_code` is the code of the close frame that the client sent, which its disconnect tells.

    `direct` takes a reply, if the protocol can do without the messages of ASGI (`is_answered`: it
    was given the end of one); `sender` is what the application was given to send those by.

    For the protocol: `room` is how many messages may wait before `put` does, `wanted` is awaited
    whenever the application asks and nothing is there, `outgoing` until what it sent is taken.
    """

    __slots__ = (
        "_arrived",
        "_is_over",
        "_messages",
        "_taken",
        "_type",
        "close_code",
        "direct",
        "gone",
        "is_answered",
        "max_message_chars",
        "on_gone",
        "outgoing",
        "ping",
        "room",
        "sender",
        "wanted",
    )

    def __init__(self, kind: str, outgoing: Callable[[], Awaitable[None]]) -> None:
        self.gone = False
        self.on_gone: Callable[[], None] | None = None
        self.close_code: int | None = None
        self.max_message_chars: int | None = None
        self.ping: Callable[[], Awaitable[None]] | None = None
        self.outgoing = outgoing
        self.direct: Direct | None = None
        self.is_answered = False
        self.sender: Callable[[ASGISendEvent], Awaitable[None]] | None = None
        self.room = _ROOM
        self.wanted: Callable[[], Awaitable[None]] | None = None
        self._type = kind
        self._messages: list[ASGIReceiveEvent] = []  # a few at the most
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
        """Hand on what the protocol has to say; waits while the application has enough to read."""
        if not self.put_now(message):
            await self.has_room()

    def put_now(self, message: ASGIReceiveEvent) -> bool:
        """The same without waiting; False: before more is put `has_room` is to be awaited."""
        if self.gone or self._is_over:
            return True
        if message["type"] in _DISCONNECTS:
            self._put_end(message)
            return True
        self._messages.append(message)
        if self._arrived is not None:
            self._wake_reader()
        return len(self._messages) < self.room

    async def has_room(self) -> None:
        """Wait while the application has enough to read, and still may."""
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

    def close(self) -> None:
        """The exchange of a request is over: the application is told, if it has not ended."""
        if not (self.gone or self._is_over):
            self._messages.append({"type": "http.disconnect"})
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
            self._messages.pop(0)
            self._wake_writer()
        return message

    @property
    def has_body(self) -> bool:
        """Whether a request's whole body has come in one piece. Most have."""
        first = self._messages[0] if self._messages else None
        return first is not None and first["type"] == "http.request" and not first["more_body"]

    def take_body(self) -> bytes | None:
        """The whole body, if it `has_body`: then no scope needs to bound the wait for it."""
        if not self.has_body:
            return None
        message = self._messages.pop(0)
        assert message["type"] == "http.request", "looked at in this step"
        if self._taken is not None:
            self._wake_writer()
        return message["body"]

    async def drained(self) -> None:
        """Wait until the client has taken what the application sent, or nearly, or has left.

        It is how a send that was cancelled, whose bytes keep their place, is waited for again.
        """
        await self.outgoing()

    def lose(self) -> None:
        """The client has left. Nothing happens if the exchange was over; idempotent."""
        if self.is_shut:
            return
        self.gone = True
        if self._type == "websocket":
            code = _ABNORMAL_CLOSURE if self.close_code is None else self.close_code
            self._messages.append({"type": "websocket.disconnect", "code": code})
        else:
            self._messages.append({"type": "http.disconnect"})
        self._wake_reader()
        self._wake_writer()
        if self.on_gone is not None:
            self.on_gone()

    def end(self) -> None:
        """The application has ended: what it did not read is dropped, and so is all it could call.

        Whatever that was knows this inbox. Kept, each request would be garbage in a cycle.
        """
        self._messages.clear()
        self._finish()
        self.on_gone = self.wanted = self.direct = self.sender = None

    def _finish(self) -> None:
        self._is_over = True
        if self._arrived is not None:
            self._wake_reader()
        if self._taken is not None:
            self._wake_writer()

    def _wake_reader(self) -> None:
        if self._arrived is not None:
            self._arrived.set()
            self._arrived = None

    def _wake_writer(self) -> None:
        if self._taken is not None:
            self._taken.set()
            self._taken = None
