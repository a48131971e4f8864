"""Listening sockets with the options that accepted ones inherit, and room for many of them."""

import resource
import socket

__all__ = ["listen", "raise_fd_limit"]

_NOTSENT_LOWAT_BYTES = 16_384
_MANY_FILES = 262_144
_MACOS_OPEN_MAX = 10_240


def listen(
    host: str, port: int, *, backlog: int = 4096, user_timeout_s: float | None = None
) -> socket.socket:
    """A non-blocking listening TCP socket; port 0 takes a free one. Raises OSError.

    Where Linux offers it, a peer that acknowledges nothing for `user_timeout_s` is given up by the
    kernel, and little is kept unsent there, so that back-pressure is felt early.
    """
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _NOTSENT_LOWAT_BYTES)
        if user_timeout_s is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
            sock.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, max(1, int(user_timeout_s * 1000))
            )
        sock.bind(address)
        sock.listen(backlog)
        sock.setblocking(False)  # noqa: FBT003 - the library's signature
    except BaseException:
        sock.close()
        raise
    return sock


def raise_fd_limit() -> int:
    """Raise the soft limit of open files towards the hard one; the limit that then holds.

    Never lowers it and never fails: a system that refuses keeps what it had.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, _MANY_FILES)
    for wanted in (most, _MACOS_OPEN_MAX):
        if soft == resource.RLIM_INFINITY or wanted <= soft:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):  # macOS names a hard limit that it does not grant
            continue
        return wanted
    return soft
