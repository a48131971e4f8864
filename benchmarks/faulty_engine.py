"""An engine that answers well, slowly, wrongly or not at all, and whose health comes and goes."""

import json
import random
from collections import Counter
from dataclasses import dataclass, field

import trio

__all__ = ["FaultyEngine"]

CHUNK = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"soak",'
    b'"choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":null}]}\n\n'
)
STOP = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"soak",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
REPLY = (
    b'{"id":"c","object":"chat.completion","created":1,"model":"soak","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"soaked"},"finish_reason":"stop"}]}'
)
FAULTS = (
    "error",
    "cut",
    "reset",
    "malformed",
    "silent",
    "stall",
    "garbage",
    "flood",
    "early error",
)


class _Reset(Exception):  # noqa: N818 - an end, no error
    """End this connection by a reset."""


@dataclass
class FaultyEngine:
    """Serves until cancelled; `faults` counts what it did wrong, on purpose."""

    rng: random.Random
    fault_share: float = 0.25
    is_healthy: bool = True
    is_only_failing: bool = False  # every answer breaks off; its health no longer flaps
    faults: Counter[str] = field(default_factory=Counter)

    async def serve(self, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve on a free loopback port; started with it. Its health flaps."""
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(trio.serve_tcp, self._connection, 0)
            task_status.started(listeners[0].socket.getsockname()[1])
            while True:
                await trio.sleep(self.rng.uniform(1, 4))
                self.is_healthy = self.is_only_failing or self.rng.random() < 0.8

    async def _connection(self, stream: trio.SocketStream) -> None:
        data = b""
        try:
            while True:
                while b"\r\n\r\n" not in data:
                    more = await stream.receive_some(65_536)
                    if not more:
                        return
                    data += more
                head, _, data = data.partition(b"\r\n\r\n")
                length = _length(head)
                while len(data) < length:
                    more = await stream.receive_some(65_536)
                    if not more:
                        return
                    data += more
                body, data = data[:length], data[length:]
                await self._answer(stream, head, body)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        except _Reset:
            linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
            stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, linger)
        finally:
            with trio.move_on_after(1, shield=True):
                await stream.aclose()

    async def _answer(self, stream: trio.SocketStream, head: bytes, body: bytes) -> None:
        path = head.split(b" ", 2)[1]
        if path == b"/health":
            await _whole(stream, 200 if self.is_healthy else 503, b"{}")
        elif path == b"/v1/models":
            await _whole(stream, 200, b'{"object":"list","data":[{"id":"soak"}]}')
        elif self.is_only_failing:
            self.faults["in a row"] += 1
            await stream.send_all(_HEAD + _chunk(CHUNK % b"begun"))
            raise _Reset
        elif self.rng.random() < self.fault_share:
            fault = self.rng.choice(FAULTS)
            self.faults[fault] += 1
            await self._fail(stream, fault)
        elif json.loads(body).get("stream"):
            await self._stream(stream)
        else:
            await trio.sleep(self.rng.uniform(0, 0.2))
            await _whole(stream, 200, REPLY)

    async def _stream(self, stream: trio.SocketStream) -> None:
        await stream.send_all(_HEAD)
        for number in range(self.rng.randint(1, 40)):
            await stream.send_all(_chunk(CHUNK % str(number).encode()))
            await trio.sleep(self.rng.choice((0, 0, 0.01, 0.05)))
        await stream.send_all(_chunk(STOP) + b"0\r\n\r\n")

    async def _fail(self, stream: trio.SocketStream, fault: str) -> None:
        match fault:
            case "error":
                await _whole(stream, self.rng.choice((400, 401, 404, 429, 500, 503)), b"<html>no")
            case "early error":
                await stream.send_all(_HEAD + _chunk(b'data: {"error":{"code":500}}\n\n'))
                raise _Reset
            case "silent":
                await trio.sleep(self.rng.uniform(0, 6))
                raise _Reset
            case "garbage":
                await stream.send_all(bytes(self.rng.randrange(256) for _ in range(300)))
                raise _Reset
            case "flood":
                await stream.send_all(_HEAD + _chunk(b"data: " + b"x" * 200_000))
                raise _Reset
        await stream.send_all(_HEAD + _chunk(CHUNK % b"begun"))
        if fault == "malformed":
            await stream.send_all(_chunk(b"data: {oops\n\n"))
        elif fault == "stall":
            await trio.sleep(self.rng.uniform(0, 6))
        if fault == "cut":
            await stream.send_eof()
        raise _Reset


_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _whole(stream: trio.SocketStream, status: int, body: bytes) -> None:
    head = b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    await stream.send_all(head % (status, len(body)) + body)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0
