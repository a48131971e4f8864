"""The way to one member: its connections, reused last in first out, and nothing tried twice.

There is no limit and no queue here: admission is the limit, and a pool that queues can orphan a
connection. Nothing is shared between members, and no task runs in the background.
"""

import ssl
from collections import deque
from collections.abc import Callable

import httpx
import trio

from anvil_trio.net.arrivals import Arrivals
from anvil_trio.net.tls import client_context
from anvil_trio.upstream.connection import Connection, Endpoint
from anvil_trio.upstream.http1 import ReplyParser, render_request
from anvil_trio.upstream.idleness import ALWAYS_S, Idleness
from anvil_trio.upstream.response import response_of
from anvil_trio.upstream.stream import End, HandOn, Received, Request

__all__ = ["MemberTransport"]

_NOTHING = memoryview(b"")  # a view of what is written would keep the whole request
_PORTS = {"http": 80, "https": 443}


def _failure(
    error: OSError, broken: type[httpx.TransportError], late: type[httpx.TimeoutException]
) -> httpx.TransportError:
    """The httpx exception for a socket's; its words say nothing about the member."""
    kind = late if isinstance(error, TimeoutError) else broken
    return kind("The connection to the upstream failed.")


async def _read_each(connection: Connection, hear: Callable[[bytes], bool]) -> None:
    """As `Connection.read_each`; what it raises is httpx's."""
    try:
        await connection.read_each(hear)
    except trio.ClosedResourceError:
        raise httpx.ReadError("The stream was closed.") from None
    except OSError as error:
        raise _failure(error, httpx.ReadError, httpx.ReadTimeout) from None


class _Flow:
    """Hands on the body of one reply: what was read is parsed, and what it says passed on."""

    __slots__ = ("_hand_on", "_parser", "has_ended")

    def __init__(self, parser: ReplyParser, hand_on: HandOn) -> None:
        self._parser, self._hand_on = parser, hand_on
        self.has_ended = False

    def hear(self, data: bytes) -> bool:
        """Take one read; whether it is enough. Raises httpx.RemoteProtocolError."""
        self._parser.feed(data)
        return self.is_enough()

    def is_enough(self) -> bool:
        """Hand on what is known; whether the reply has ended, or nothing more is wanted."""
        while (item := self._parser.take()) is not None:
            if isinstance(item, bytes):
                if not self._hand_on(item):
                    return True
            else:
                assert isinstance(item, End), "a reply has one head"
                self.has_ended = True
                return True
        return False


