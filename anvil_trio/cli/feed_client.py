"""How `router top` follows the live feed: one WebSocket, to its end, within bounds.

The address is literal, so nothing is resolved; no proxy and no setting of the environment is used.
"""

import ssl
from collections.abc import Callable, Mapping
from math import inf
from urllib.parse import urlsplit

import trio
from pydantic import JsonValue
from trio_websocket import (
    ConnectionClosed,
    ConnectionRejected,
    HandshakeError,
    WebSocketConnection,
    wrap_client_stream,
)

from anvil_trio.cli.reach import Reach
from anvil_trio.config.json_object import read_json_object
from anvil_trio.net.tls import client_context

__all__ = ["FEED_PATH", "SILENCE_S", "follow_feed"]

FEED_PATH = "/v1/router/events"
SILENCE_S = 90.0
"""A feed that says nothing for so long, not even that it still stands, is taken for lost."""

_SCHEMA = "anvil-router-events/v1"
_MAX_MESSAGE_BYTES = 65_536
_WAITING_MESSAGES = 100
_PORTS = {"http": 80, "https": 443}
_REFUSED = frozenset({401, 403, 404, 426})

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
    is_worth_it = True
    async with trio.open_nursery() as nursery:
        try:
            with trio.fail_after(reach.timeout_s):
                socket = await wrap_client_stream(
                    nursery,
                    stream,
                    urlsplit(reach.url).netloc,
                    FEED_PATH,
                    extra_headers=[(b"authorization", b"Bearer " + reach.token.encode())],
                    message_queue_size=_WAITING_MESSAGES,
                    max_message_size=_MAX_MESSAGE_BYTES,
                )
                hello = await _next(socket)
            is_worth_it = hello.get("schema") == _SCHEMA
            if is_worth_it:
                on_open()
                await _listen(socket, tell)
        except ConnectionRejected as rejected:
            is_worth_it = rejected.status_code not in _REFUSED
        except (HandshakeError, ConnectionClosed, trio.TooSlowError):
            pass
        nursery.cancel_scope.cancel()
    return is_worth_it


async def _listen(socket: WebSocketConnection, tell: Callable[[Object], None]) -> None:
    while True:
        with trio.fail_after(SILENCE_S):
            message = await _next(socket)
        tell(message)


async def _next(socket: WebSocketConnection) -> Object:
    """The next message; an empty object for what is none."""
    text = await socket.get_message()
    return read_json_object(text if isinstance(text, bytes) else text.encode()) or {}
