"""ComfyUI's events over its WebSocket: told on as hints, and no more believed than that."""

import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

import trio
from trio_websocket import ConnectionClosed, HandshakeError, open_websocket

from anvil_trio.net.tls import client_context
from anvil_trio.operations.comfyui_words import read_event

__all__ = ["listen"]

_CONNECT_S = 10.0
_CLOSE_S = 1.0
_MAX_MESSAGE_BYTES = 16_777_216  # previews come as pictures
_PORTS = {"http": 80, "https": 443}


async def listen(url: str, client_id: str, news: Callable[[str], None]) -> None:
    """Tell `news` of every job that an event names, until the connection ends, however it does."""
    place = urlsplit(url)
    assert place.hostname is not None, "the configuration checked it"
    tls: ssl.SSLContext | bool = client_context() if place.scheme == "https" else False
    try:
        async with open_websocket(
            place.hostname,
            place.port or _PORTS[place.scheme],
            f"/ws?clientId={client_id}",
            use_ssl=tls,
            connect_timeout=_CONNECT_S,
            disconnect_timeout=_CLOSE_S,
            max_message_size=_MAX_MESSAGE_BYTES,
        ) as socket:
            while True:
                message = await socket.get_message()
                handle = read_event(message) if isinstance(message, str) else None
                if handle is not None:
                    news(handle)
    except (ConnectionClosed, HandshakeError, OSError, trio.BrokenResourceError, TimeoutError):
        return