class _Reply:
    """The reply on one connection to which `data` is written: an `UpstreamStream`.

    Made, it has written what the kernel takes. Raises httpx.WriteError or WriteTimeout; failed, the
    connection is closed.
    """

    __slots__ = ("_connection", "_give_back", "_rest")

    def __init__(
        self, connection: Connection, data: bytes, give_back: Callable[[Connection], None]
    ) -> None:
        self._connection: Connection | None = connection
        self._give_back = give_back
        try:
            self._rest = connection.write(data) or _NOTHING
        except OSError as error:
            connection.close()
            raise _failure(error, httpx.WriteError, httpx.WriteTimeout) from None
        connection.parser.begin()

    @property
    def is_written(self) -> bool:
        """Whether the request is on its way whole."""
        return not self._rest

    async def write_rest(self) -> None:
        """Write what is left. Cancelled or failed, the connection is closed."""
        connection, rest = self._connection, self._rest
        assert connection is not None, "written after close"
        try:
            await connection.write_rest(rest)
        except OSError as error:
            connection.close()
            raise _failure(error, httpx.WriteError, httpx.WriteTimeout) from None
        except BaseException:
            connection.close()
            raise
        self._rest = _NOTHING

    def take(self) -> Received | None:
        """What came with an earlier read. Raises httpx.RemoteProtocolError."""
        assert self._connection is not None, "received after close"
        return self._connection.parser.take()

    async def flow(self, hand_on: HandOn) -> bool:
        """See `UpstreamStream`. Raises as `receive`."""
        connection = self._connection
        assert connection is not None, "received after close"
        flow = _Flow(connection.parser, hand_on)
        if not flow.is_enough():
            await _read_each(connection, flow.hear)
        return flow.has_ended

    async def receive(self) -> Received:
        """What one read brought. Raises httpx.ReadError, ReadTimeout or RemoteProtocolError."""
        connection = self._connection
        assert connection is not None, "received after close"
        parser = connection.parser
        while (item := parser.take()) is None:
            await _read_each(connection, parser.feed)
        return item

    async def aclose(self) -> None:
        """Give the connection back or end it; never waits."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._give_back(connection)


class MemberTransport(httpx.AsyncBaseTransport):
    """One member's connections. An `UpstreamTransport`; under an `AsyncClient` it serves probes.

    `keepalive_s` is how long a connection may have been idle and still be used again, at the most:
    a request on a connection that the engine just closed is a failed attempt like any other, so
    `Idleness` trusts an engine no further than its connections were seen to last. 0 keeps none.
    With `arrivals`, which must outlive the last reply, plain replies are read in one task for all.
    To be made within the run of trio that uses it, whose clock it keeps.
    """

    def __init__(
        self,
        base_url: str,
        *,
        keepalive_s: float,
        tls: ssl.SSLContext | None = None,
        arrivals: Arrivals | None = None,
    ) -> None:
        url = httpx.URL(base_url)
        context = (tls or client_context()) if url.scheme == "https" else None
        port = url.port or _PORTS[url.scheme]
        self._endpoint = Endpoint(url.raw_host.decode(), port, context, arrivals)
        self._origin = url.netloc
        self._keepalive_s = keepalive_s
        self._idleness = Idleness(keepalive_s)
        self._idle: deque[Connection] = deque()  # the longest idle first
        self._look_at = 0.0  # when the longest idle one is worth a look again
        self._is_closed = False
        self._now = trio.lowlevel.current_clock().current_time  # trio's own way has two calls more

    @property
    def idle(self) -> int:
        """How many connections wait for their next use."""
        return len(self._idle)

    def send_now(self, request: Request, body: bytes) -> _Reply | None:
        """Write `request` once on a connection that is quiet, as far as that takes no waiting."""
        if not self._idle:
            return None
        data = self._rendered(request, body)
        connection = self._reused()
        return None if connection is None else _Reply(connection, data, self._give_back)

    async def send(self, request: Request | httpx.Request, body: bytes) -> _Reply:
        """Write `request` once, on a connection that is quiet or new, and return.

        Raises httpx.ConnectError, ConnectTimeout, WriteError or WriteTimeout; cancelled or failed,
        the connection is closed. A server that refuses while `body` is still being written is
        heard: its answer is the reply.
        """
        data = self._rendered(request, body)
        reply = _Reply(self._reused() or await self._connected(), data, self._give_back)
        if not reply.is_written:
            await reply.write_rest()
        return reply

    def _rendered(self, request: Request | httpx.Request, body: bytes) -> bytes:
        origin = request.origin if isinstance(request, Request) else request.url.netloc
        assert origin == self._origin, "a request for another member"
        return render_request(request, self._origin, body)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The same for an `AsyncClient`: returns with the reply's head, the body unread."""
        return await response_of(await self.send(request, await request.aread()))

    async def open_stream(self) -> trio.abc.Stream:
        """See `UpstreamTransport`."""
        try:
            return await self._endpoint.open_stream()
        except (OSError, trio.BrokenResourceError):
            raise httpx.ConnectError("The connection to the upstream failed.") from None

    async def aclose(self) -> None:
        """Close the idle connections; those in use close with their streams. Never waits."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def close_expired(self) -> None:
        """Close what has been idle too long; every use of the transport does so by itself.

        What the longest idle one shows of the engine's patience is learned on the way.
        """
        self._close_expired(self._now())

    def _close_expired(self, now: float) -> None:
        self._look_at = now + min(ALWAYS_S, self._keepalive_s)
        while self._idle:
            oldest = self._idle[0]
            idle_s = now - oldest.idle_since
            if idle_s < ALWAYS_S and idle_s < self._keepalive_s:
                return  # nothing can be learned of it yet
            is_open = oldest.is_quiet()
            (self._idleness.bore if is_open else self._idleness.ended)(idle_s)
            if is_open and idle_s < self._keepalive_s:
                return
            self._idle.popleft().close()

    def _reused(self) -> Connection | None:
        now = self._now()
        if now >= self._look_at:
            self._close_expired(now)
        latest = now - self._idleness.usable_s
        while self._idle and self._idle[-1].idle_since >= latest:
            connection = self._idle.pop()
            if connection.is_quiet():
                return connection
            connection.close()  # the server ended it, or said something nobody asked for
        return None

    async def _connected(self) -> Connection:
        try:
            return await self._endpoint.connect()
        except OSError as error:
            raise _failure(error, httpx.ConnectError, httpx.ConnectTimeout) from None

    def _give_back(self, connection: Connection) -> None:
        is_kept = (
            connection.parser.is_reusable
            and not connection.is_cut_short
            and not self._is_closed
            and self._keepalive_s > 0
        )
        if is_kept:
            connection.idle_since = self._now()
            self._idle.append(connection)
        else:
            connection.close()
