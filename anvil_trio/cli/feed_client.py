"""How `router top` follows the live feed: one WebSocket, to its end, within bounds.

The address is literal, so nothing is resolved; no proxy and no setting of the environment is used.
"""

import ssl
from collections.abc import Callable, Mapping
from math import inf
from urllib.parse import urlsplit

import h11
import trio
from pydantic import JsonValue
from trio_websocket import (
    ConnectionClosed,
    ConnectionRejected,
    HandshakeError,
    WebSocketConnection,
    wrap_client_stream,
)
from wsproto.utilities import ProtocolError

from anvil_trio.cli.reach import Reach
from anvil_trio.config.json_object import read_json_object
from anvil_trio.net.tls import client_context

__all__ = ["FEED_PATH", "follow_feed"]

FEED_PATH = "/v1/router/events"
_SCHEMA = "anvil-router-events/v1"
_MAX_MESSAGE_BYTES = 65_536
_WAITING_MESSAGES = 100
_HEARTBEATS = 3
_MAX_INTERVAL_S = 86_400
_PORTS = {"http": 80, "https": 443}
_REFUSED = frozenset({401, 403, 404, 426})
_ENDS = (
    HandshakeError,
    ConnectionClosed,
    ProtocolError,
    h11.ProtocolError,
    trio.BrokenResourceError,
    trio.TooSlowError,
)
"""How a peer can be none, or stop being one; anything else is a fault of ours."""

Object = Mapping[str, JsonValue]
_Stream = trio.SocketStream | trio.SSLStream[trio.SocketStream]


async def follow_feed(
    reach: Reach, on_open: Callable[[], None], tell: Callable[[Object], None]
) -> bool:
    """Call `on_open` once the feed has said which it is, then `tell` with each message, to its end.

    Returns whether it may be worth trying again: False where this router has no feed for this
    credential. Never raises for what goes wrong on the way; cancelled, the connection is closed.
    """
    try:
        with trio.fail_after(reach.timeout_s):
            stream = await _connect(reach.url)
    except (OSError, ssl.SSLError, trio.TooSlowError, trio.BrokenResourceError):
        return True
    try:
        return await _converse(stream, reach, on_open, tell)
    finally:
        await trio.aclose_forcefully(stream)


async def _connect(url: str) -> _Stream:
    parts = urlsplit(url)
    assert parts.hostname is not None, "the address was checked"
    stream = await trio.open_tcp_stream(
        parts.hostname, parts.port or _PORTS[parts.scheme], happy_eyeballs_delay=inf
    )
    if parts.scheme != "https":
        return stream
    secure = trio.SSLStream(stream, client_context(), server_hostname=parts.hostname)
    try:
        await secure.do_handshake()
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return secure


async def _converse(
    stream: _Stream, reach: Reach, on_open: Callable[[], None], tell: Callable[[Object], None]
) -> bool:
    """The library lets a peer's faults out of a task of its own: caught round the nursery."""
    is_worth_it = True
    try:
        async with trio.open_nursery() as nursery:
            with trio.fail_after(reach.timeout_s):
                socket = await _open(nursery, stream, reach)
                hello = await _next(socket)
            silence_s = _longest_silence_s(hello)
            is_worth_it = silence_s is not None
            if silence_s is not None:
                on_open()
                await _listen(socket, tell, silence_s)
            nursery.cancel_scope.cancel()
    except* ConnectionRejected as rejected:
        is_worth_it = not _statuses(rejected) & _REFUSED
    except* _ENDS:
        pass
    return is_worth_it


async def _open(nursery: trio.Nursery, stream: _Stream, reach: Reach) -> WebSocketConnection:
    return await wrap_client_stream(
        nursery,
        stream,
        urlsplit(reach.url).netloc,
        FEED_PATH,
        extra_headers=[(b"authorization", b"Bearer " + reach.token.encode())],
        message_queue_size=_WAITING_MESSAGES,
        max_message_size=_MAX_MESSAGE_BYTES,
    )


def _statuses(group: BaseExceptionGroup[ConnectionRejected]) -> set[int]:
    found = set[int]()
    for error in group.exceptions:
        found |= _statuses(error) if isinstance(error, BaseExceptionGroup) else {error.status_code}
    return found


def _longest_silence_s(hello: Object) -> float | None:
    """How long a feed that says it is ours may be silent; None for any other."""
    interval_s = hello.get("heartbeat_interval_s")
    if hello.get("schema") != _SCHEMA or not isinstance(interval_s, int | float):
        return None
    return _HEARTBEATS * float(interval_s) if 0 < interval_s <= _MAX_INTERVAL_S else None


async def _listen(
    socket: WebSocketConnection, tell: Callable[[Object], None], silence_s: float
) -> None:
    """A feed that is silent for so long, without a word that it still stands, is lost."""
    while True:
        with trio.fail_after(silence_s):
            message = await _next(socket)
        tell(message)


async def _next(socket: WebSocketConnection) -> Object:
    """The next message; an empty object for what is none."""
    text = await socket.get_message()
    return read_json_object(text if isinstance(text, bytes) else text.encode()) or {}
