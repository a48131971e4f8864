"""The two directions of one connection: how plain bytes are read, held, queued and ended."""

import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf

import trio

from anvil_trio.net import sockets
from anvil_trio.net.arrivals import Arrivals, Listener
from anvil_trio.net.tls import Plain, Tls, Wire
from anvil_trio.net.write_queue import WriteQueue
from anvil_trio.server.flusher import Flusher
from anvil_trio.server.options import ServerOptions

__all__ = ["Channel"]

_READ_BYTES = 65_536
_READS_AT_ONCE = 4
_BURST_BYTES = 262_144


class Channel:
    """One accepted socket. `on_lost` is called in the step in which it is found to be of no use.

    `is_ending`: we have said our last; what waits is still sent, what comes is dropped. `is_dead`:
    the socket is closed. `reading` bounds the reader: the owner may cancel it, `finish` bounds it.
    """

    def __init__(
        self,
        sock: socket.socket,
        options: ServerOptions,
        *,
        flusher: Flusher,
        arrivals: Arrivals | None,
        spawn: Callable[[Callable[[], Awaitable[None]]], None],
        on_lost: Callable[[], None],
    ) -> None:
        self.is_ending = False
        self.is_dead = False
        self.reading = trio.CancelScope()
        self._sock = sock
        self._wire: Wire = Plain()
        if options.tls is not None:
            self._wire = Tls(options.tls, server_side=True)
        self._flusher = flusher
        self._spawn = spawn
        self._on_lost = on_lost
        self._handshake_timeout_s = options.handshake_timeout_s
        self._linger_s = options.linger_s
        self._queue = WriteQueue(
            sock,
            spawn=spawn,
            on_broken=self.reset,
            stall_timeout_s=options.stall_timeout_s,
            max_waiting_bytes=options.max_waiting_bytes,
        )
        self._listener: Listener | None = None
        if arrivals is not None and not self._wire.secure:
            self._listener = Listener(arrivals, sock, _READ_BYTES)
        self._hear: Callable[[bytes], bool] | None = None  # of whoever reads by the listener
        self._is_over = False  # nothing more is read
        self._is_open = False  # the handshake is over
        self._early = b""  # came with the handshake
        self._held: list[bytes] = []
        self._is_gathering = False
        self._burst_bytes = 0  # written since a writer waited

    @property
    def is_secure(self) -> bool:
        """Whether the client speaks TLS."""
        return self._wire.secure

    @property
    def alpn(self) -> str | None:
        """The protocol agreed on in the handshake."""
        return self._wire.alpn

    # reading

    async def handshake(self) -> None:
        """Agree on TLS. Raises OSError (also ssl.SSLError) or trio.TooSlowError."""
        if self._wire.secure:
            with trio.fail_after(self._handshake_timeout_s):
                await self._wire.handshake(self._receive, self._send_directly)
            self._early = self._wire.decode(b"") or b""
        self._is_open = True

    async def read_each(self, hear: Callable[[bytes], bool]) -> bool:
        """Give `hear` the client's bytes as they come, until it has heard enough.

        It may be called by another task and must not wait; what it raises is raised. False: the
        client has left, or nobody wants its bytes any more. Cancelled, no byte was taken that it
        was not given.
        """
        if self._listener is None:
            return await self._read_each(hear)
        self._hear = hear
        try:
            await self._listener.each(self._heard)
        except (OSError, trio.ClosedResourceError):
            return False
        finally:
            self._hear = None
        return not self._is_over

    async def _read_each(self, hear: Callable[[bytes], bool]) -> bool:
        """The same in this task, for TLS: one piece of it may be many records, or none."""
        while data := await self._read():
            if hear(data):
                return True
            del data  # or a long reply would keep its request
        return False

    async def _read(self) -> bytes:
        data: bytes | None = self._early
        self._early = b""
        while data == b"":
            try:
                data = await sockets.receive_some(self._sock, _READ_BYTES)
                if len(data) == _READ_BYTES:
                    data = self._with_more(data)
                if not data:
                    return b""
                if self._wire.secure:
                    data = self._wire.decode(data)
            except (OSError, trio.ClosedResourceError):
                return b""
        return b"" if data is None or self.is_ending else data

    def _heard(self, data: bytes) -> bool:
        if len(data) == _READ_BYTES:
            data = self._with_more(data)
        if not data or self.is_ending:
            self._is_over = True
            return True
        assert self._hear is not None, "heard while nobody reads"
        return self._hear(data)

    async def linger(self) -> None:
        """Read on, dropping everything, until the client leaves; `reading` bounds it.

        Bytes that nobody has read when we close would reset the connection, and the client might
        lose the reply that it has not read yet.
        """
        with suppress(OSError, trio.ClosedResourceError):
            while await self._receive():
                pass

    async def _receive(self) -> bytes:
        return await sockets.receive_some(self._sock, _READ_BYTES)

    def _with_more(self, first: bytes) -> bytes:
        """What came with a read that was full: a large body is best met as a whole."""
        parts = [first]
        with suppress(BlockingIOError):
            while len(parts[-1]) == _READ_BYTES and len(parts) < _READS_AT_ONCE:
                parts.append(self._sock.recv(_READ_BYTES))
        return b"".join(parts)

    async def _send_directly(self, data: bytes) -> None:
        await sockets.send_all(self._sock, data)

    # writing

    @property
    def is_flushed(self) -> bool:
        """Whether the kernel has all that was sent and not held."""
        return self._queue.is_empty

    def gather(self) -> None:
        """Hold what is sent from now on, until `flush`, so that it leaves in one write."""
        self._is_gathering = True

    def flush_soon(self) -> None:
        """Have `flush` called in the next scheduler step, unless it is called before."""
        self._flusher.flush_soon(self)

    def flush(self) -> bool:
        """Send what is held, and hold no more. Whether there is nothing left to send."""
        self._is_gathering = False
        if self._held:
            held, self._held = self._held, []
            self.send(b"".join(held))
        return self._queue.is_empty

    def send(self, data: bytes) -> bool:
        """Hand over `data`, to be sent after all that came before it. Never waits.

        Whether there is nothing left to send. To a client that has left, or after `finish`, it
        sends nothing, silently.
        """
        if not data or self.is_dead or self.is_ending:
            return True
        if self._is_gathering:
            self._held.append(data)
            return False
        self._burst_bytes += len(data)
        try:
            return self._queue.write(self._wire.encode(data) if self._wire.secure else data)
        except OSError:  # ssl.SSLError: an earlier failure made TLS unusable
            self.reset()
            return True

    async def drained(self) -> None:
        """Wait until the kernel has what was sent, or the client is known to be gone.

        Where there is nothing to wait for it still is a checkpoint now and then, and always once
        nothing more is sent: a loop of sends must not starve everybody else.
        """
        if not self._queue.is_empty:
            self._burst_bytes = 0
            await self._queue.drained()
        elif self.is_dead or self.is_ending or self._burst_bytes > _BURST_BYTES:
            self._burst_bytes = 0
            await trio.lowlevel.checkpoint()

    # ending

    def finish(self) -> None:
        """No more from us: send what waits, then FIN, then `linger` for a while. Idempotent."""
        if not self._is_open:
            self.close()
        if self.is_ending or self.is_dead:
            return
        self.flush()
        if farewell := self._wire.farewell():
            self._queue.write(farewell)
        self.is_ending = True
        self.reading.deadline = inf
        if self._queue.is_empty:
            self._shut_down()
        else:
            self._spawn(self._shut_down_when_drained)

    async def _shut_down_when_drained(self) -> None:
        await self._queue.drained()
        self._shut_down()

    def _shut_down(self) -> None:
        self.reading.deadline = trio.current_time() + self._linger_s
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:  # the client was faster
            self.close()

    def linger_at_most(self, linger_s: float) -> None:
        """From now on do not wait longer than this for the client's end."""
        self._linger_s = linger_s
        if self.is_ending and self._queue.is_empty:
            latest = trio.current_time() + linger_s
            self.reading.deadline = min(self.reading.deadline, latest)

    def close(self) -> None:
        """Close now. If bytes still wait the client is told by a reset. Idempotent."""
        if not self._queue.is_empty:
            self.reset()
        else:
            self._end(sockets.close)

    def reset(self) -> None:
        """Close now by a reset, whatever still waits. Idempotent."""
        self._end(sockets.reset)

    def _end(self, close: Callable[[socket.socket], None]) -> None:
        if not self.is_dead:
            self.is_dead = True
            self._held.clear()
            self._queue.discard()
            if self._listener is not None:
                self._listener.close()
            close(self._sock)
            self._on_lost()
