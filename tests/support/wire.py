"""Real clients on loopback, down to the byte, and a server to point them at."""

import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType

import h2.config
import h2.connection
import h2.events
import trio

from anvil_trio.server.accept import Server
from anvil_trio.server.listen import listen
from anvil_trio.server.options import ServerOptions
from tests.support.wire_apps import Handler, asgi

__all__ = ["Child", "H2Client", "RawClient", "Served", "child_process", "post", "serving", "until"]

PATIENCE_S = 10.0
"""How long anything may take on a busy machine before a test calls it broken."""


async def until(is_so: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Poll until something outside this program's control has come about."""
    with trio.fail_after(within_s):
        while not is_so():
            await trio.sleep(0.005)


def post(path: bytes = b"/", body: bytes = b"x", *headers: bytes) -> bytes:
    """A whole HTTP/1.1 request."""
    lines = [b"POST %s HTTP/1.1" % path, b"host: a", b"content-length: %d" % len(body), *headers]
    return b"\r\n".join([*lines, b"", body])


class RawClient:
    """One TCP or TLS connection that a test drives by hand."""

    def __init__(self, stream: trio.SocketStream | trio.SSLStream[trio.SocketStream]) -> None:
        self.stream = stream
        raw = stream if isinstance(stream, trio.SocketStream) else stream.transport_stream
        self.socket = raw.socket

    @classmethod
    async def connect(
        cls,
        port: int,
        *,
        host: str = "127.0.0.1",
        rcvbuf: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> "RawClient":
        """Connect; a small `rcvbuf` makes a client that soon takes no more."""
        sock = trio.socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if rcvbuf is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        try:
            await sock.connect((host, port))
            stream = trio.SocketStream(sock)
            if tls is None:
                return cls(stream)
            secure = trio.SSLStream(stream, tls, server_hostname="localhost", https_compatible=True)
            await secure.do_handshake()
        except BaseException:
            sock.close()
            raise
        return cls(secure)

    async def __aenter__(self) -> "RawClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    async def send(self, data: bytes) -> None:
        """Send all of it; a server that has gone is no error here."""
        with suppress(trio.BrokenResourceError):
            await self.stream.send_all(data)

    async def read_some(self) -> bytes:
        """What comes next; b"" at the end, orderly or not."""
        with trio.fail_after(PATIENCE_S):
            try:
                return bytes(await self.stream.receive_some(65536))
            except trio.BrokenResourceError:
                return b""

    async def read_until(self, marker: bytes) -> bytes:
        """Everything up to and with `marker`, which must come."""
        data = b""
        while marker not in data:
            part = await self.read_some()
            assert part, data[-200:]
            data += part
        return data

    async def read_reply(self) -> bytes:
        """One reply with a length: head and body."""
        data = await self.read_until(b"\r\n\r\n")
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(body) < length:
            body += await self.read_some()
        return head + b"\r\n\r\n" + body

    async def read_to_end(self) -> tuple[bytes, str]:
        """All that comes, and how it ended: FIN or RST."""
        data = b""
        with trio.fail_after(PATIENCE_S):
            while True:
                try:
                    part = await self.stream.receive_some(65536)
                except trio.BrokenResourceError:
                    return data, "RST"
                if not part:
                    return data, "FIN"
                data += part

    def leave(self) -> None:
        """Close: FIN, or RST if something was not read."""
        self.socket.close()

    def reset(self) -> None:
        """Leave by a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


class H2Client:
    """One HTTP/2 connection that a test drives by hand."""

    def __init__(self, raw: RawClient, *, hostile: bool = False) -> None:
        self.raw = raw
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(
                client_side=True, header_encoding=None, validate_outbound_headers=not hostile
            )
        )
        self.events: list[h2.events.Event] = []
        self.is_closed = False
        self.acknowledges = True

    async def start(self) -> "H2Client":
        """Send the preface."""
        self.h2.initiate_connection()
        await self.flush()
        return self

    async def flush(self) -> None:
        """Send what h2 wants sent."""
        await self.raw.send(self.h2.data_to_send())

    async def ask(
        self, path: bytes = b"/", body: bytes | None = b"x", *, stays_open: bool = False
    ) -> int:
        """Begin one request; the id of its stream. `stays_open`: more body may follow."""
        stream_id = self.h2.get_next_available_stream_id()
        head = [
            (b":method", b"POST"),
            (b":path", path),
            (b":authority", b"a"),
            (b":scheme", b"http"),
        ]
        self.h2.send_headers(stream_id, head, end_stream=body is None and not stays_open)
        if body is not None:
            self.h2.send_data(stream_id, body, end_stream=not stays_open)
        await self.flush()
        return stream_id

    async def read(self) -> None:
        """Take in what comes next."""
        data = await self.raw.read_some()
        if data:
            await self.take(data)
        else:
            self.is_closed = True

    async def take(self, data: bytes) -> None:
        """Take in `data`, and answer what HTTP/2 wants answered."""
        for event in self.h2.receive_data(data):
            self.events.append(event)
            if isinstance(event, h2.events.DataReceived) and self.acknowledges:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        await self.flush()

    async def read_until(self, is_so: Callable[[], object]) -> None:
        """Read until something is so; it must come before the end."""
        while not is_so():
            assert not self.is_closed, self.events
            await self.read()

    def saw(self, kind: type[h2.events.Event], stream_id: int | None = None) -> bool:
        """Whether such an event has come."""
        return any(
            isinstance(event, kind)
            and (stream_id is None or getattr(event, "stream_id", None) == stream_id)
            for event in self.events
        )

    def body(self, stream_id: int) -> bytes:
        """The body of one reply, so far."""
        return b"".join(
            event.data
            for event in self.events
            if isinstance(event, h2.events.DataReceived) and event.stream_id == stream_id
        )

    def headers(self, stream_id: int) -> dict[bytes, bytes]:
        """The head of one reply."""
        for event in self.events:
            if isinstance(event, h2.events.ResponseReceived) and event.stream_id == stream_id:
                return dict(event.headers)
        raise AssertionError(self.events)

    async def reply(self, stream_id: int) -> bytes:
        """The body of one reply, once it is complete."""
        await self.read_until(lambda: self.saw(h2.events.StreamEnded, stream_id))
        return self.body(stream_id)


@dataclass(frozen=True, slots=True)
class Served:
    """A running server and how to reach it."""

    server: Server
    port: int
    listener: socket.socket
    stopped: trio.Event

    def is_refusing(self) -> bool:
        """Whether new connections are refused."""
        return self.listener.fileno() < 0

    async def connect(
        self, *, rcvbuf: int | None = None, tls: ssl.SSLContext | None = None
    ) -> RawClient:
        """One more client."""
        return await RawClient.connect(self.port, rcvbuf=rcvbuf, tls=tls)


@asynccontextmanager
async def serving(
    handler: Handler,
    *,
    on_stopping: Callable[[], None] = lambda: None,
    on_deadline: Callable[[], None] = lambda: None,
    **options: object,
) -> AsyncIterator[Served]:
    """`Server.run` on a free port of loopback; it ends, at once, with the block."""
    listener = listen("127.0.0.1", 0)
    server = Server(
        asgi(handler),
        ServerOptions(**options),  # type: ignore[arg-type]
        [listener],
        on_stopping=on_stopping,
        on_deadline=on_deadline,
    )
    stopped = trio.Event()

    async def run(started: trio.Event) -> None:
        async with trio.open_nursery() as inner:
            await inner.start(server.run)
            started.set()
        stopped.set()

    port, started = listener.getsockname()[1], trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, started)
        await started.wait()
        yield Served(server, port, listener, stopped)
        nursery.cancel_scope.cancel()


class Child:
    """A program of `tests.support.wire_apps`: its port, and all that it has said."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.output = b""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.output.partition(b"\n")[0])

    async def listen_to(self) -> None:
        """Keep what it says, until it ends."""
        assert self.process.stdout is not None
        async with self.process.stdout as output:
            async for data in output:
                self.output += data

    async def wait(self) -> int:
        """Its exit status; it must end by itself."""
        with trio.fail_after(PATIENCE_S):
            return await self.process.wait()


@asynccontextmanager
async def child_process(*arguments: str) -> AsyncIterator[Child]:
    """`tests.support.wire_apps` in a process of its own, ended with the block."""
    process = await trio.lowlevel.open_process(
        [sys.executable, "-m", "tests.support.wire_apps", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    child = Child(process)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child.listen_to)
            await until(lambda: b"\n" in child.output)
            yield child
            nursery.cancel_scope.cancel()
    finally:
        if process.poll() is None:
            process.kill()
