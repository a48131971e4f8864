"""Everything this package uses of hypercorn 0.18, in the one place that imports it.

Part of it is internal to hypercorn, so an upgrade is read, not taken: a wire test keeps the shape
and the source of what we override or rely on and fails when hypercorn changes them.

What is overridden, and where: `H2Protocol` (`stream_send`, `_handle_events`, `_create_stream`,
`_close_stream`, `_send_data`, `_priority_updated`) and `StreamBuffer` in `server.http2`;
`WebsocketBuffer` and `Handshake` in `server.websockets`; `Config.response_headers` and `Logger` in
`server.settings`; `TaskGroup` in `server.tasks`. `WSStream` is used as it is, in
`server.http1_websocket`. Not used: `H11Protocol`, `TCPServer`, `worker_serve`, `ProtocolWrapper`.
"""

from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.logging import Logger
from hypercorn.protocol.events import (
    Body,
    Data,
    EndBody,
    InformationalResponse,
    Request,
    Response,
    StreamClosed,
)
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.h2 import BufferCompleteError, H2Protocol, StreamBuffer
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.protocol.ws_stream import (
    FrameTooLargeError,
    Handshake,
    WebsocketBuffer,
    WSStream,
)
from hypercorn.trio.lifespan import Lifespan
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import (
    AppWrapper,
    ASGIFramework,
    ASGIReceiveEvent,
    ASGISendEvent,
    ConnectionState,
    Scope,
    TaskGroup,
)
from hypercorn.typing import Event as EventLike
from hypercorn.utils import parse_socket_addr, wrap_app

__all__ = [
    "ASGIFramework",
    "ASGIReceiveEvent",
    "ASGISendEvent",
    "AppWrapper",
    "Body",
    "BufferCompleteError",
    "Closed",
    "Config",
    "ConnectionState",
    "Data",
    "EndBody",
    "Event",
    "EventLike",
    "FrameTooLargeError",
    "H2Protocol",
    "HTTPStream",
    "Handshake",
    "InformationalResponse",
    "Lifespan",
    "Logger",
    "RawData",
    "Request",
    "Response",
    "Scope",
    "StreamBuffer",
    "StreamClosed",
    "StreamEvent",
    "TaskGroup",
    "Updated",
    "WSStream",
    "WebsocketBuffer",
    "WorkerContext",
    "parse_socket_addr",
    "wrap_app",
]
