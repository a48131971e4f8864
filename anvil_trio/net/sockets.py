"""The few steps on non-blocking sockets that server and upstream share.

Between waiting and taking there is no await: a cancelled read has taken nothing.
"""

import contextlib
import socket
import struct

import trio

__all__ = ["close", "receive_some", "reset", "send_all"]

_RESET = struct.pack("ii", 1, 0)


async def receive_some(sock: socket.socket, max_bytes: int) -> bytes:
    """The next bytes, b"" at the end. Cancelled, nothing was taken.

    Raises OSError, and trio.ClosedResourceError where another task closed the socket.
    """
    descriptor = sock.fileno()
    if descriptor < 0:  # trio would take -1 for a descriptor, and keep this task under it
        raise trio.ClosedResourceError
    while True:
        await trio.lowlevel.wait_readable(descriptor)
        try:
            return sock.recv(max_bytes)
        except BlockingIOError:  # a false alarm, or another reader was faster
            continue


async def send_all(sock: socket.socket, data: bytes) -> None:
    """Every byte handed to the kernel. Cancelled, an unknown part of them was: close the socket."""
    view = memoryview(data)
    while view:
        try:
            view = view[sock.send(view) :]
        except BlockingIOError:
            await trio.lowlevel.wait_writable(sock)


def close(sock: socket.socket) -> None:
    """Close, waking whoever waits for it; idempotent."""
    if sock.fileno() >= 0:
        trio.lowlevel.notify_closing(sock)
        sock.close()


def reset(sock: socket.socket) -> None:
    """Close so that the peer knows it was cut off: what is unsent is dropped; idempotent."""
    if sock.fileno() >= 0:
        with contextlib.suppress(OSError):  # the peer was faster (macOS says EINVAL)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        close(sock)
