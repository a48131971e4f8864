"""A WebSocket on an HTTP/1.1 connection: hypercorn's stream, from the handshake to the end."""

from collections.abc import Awaitable, Callable

from anvil_trio.server.http1_head import RequestHead
from anvil_trio.server.http1_reply import Reply, render_switch
from anvil_trio.server.hypercorn_names import (
    Body,
    Data,
    EndBody,
    Request,
    Response,
    StreamClosed,
    StreamEvent,
    WSStream,
)
from anvil_trio.server.protocol_args import ProtocolArgs
from anvil_trio.server.websockets import bound_messages

__all__ = ["Http1WebSocket"]

_SWITCHING = 101
_STREAM = 1


class Http1WebSocket:
    """Hands the handshake, whole, and every byte behind it to hypercorn, and on what that says.

    `end` is awaited when the WebSocket, or the refusal of its handshake, is over.
    """

    def __init__(
        self,
        args: ProtocolArgs,
        write: Callable[[bytes], bool],
        end: Callable[[], Awaitable[None]],
    ) -> None:
        self._args = args
        self._write = write
        self._end = end
        self._refusal = Reply("GET", "1.1")
        self._stream = WSStream(
            args.app,
            args.config,
            args.context,
            args.task_group,
            args.ssl,
            args.client,
            args.server,
            self._stream_send,
            _STREAM,
        )

    async def begin(self, head: RequestHead) -> None:
        """Hand over the handshake; hypercorn refuses a bad one by itself."""
        target = head.raw_path + b"?" + head.query if head.query else head.raw_path
        request = Request(
            stream_id=_STREAM,
            headers=head.headers,
            http_version=head.version,
            method=head.method,
            raw_path=target,
            state=self._args.connection_state,
        )
        await self._stream.handle(request)
        bound_messages(self._stream)
        await self._end_refused()

    async def take(self, data: bytes) -> None:
        """Hand over what the client sent; before its handshake is accepted that ends it."""
        await self._stream.handle(Data(stream_id=_STREAM, data=data))
        await self._end_refused()

    async def close(self) -> None:
        """Nothing more comes or goes; the application is told."""
        await self._stream.handle(StreamClosed(stream_id=_STREAM))

    async def _end_refused(self) -> None:
        if self._stream.closed:  # hypercorn has refused it, and would leave the connection open
            await self._end()

    async def _finish(self) -> None:
        await self.close()
        await self._end()

    async def _stream_send(self, event: StreamEvent) -> None:
        if isinstance(event, Data):
            self._write(event.data)
        elif isinstance(event, Response):
            self._write(self._head(event))
        elif isinstance(event, Body):
            self._write(self._refusal.render_part(event.data))
        elif isinstance(event, EndBody):
            self._write(self._refusal.render_end())
        elif isinstance(event, StreamClosed):
            await self._finish()

    def _head(self, event: Response) -> bytes:
        ours = self._args.config.reply_lines
        if event.status_code == _SWITCHING:
            return render_switch(event.headers, ours)
        return self._refusal.render_head(event.status_code, event.headers, ours, closes=True)
