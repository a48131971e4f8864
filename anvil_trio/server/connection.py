"""One client's connection: its bytes go to hypercorn's protocol, what that says goes to the client.

Whatever goes wrong here, a bug included, ends this connection and nothing else.
"""

import socket
from dataclasses import dataclass, field

import trio

from anvil_trio.net import sockets
from anvil_trio.net.arrivals import Arrivals
from anvil_trio.server.asgi import TypedApp
from anvil_trio.server.channel import Channel
from anvil_trio.server.flusher import Flusher
from anvil_trio.server.http1 import Http1, Http2Preface, ReadingEnded
from anvil_trio.server.http2 import Http2
from anvil_trio.server.hypercorn_names import (
    AppWrapper,
    Closed,
    ConnectionState,
    Event,
    RawData,
    Updated,
    parse_socket_addr,
)
from anvil_trio.server.log import ServerLog
from anvil_trio.server.options import ServerOptions
from anvil_trio.server.protocol_args import ProtocolArgs
from anvil_trio.server.settings import HypercornSettings, ServerContext
from anvil_trio.server.tasks import Tasks

__all__ = ["Connection", "Shared", "serve_connection"]


@dataclass(frozen=True, slots=True)
class Shared:
    """What all connections of one server use, and the set of those that are open.

    `wrapped` is the application as hypercorn's classes want it. With `arrivals`, which must outlive
    them, most requests are read in one task for all connections.
    """

    app: TypedApp
    wrapped: AppWrapper
    config: HypercornSettings
    context: ServerContext
    options: ServerOptions
    log: ServerLog
    flusher: Flusher
    arrivals: Arrivals | None = None
    state: ConnectionState = field(default_factory=lambda: ConnectionState({}))
    connections: "set[Connection]" = field(default_factory=set)


class Connection:
    """Reads until the client leaves, is idle for too long, or has had our last byte.

    `idle_since` is None while a request is being answered and until the answer has left.
    """

    def __init__(self, shared: Shared, sock: socket.socket, nursery: trio.Nursery) -> None:
        self._now = trio.lowlevel.current_clock().current_time  # trio's own way has two calls more
        self.idle_since: float | None = self._now()
        self._shared = shared
        self._channel = Channel(
            sock,
            shared.options,
            flusher=shared.flusher,
            arrivals=shared.arrivals,
            spawn=nursery.start_soon,
            on_lost=self._lose_client,
        )
        self._tasks = Tasks(shared.app, nursery, self._channel, shared.log)
        self._is_answering = False
        self._args = ProtocolArgs(
            app=shared.wrapped,
            config=shared.config,
            context=shared.context,
            task_group=self._tasks,
            connection_state=shared.state,
            ssl=self._channel.is_secure,
            client=parse_socket_addr(sock.family, sock.getpeername()),
            server=parse_socket_addr(sock.family, sock.getsockname()),
            send=self._send,
        )
        self._protocol: Http1 | Http2 = Http1(
            self._args,
            shared.options,
            channel=self._channel,
            begun=self._begin,
            ended=self._end,
        )

    async def run(self) -> None:
        """Serve this client to its end, whoever brings it about."""
        channel = self._channel
        await channel.handshake()
        if channel.alpn == "h2":
            self._protocol = self._http2()
        with channel.reading:
            await self._protocol.initiate()
            self._end()
            await self._read()
        if not channel.is_ending:
            if channel.reading.cancelled_caught:  # idle for too long
                self.evict()
            channel.close()
        self._lose_client()
        await self._protocol.close()
        self._tasks.dismiss()

    def retire(self) -> None:
        """The server stops: an idle client goes now, a busy one when its reply is complete."""
        if self.idle_since is not None:
            self._part()
        self._channel.linger_at_most(self._shared.options.stopping_linger_s)

    def expire(self, now: float) -> None:
        """Close the connection if it has been idle for too long."""
        if self.idle_since is None or self._channel.is_ending:
            return
        if now - self.idle_since >= self._shared.options.keep_alive_timeout_s:
            self._channel.reading.cancel()

    def evict(self) -> None:
        """Close an idle connection at once, to make room for another."""
        self.idle_since = None
        self._say_goodbye()
        self._channel.close()

    def close(self) -> None:
        """Close the socket, if it is still open; what waits to be sent is lost by a reset.

        To be called last. What we are made of knows us: it is let go, or all of it would be garbage
        in cycles, and many clients that leave together would cost everybody else a long collection.
        """
        self._channel.close()
        vars(self).clear()

    def _part(self) -> None:
        self._say_goodbye()
        self._channel.finish()

    def _say_goodbye(self) -> None:
        if goodbye := self._protocol.goodbye():
            self._channel.send(goodbye)
            self._channel.flush()

    # from the client to the protocol

    async def _read(self) -> None:
        if preface := await self._converse():
            protocol = self._protocol = self._http2()
            await protocol.initiate()
            protocol.receive(preface)
            del preface  # or it would last as long as the connection
            await protocol.go_on()
            await self._converse()
        if self._channel.is_ending:
            await self._channel.linger()

    async def _converse(self) -> bytes:
        """Hand over what the client sends, up to its end or to HTTP/2's preface, which is returned.

        Our task is woken only where somebody must wait.
        """
        protocol = self._protocol
        try:
            while await self._channel.read_each(protocol.receive):
                await protocol.go_on()
        except Http2Preface as preface:
            return preface.data
        except ReadingEnded:
            pass
        return b""

    def _http2(self) -> Http2:
        return Http2(
            self._args,
            drained=self._channel.drained,
            stall_timeout_s=self._shared.options.stall_timeout_s,
            max_waiting_bytes=self._shared.options.max_waiting_bytes,
        )

    # from the protocol to the client

    async def _send(self, event: Event) -> None:
        if isinstance(event, RawData):
            self._channel.send(event.data)
        elif isinstance(event, Updated):
            if event.idle:
                self._end()
            else:
                self._begin()
        elif isinstance(event, Closed):
            self._channel.finish()
            self._lose_client()
            await self._protocol.close()

    def _lose_client(self) -> None:
        self._tasks.lose_client()

    def _begin(self) -> None:
        """From now on a request is being answered."""
        self._is_answering = True
        self.idle_since = None

    def _end(self) -> None:
        """From now on none is; we are idle once the last answer has left."""
        self._is_answering = False
        is_flushed = self._channel.flush()
        if self._channel.is_ending:
            return
        if not is_flushed:
            self.idle_since = None
            self._tasks.spawn(self._end_when_flushed)
        elif self._shared.context.is_stopping:
            self._part()
        else:
            self.idle_since = self._now()

    async def _end_when_flushed(self) -> None:
        await self._channel.drained()
        if not self._is_answering:
            self._end()


async def serve_connection(shared: Shared, sock: socket.socket) -> None:
    """Serve one accepted socket to its end; only a cancel of the server comes out of here."""
    connection: Connection | None = None
    try:
        async with trio.open_nursery() as nursery:
            connection = Connection(shared, sock, nursery)
            shared.connections.add(connection)
            if shared.context.is_stopping:  # accepted in the very last moment
                connection.retire()
            await connection.run()
    except* (OSError, trio.ClosedResourceError, trio.TooSlowError):
        pass  # a client's ways of leaving, bad TLS among them
    except* Exception as bug:  # noqa: BLE001 - one client's connection, never the server
        shared.log.connection_failed(bug)
    finally:
        if connection is not None:
            connection.close()
            shared.connections.discard(connection)
        sockets.close(sock)
