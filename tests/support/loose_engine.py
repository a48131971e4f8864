"""An engine on loopback that is well as far as a probe sees, and answers chat as a test says."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import trio

__all__ = ["CHUNK", "STREAM_HEAD", "Answer", "LooseEngine", "chunk", "open_loose_engine"]

Answer = Callable[["LooseEngine", trio.SocketStream], Awaitable[None]]
"""Writes one reply to a chat request; what it does not end stays open."""

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
MODELS = b'{"object":"list","data":[{"id":"demo-model"}]}'


def chunk(data: bytes) -> bytes:
    """One chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _event(text: bytes) -> bytes:
    return (
        b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"demo-model",'
        b'"choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":null}]}\n\n' % text
    )


CHUNK = chunk(_event(b"begun"))
LARGE = chunk(_event(b"x" * 32_000))


@dataclass(eq=False)
class LooseEngine:
    """One engine; `url` says where, `sent` counts the bytes of each chat connection's replies."""

    answer: Answer
    url: str = ""
    asked: int = 0
    sent: Counter[int] = field(default_factory=Counter)

    async def serve(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve on a free loopback port until cancelled."""
        async with trio.open_nursery() as nursery:
            serve = partial(trio.serve_tcp, self._connection, 0, host="127.0.0.1")
            [listener] = await nursery.start(serve)
            self.url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
            task_status.started()

    async def _connection(self, stream: trio.SocketStream) -> None:
        data = b""
        try:
            while True:
                head, data = await _request(stream, data)
                if head.startswith(b"GET /v1/models"):
                    await _whole(stream, MODELS)
                elif head.startswith(b"GET "):
                    await _whole(stream, b"{}")
                else:
                    self.asked += 1
                    await self.answer(self, stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError, EOFError):
            pass

    async def flood(self, stream: trio.SocketStream) -> None:
        """Large events for as long as they are taken; each connection's bytes are counted."""
        number = id(stream)
        await stream.send_all(STREAM_HEAD)
        while True:
            await stream.send_all(LARGE)
            self.sent[number] += len(LARGE)


async def _request(stream: trio.SocketStream, data: bytes) -> tuple[bytes, bytes]:
    """The next request's head, and what came after its body."""
    while b"\r\n\r\n" not in data:
        data += await _some(stream)
    head, _, rest = data.partition(b"\r\n\r\n")
    body, length = bytearray(rest), _length(head)
    while len(body) < length:
        body += await _some(stream)
    return head, bytes(body[length:])


async def _some(stream: trio.SocketStream) -> bytes:
    data = await stream.receive_some(65_536)
    if not data:
        raise EOFError
    return bytes(data)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


async def _whole(stream: trio.SocketStream, body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    await stream.send_all(head % len(body) + body)


@asynccontextmanager
async def open_loose_engine(answer: Answer) -> AsyncIterator[LooseEngine]:
    """An engine that runs until the block is left."""
    engine = LooseEngine(answer)
    async with trio.open_nursery() as nursery:
        await nursery.start(engine.serve)
        yield engine
        nursery.cancel_scope.cancel()
