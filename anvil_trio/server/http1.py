"""HTTP/1.1 on llhttp; its WebSockets are hypercorn's.

What arrives is judged in `http1_head` and `http1_requests`, what leaves is framed in `http1_reply`;
here is only whose turn it is. The next request begins when the reply before it is complete; until
then the reader goes on, so that a client's leaving is seen, and keeps what comes, up to a bound.
"""

from collections.abc import Callable

import trio

from anvil_trio.server.channel import Channel
from anvil_trio.server.http1_exchange import Exchange, fixed_scope
from anvil_trio.server.http1_head import RequestHead
from anvil_trio.server.http1_reply import Reply
from anvil_trio.server.http1_requests import Fault, Part, RequestParser
from anvil_trio.server.http1_websocket import Http1WebSocket
from anvil_trio.server.hypercorn_names import Closed
from anvil_trio.server.options import ServerOptions
from anvil_trio.server.protocol_args import ProtocolArgs
from anvil_trio.server.refusals import refusal

__all__ = ["Http1", "Http2Preface", "ReadingEnded"]

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class ReadingEnded(Exception):  # noqa: N818 - an end, no error
    """While a reply was outstanding the client sent more ahead than anybody needs."""


class Http2Preface(Exception):  # noqa: N818 - a turn, no error
    """The connection begins with HTTP/2's preface; `data` is all that has come."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data


class Http1:
    """One HTTP/1.1 connection over `channel`.

    `begun` is called when a request begins to be answered, `ended` when no other follows at once.
    """

    def __init__(
        self,
        args: ProtocolArgs,
        options: ServerOptions,
        *,
        channel: Channel,
        begun: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self.args = args
        self.write, self.drained = channel.send, channel.drained
        self._channel = channel
        self._begun, self._ended = begun, ended
        self._fixed = fixed_scope(args)
        self._max_ahead_bytes = options.max_ahead_bytes
        self._requests = RequestParser(options.max_head_bytes)
        self._opening = b""  # while it may still become HTTP/2's preface
        self._may_be_http2 = not args.ssl
        self._ahead = bytearray()
        self._exchange: Exchange | None = None
        self._socket: Http1WebSocket | None = None
        self._is_over = False
        self._is_answering = False  # a request is whole and its reply is not
        self._is_advancing = False
        self._has_advanced: trio.Event | None = None  # while a task of its own goes on

    def goodbye(self) -> bytes:
        """HTTP/1.1 has no words for the end of an idle connection."""
        return b""

    async def initiate(self) -> None:
        """The client speaks first."""

    def receive(self, data: bytes) -> bool:
        """Take what the client sent; True: before more is received `go_on` is to be awaited.

        Raises Http2Preface and ReadingEnded.
        """
        if self._may_be_http2:
            data = self._without_preface(data)
        if self._is_over or not data:
            return False
        if self._is_advancing or self._is_answering or self._ahead:
            return self._keep(data)
        self._requests.feed(data)
        self._is_advancing = not self._advance_now()
        return self._is_advancing

    async def go_on(self) -> None:
        """Do what `receive` could not do without waiting."""
        if self._has_advanced is not None:
            await self._has_advanced.wait()
        elif self._is_advancing:  # else the task of its own was faster than ours to wake
            await self._advance()

    def _without_preface(self, data: bytes) -> bytes:
        """The bytes of HTTP/1.1; none as long as they may still become HTTP/2's preface."""
        data = self._opening + data
        if data.startswith(_PREFACE):
            raise Http2Preface(data)
        if _PREFACE.startswith(data):
            self._opening = data
            return b""
        self._may_be_http2, self._opening = False, b""
        return data

    def _keep(self, data: bytes) -> bool:
        """Keep what comes too early; whether what came before it is about to be read.

        Beyond the bound a FIN would queue behind the unread bytes and could not be seen anyway.
        """
        self._ahead += data
        if self._has_advanced is not None:
            return True
        if len(self._ahead) > self._max_ahead_bytes:
            raise ReadingEnded
        return False

    async def _advance(self) -> None:
        """Go on until more must come, or a reply is outstanding."""
        self._is_advancing = True
        try:
            await self._wait()
            while not self._advance_now():
                await self._wait()
        finally:
            self._is_advancing = False
            if self._has_advanced is not None:
                self._has_advanced.set()
                self._has_advanced = None

    def _advance_now(self) -> bool:
        """Go on as far, but without waiting; False where `_wait` must come first, which is rare."""
        received = self._requests.received
        while not (self._is_answering or self._is_over):
            item = received[0] if received else None
            if isinstance(item, Part):
                exchange = self._exchange
                assert exchange is not None, "a part of the body has its head before it"
                received.popleft()
                self._is_answering = item.is_last
                if not (exchange.take(item) or item.is_last):
                    return False
            elif isinstance(item, RequestHead) and self._may_begin(item):
                received.popleft()
                self._begin(item)
            elif item is not None:
                return False
            elif self._ahead:
                data, self._ahead = bytes(self._ahead), bytearray()
                self._requests.feed(data)
            else:
                return True
        return True

    def _may_begin(self, head: RequestHead) -> bool:
        return self._channel.is_flushed and not head.is_websocket

    def _begin(self, head: RequestHead) -> None:
        self._begun()
        self._exchange = Exchange(self, head)
        self._exchange.begin(self._fixed, head)

    async def _wait(self) -> None:
        """Wait until more of a body is wanted, and take what comes next unless that is a part."""
        if self._exchange is not None:
            await self._exchange.has_room()
        received = self._requests.received
        item = received[0] if received else None
        if isinstance(item, RequestHead) and not self._channel.is_flushed:
            await self.drained()  # a pipelined request waits for its client to read
        if not (self._is_over or item is None or isinstance(item, Part)):
            received.popleft()
            await self._take_other(item)

    async def _take_other(self, item: RequestHead | Fault | bytes) -> None:
        """What is no part of a body: a head, a fault, after which nothing follows, or bytes."""
        if isinstance(item, Fault):
            await self._end_at(item)
        elif isinstance(item, bytes):
            assert self._socket is not None, "only behind a handshake bytes are not parsed"
            await self._socket.take(item)
        elif item.is_websocket:
            self._begun()
            self._socket = Http1WebSocket(self.args, self.write, self._finish)
            await self._socket.begin(item)
        else:
            self._begin(item)

    async def _end_at(self, fault: Fault) -> None:
        """Say what is wrong, unless a reply has begun that cannot be taken back."""
        exchange = self._exchange
        if exchange is None:
            headers, body = refusal(fault.status)
            reply, ours = Reply("GET", "1.1"), self.args.config.reply_lines
            self.write(reply.render_head(fault.status, headers, ours, closes=True) + body)
        elif not exchange.reply.has_begun:
            exchange.refuse(fault.status)
        await self._finish()

    # the ends of an exchange and of the connection

    async def recycle(self) -> None:
        """The present exchange has ended: go on with the next request, or end the connection."""
        exchange, self._exchange = self._exchange, None
        assert exchange is not None, "it calls this once"
        self._is_answering = False
        exchange.close()
        if not exchange.may_be_followed or self.args.context.is_stopping:
            await self._finish()
            return
        self._ended()
        if (self._ahead or self._requests.received) and not self._is_advancing:
            self._is_advancing, self._has_advanced = True, trio.Event()
            self.args.task_group.spawn(self._advance)

    async def _finish(self) -> None:
        """Nothing more from us. The connection calls `close`."""
        self._is_over = True
        await self.args.send(Closed())

    async def close(self) -> None:
        """Nothing more comes or goes; the applications are told. Idempotent."""
        self._is_over = True
        self._requests.close()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close()
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()
