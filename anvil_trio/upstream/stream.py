"""What one upstream exchange looks like to everyone above it: send once, then receive to the end.

A stream is an object with `receive()`, never an async generator: a deadline may be put round
`receive()` without losing what was under way, and leaving it early needs no garbage collector.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import httpx
import msgspec
import trio

__all__ = [
    "END",
    "End",
    "HandOn",
    "Head",
    "Received",
    "Request",
    "UpstreamStream",
    "UpstreamTransport",
    "flow_by_receiving",
]


class Request:
    """One POST on its way to a member, as cheap as it can be: nothing is parsed to make one.

    `head` is its request line and its headers as bytes, all but the framing, which the transport
    adds; every line of it ends with its line break.
    """

    __slots__ = ("head", "origin", "url")

    method = "POST"

    def __init__(self, url: httpx.URL, origin: bytes, head: bytes) -> None:
        self.url, self.origin, self.head = url, origin, head

    @property
    def headers(self) -> httpx.Headers:
        """The headers but `host`, for whoever looks on."""
        lines = self.head.split(b"\r\n")[2:-1]
        return httpx.Headers([
            (name, value) for name, _, value in (x.partition(b": ") for x in lines)
        ])


class Head(msgspec.Struct, frozen=True):
    """A reply's final status and headers, names in lower case; interim heads are left out."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def header(self, name: bytes) -> bytes | None:
        """The first header of that lower-case name, or None."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


@dataclass(frozen=True, slots=True)
class End:
    """The reply was read to its end, as its own framing says."""


END = End()

Received: TypeAlias = Head | bytes | End

HandOn: TypeAlias = Callable[[bytes], bool]
"""Takes what one read brought; False: nothing more is wanted for the moment."""


class UpstreamStream(Protocol):
    """One reply: a `Head`, then never-empty bytes, then `End`."""

    @property
    def is_written(self) -> bool:
        """Whether the request is on its way whole: true of whatever `send` gave."""
        ...

    async def write_rest(self) -> None:
        """Write what `send_now` could not. Raises as `send`; nothing may be received before."""
        ...

    def take(self) -> Received | None:
        """What `receive` would give without waiting, or None. Raises as `receive` does."""
        ...

    async def receive(self) -> Received:
        """The next thing the upstream said; everything one read brought comes at once.

        Its only wait takes nothing, so a cancelled call loses nothing and may be made again.
        Must not be called after `End` or after it raised. The transport's own streams raise
        httpx exceptions, those of `client.open_stream` only `errors.UpstreamFailed`.
        """
        ...

    async def flow(self, hand_on: HandOn) -> bool:
        """Give `hand_on` each of the bytes that come; whether the reply has ended.

        Only after the head. Until then, or until `hand_on` wants no more, which may be asked for
        again: it must not wait, and may be called by another task, in the step in which the bytes
        are seen. What it raises is raised here; otherwise as `receive`. Cancelled, it has been
        given whatever was taken, and is not called any more from the step of the cancellation on.
        """
        ...

    async def aclose(self) -> None:
        """Give the connection back, or end it at once so that the engine stops its work.

        It is kept only if the reply was read to its `End` and both sides keep the connection.
        Never waits, so it needs no shield and works in a cancelled scope; idempotent.
        """
        ...


class UpstreamTransport(Protocol):
    """The way to one member."""

    def send_now(self, request: Request, body: bytes) -> UpstreamStream | None:
        """As `send`, but without waiting; None: nothing was written, and `send` must do it.

        An idle connection takes most requests whole in one step, which then needs no scope; one
        that takes only a part is gone on with by `write_rest`.
        """
        ...

    async def send(self, request: Request | httpx.Request, body: bytes) -> UpstreamStream:
        """Write one request, exactly once, and return as soon as it is written: the dispatch.

        `body` is what travels; `request` gives method, URL and headers. Raises an
        `httpx.TransportError`; nothing is ever tried again. Cancelled: nothing stays open.
        """
        ...

    async def open_stream(self) -> trio.abc.Stream:
        """One connection of its own, TLS agreed on, for a protocol that is not HTTP for long.

        Whoever asked closes it. Raises httpx.ConnectError; cancelled, nothing stays open.
        """
        ...

    async def aclose(self) -> None:
        """Close the idle connections; those in use end with their streams.

        A request after this gets a connection that is kept for no other. Idempotent.
        """
        ...


async def flow_by_receiving(receive: Callable[[], Awaitable[Received]], hand_on: HandOn) -> bool:
    """`UpstreamStream.flow` for a stream that must be awaited for each piece."""
    while True:
        item = await receive()
        if isinstance(item, End):
            return True
        assert isinstance(item, bytes), "a reply has one head"
        if not hand_on(item):
            return False
