"""A connection in memory that holds as much as a kernel would."""

from collections.abc import Callable
from typing import Any

import trio

__all__ = ["FakeStream", "Pipe"]

_ROOM_BYTES = 65_536


class Pipe:
    """What is on its way in one direction; a writer waits while there is more than some."""

    def __init__(self) -> None:
        self.waiting = 0
        self.is_cut = False
        self._taken = trio.Event()

    async def put(self, count: int) -> None:
        self.waiting += count
        while self.waiting > _ROOM_BYTES and not self.is_cut:
            await self._taken.wait()

    def take(self, count: int) -> None:
        self.waiting -= count
        self._taken.set()
        self._taken = trio.Event()

    def cut(self) -> None:
        self.is_cut = True
        self.take(0)


class FakeStream(trio.abc.Stream):
    """One end of a connection in memory, which holds as much as a kernel would.

    `on_close` is called once, in the step of its end.
    """

    def __init__(
        self,
        stream: trio.StapledStream[Any, Any],
        out: Pipe,
        into: Pipe,
        on_close: Callable[[], None],
    ) -> None:
        self._stream, self._on_close = stream, on_close
        self._out, self._into = out, into
        self._is_closed = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stream.send_all(bytes(data))
        await self._out.put(len(data))

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        data = bytes(await self._stream.receive_some(max_bytes))
        self._into.take(len(data))
        return data

    async def aclose(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._out.cut()
            self._into.cut()
            self._on_close()
        await trio.aclose_forcefully(self._stream)
