"""HTTP/2 by hypercorn's protocol, corrected where one stream could harm others or itself.

Hypercorn 0.18 buffers without bound while a client's window is shut, forgets streams whose
application failed, keeps what belongs to reset streams, lets one application that does not read
stop the whole connection, and ends it over a byte or a late body. Each is put right here.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import h2.events
import trio
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from priority.priority import MissingStreamError

from anvil_trio.server.frames import FrameGuard, Verdict
from anvil_trio.server.hypercorn_names import (
    Body,
    Closed,
    Event,
    H2Protocol,
    InformationalResponse,
    RawData,
    Response,
    StreamBuffer,
    StreamClosed,
    StreamEvent,
    Updated,
)
from anvil_trio.server.outbox import Outbox
from anvil_trio.server.protocol_args import ProtocolArgs
from anvil_trio.server.tasks import inbox_of
from anvil_trio.server.websockets import bound_messages

__all__ = ["Http2"]

_INBOX_ROOM = 256
_HOSTILE = {
    Verdict.TOO_LONG: ErrorCodes.FRAME_SIZE_ERROR,
    Verdict.TOO_MANY: ErrorCodes.ENHANCE_YOUR_CALM,
}


class Http2(H2Protocol):
    """One HTTP/2 connection: no stream waits for another's application or another's window.

    `drained` waits until the client's socket has taken what was sent.
    """

    def __init__(
        self,
        args: ProtocolArgs,
        *,
        drained: Callable[[], Awaitable[None]],
        stall_timeout_s: float,
        max_waiting_bytes: int,
    ) -> None:
        super().__init__(*args)
        self._drained = drained
        self._stall_timeout_s = stall_timeout_s
        self._max_waiting_bytes = max_waiting_bytes
        self._received = b""
        self._frames = FrameGuard(self.config.h2_max_inbound_frame_size)
        self._owed: dict[int, int] = {}  # bytes of a stream's window to give back once it reads on
        self._expecting: set[int] = set()  # streams whose client waits for 100 Continue

    @property
    def idle(self) -> bool:
        """Whether nothing is being answered and every answer's end is on its way."""
        return super().idle and not self.stream_buffers

    def goodbye(self) -> bytes:
        """The GOAWAY that ends an idle connection."""
        with suppress(ProtocolError):
            self.connection.close_connection()
        return self.connection.data_to_send()

    def receive(self, data: bytes) -> bool:
        """Take what the client sent; `go_on` is to be awaited before more is received."""
        self._received = data
        return True

    async def go_on(self) -> None:
        """Do what the client asks for."""
        data, self._received = self._received, b""
        await self.handle(RawData(data))

    async def close(self) -> None:
        """Nothing more comes or goes; the applications are told."""
        await self.handle(Closed())

    async def handle(self, event: Event) -> None:
        """Hypercorn's, but nothing waits for a connection that has closed.

        And a frame that claims to be too long, or a storm of frames, closes it at once.
        """
        if isinstance(event, RawData):
            verdict = self._frames.judge(event.data, trio.current_time())
            if verdict is not Verdict.GOOD:
                with suppress(ProtocolError):
                    self.connection.close_connection(_HOSTILE[verdict])
                await self._flush()
                await self.send(Closed())
                return
        await super().handle(event)
        if isinstance(event, Closed):
            for stream_id in list(self.stream_buffers):
                await self._discard(stream_id)

    async def _report_idle(self) -> None:
        await self.send(Updated(idle=self.idle))

    # what the application sends

    async def stream_send(self, event: StreamEvent) -> None:
        """Hypercorn's, but a reply's end is sent before the connection's can be."""
        if isinstance(event, StreamClosed):
            await self._close_stream(event.stream_id)
            await self._report_idle()
            return
        if isinstance(event, Response):
            self._expecting.discard(event.stream_id)
        await super().stream_send(event)

    async def _stream_drained(self, stream_id: int) -> None:
        buffer = self.stream_buffers.get(stream_id)
        if isinstance(buffer, Outbox):
            await buffer.drained()
        else:
            await trio.lowlevel.checkpoint()  # gone: a loop of sends must not starve the others

    async def _send_data(self, stream_id: int) -> None:
        buffer = self.stream_buffers.get(stream_id)
        if buffer is None:
            self._unschedule(stream_id)
            return
        try:
            await self._send_part(stream_id, buffer)
        except ProtocolError:  # the stream or the connection ended meanwhile
            await self._discard(stream_id)
        await self._flush()
        if stream_id not in self.stream_buffers:
            await self._report_idle()
        await self._drained()

    async def _send_part(self, stream_id: int, buffer: StreamBuffer) -> None:
        window = self.connection.local_flow_control_window(stream_id)
        length = min(window, self.connection.max_outbound_frame_size)
        data = await buffer.pop(max(0, length))
        if data:
            self.connection.send_data(stream_id, data)
        else:
            self.priority.block(stream_id)
        if buffer.complete:
            self.connection.end_stream(stream_id)
            await self._discard(stream_id)

    # what the client sends

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                await self._begin(event)
            elif isinstance(event, h2.events.DataReceived):
                await self._take_body(event)
            elif isinstance(event, h2.events.StreamReset):
                await self._end_lost(event.stream_id)
            else:
                await super()._handle_events([event])
        await self._flush()

    async def _begin(self, request: h2.events.RequestReceived) -> None:
        if self.context.terminated.is_set():
            self.connection.reset_stream(request.stream_id, ErrorCodes.REFUSED_STREAM)
        elif not _is_readable(request):
            self.connection.send_headers(
                request.stream_id,
                [
                    (b":status", b"400"),
                    (b"content-length", b"0"),
                    *self.config.response_headers("h2"),
                ],
                end_stream=True,
            )
        else:
            await super()._handle_events([request])
            await self._end_refused(request.stream_id)

    async def _take_body(self, event: h2.events.DataReceived) -> None:
        """Hand the part on.

        Its bytes of the connection's window go back at once, those of the stream's once the
        application wants more: a body that nobody reads fills its own window and stops no other
        stream. What comes for a stream that has ended is dropped: the client may not know yet.
        """
        stream_id, length = event.stream_id, event.flow_controlled_length
        self._open_window(length)
        stream = self.streams.get(stream_id)
        inbox = None if stream is None else inbox_of(stream.scope)
        if stream is None or inbox is None or inbox.is_shut:
            self._open_window(length, stream_id)
            return
        self._owed[stream_id] = self._owed.get(stream_id, 0) + length
        if event.data:
            await stream.handle(Body(stream_id=stream_id, data=event.data))
        if inbox.is_hungry or not event.data:
            self._give_back(stream_id)
        await self._end_refused(stream_id)

    async def _end_refused(self, stream_id: int) -> None:
        """A WebSocket that hypercorn refused has had its answer; hypercorn would keep it."""
        stream = self.streams.get(stream_id)
        if stream is not None and stream.closed:
            await self._close_stream(stream_id)
            await self._report_idle()

    async def _priority_updated(self, event: h2.events.PriorityUpdated) -> None:
        """Ignored, as RFC 9113 says: streams take turns, and nobody can fill or knot the tree."""

    async def _want_body(self, stream_id: int) -> None:
        if stream_id in self._expecting:
            self._expecting.discard(stream_id)
            go_on = InformationalResponse(stream_id=stream_id, headers=[], status_code=100)
            await self.stream_send(go_on)
        if stream_id in self._owed:
            self._give_back(stream_id)
            await self._flush()

    def _give_back(self, stream_id: int) -> None:
        self._open_window(self._owed.pop(stream_id, 0), stream_id)

    def _open_window(self, count: int, stream_id: int | None = None) -> None:
        with suppress(ProtocolError, KeyError):  # h2 has ended the connection, forgotten the stream
            if count:
                self.connection.increment_flow_control_window(count, stream_id)

    # a stream's life

    async def _create_stream(self, request: h2.events.RequestReceived) -> None:
        stream_id = request.stream_id
        await super()._create_stream(request)
        bound_messages(self.streams[stream_id])
        inbox = inbox_of(self.streams[stream_id].scope)
        if inbox is None:  # refused, and answered
            return
        self.stream_buffers[stream_id] = Outbox(
            self.context.event_class,
            stall_timeout_s=self._stall_timeout_s,
            max_waiting_bytes=self._max_waiting_bytes,
            on_stall=partial(self._end_stalled, stream_id),
        )
        inbox.room = _INBOX_ROOM
        inbox.wanted = partial(self._want_body, stream_id)
        inbox.outgoing = partial(self._stream_drained, stream_id)
        if (b"expect", b"100-continue") in request.headers and request.stream_ended is None:
            self._expecting.add(stream_id)

    async def _close_stream(self, stream_id: int) -> None:
        """Forget a stream: its exchange is over, its client has left, or the connection has.

        An application that ended early leaves a reset: hypercorn would tell the client nothing.
        """
        await super()._close_stream(stream_id)
        self._expecting.discard(stream_id)
        self._give_back(stream_id)
        buffer = self.stream_buffers.get(stream_id)
        if isinstance(buffer, Outbox) and not buffer.is_ended:
            self._reset(stream_id, ErrorCodes.INTERNAL_ERROR)
            await self._discard(stream_id)
        await self._flush()

    async def _end_stalled(self, stream_id: int) -> None:
        self._reset(stream_id, ErrorCodes.CANCEL)
        await self._end_lost(stream_id)

    async def _end_lost(self, stream_id: int) -> None:
        stream = self.streams.get(stream_id)
        inbox = None if stream is None else inbox_of(stream.scope)
        if inbox is not None:
            inbox.lose()
        await self._discard(stream_id)
        await self._close_stream(stream_id)
        await self._report_idle()

    def _reset(self, stream_id: int, code: ErrorCodes) -> None:
        with suppress(ProtocolError):  # the client was faster
            self.connection.reset_stream(stream_id, code)

    async def _discard(self, stream_id: int) -> None:
        buffer = self.stream_buffers.pop(stream_id, None)
        if buffer is not None:
            await buffer.close()
        self._unschedule(stream_id)

    def _unschedule(self, stream_id: int) -> None:
        with suppress(MissingStreamError):
            self.priority.remove_stream(stream_id)


def _is_readable(request: h2.events.RequestReceived) -> bool:
    """Whether method and target are there and ASCII, and what is said of a WebSocket is.

    On others hypercorn ends the connection, and every stream on it.
    """
    fields = dict(request.headers)
    return all(fields.get(name, b"\xff").isascii() for name in (b":method", b":path")) and all(
        value.isascii() for name, value in request.headers if name.startswith(b"sec-websocket-")
    )
