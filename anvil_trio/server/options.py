"""What an operator decides about the server, and the bounds nobody has needed to change."""

import ssl
from dataclasses import dataclass

__all__ = ["ServerOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Bounds of every connection. Times in seconds, sizes in bytes.

    `tls` None serves plain HTTP. A client that sends no whole request head within
    `keep_alive_timeout_s`, or takes no byte within `stall_timeout_s`, loses its connection.
    """

    max_connections: int = 4096
    keep_alive_timeout_s: float = 75.0
    stall_timeout_s: float = 60.0
    shutdown_timeout_s: float = 900.0
    tls: ssl.SSLContext | None = None

    farewell_s: float = 1.0
    """After `shutdown_timeout_s`: what running exchanges have for their last words."""

    linger_s: float = 2.0
    """After our last byte: how long we read on, so that unread bytes do not reset our reply."""

    stopping_linger_s: float = 0.3
    """The same while the server stops."""

    spare_idle_s: float = 1.0
    """At `max_connections`, one that has been idle for longer than this makes room for another."""

    handshake_timeout_s: float = 10.0
    max_head_bytes: int = 65_536
    max_ahead_bytes: int = 65_536
    """What a client may send ahead while its reply is outstanding; nobody needs more."""

    max_waiting_bytes: int = 1_048_576
    """What may queue up behind a write that waits; a sender that goes on beyond it is cut off."""

    max_message_bytes: int = 1_048_576
    """What one message of a WebSocket client may have; it is closed with 1009 beyond."""

    max_streams: int = 256
    """HTTP/2 streams open at once on one connection."""
