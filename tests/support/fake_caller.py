"""A caller in memory: gives a body, keeps what it is sent, may be slow and may leave."""

from collections.abc import Callable, Sequence

import trio

from anvil_trio.errors import Problem
from anvil_trio.exchange.caller import Header


class FakeCaller:
    """What a client looks like to an exchange. Bytes are taken before any wait, as over ASGI."""

    def __init__(
        self, body: bytes = b"", *, body_delay_s: float = 0.0, is_direct: bool = True
    ) -> None:
        self.is_direct = is_direct  # its server takes whole replies without waiting
        self._body, self._body_delay_s = body, body_delay_s
        self._leave: Callable[[], None] | None = None
        self._room = trio.Event()
        self._room.set()
        self.has_started = False
        self.left_at: float | None = None
        self.taken_while_paused = 0
        self.bytes_sent = 0
        self.status: int | None = None
        self.headers: dict[bytes, bytes] = {}
        self.chunks: list[bytes] = []
        self.chunk_times: list[float] = []
        self.has_ended = False
        self.on_chunk: Callable[[bytes], None] | None = None

    @property
    def received(self) -> bytes:
        """All body bytes so far."""
        return b"".join(self.chunks)

    @property
    def has_left(self) -> bool:
        """Whether it went away."""
        return self.left_at is not None

    def leave(self) -> None:
        """Go away: what the server would tell the exchange in the same step."""
        self.left_at = trio.current_time()
        self._room.set()
        if self._leave is not None:
            self._leave()

    def stop_reading(self) -> None:
        """From now on a write waits; to a caller that has left none ever does."""
        if not self.has_left and self._room.is_set():
            self._room = trio.Event()

    def read_on(self) -> None:
        """Writes go through again."""
        self._room.set()

    def watch_for_leaving(self, leave: Callable[[], None]) -> None:
        self._leave = leave
        if self.has_left:
            leave()

    @property
    def has_body(self) -> bool:
        return not self._body_delay_s

    async def read_body(self, max_bytes: int, *, stall_s: float, total_s: float) -> bytes | Problem:
        if self._body_delay_s:
            await trio.sleep(self._body_delay_s)
        else:
            await trio.lowlevel.checkpoint()
        return self._body

    @property
    def is_drained(self) -> bool:
        return self._room.is_set()

    def say(self, status: int, headers: Sequence[Header], data: bytes) -> bool:
        if not self.is_direct:
            return False
        self._begin(status, headers)
        if data:
            self._take(data)
        self.has_ended = True
        return True

    def say_first(self, status: int, headers: Sequence[Header], data: bytes) -> bool:
        if self.is_direct:
            self._begin(status, headers)
            self._take(data)
        return self.is_direct

    def say_more(self, data: bytes) -> bool:
        if self.is_direct:
            self._take(data)
        return self.is_direct

    def say_last(self, data: bytes) -> bool:
        if self.is_direct:
            if data:
                self._take(data)
            self.has_ended = True
        return self.is_direct

    async def start(self, status: int, headers: Sequence[Header]) -> None:
        self._begin(status, headers)
        await self.drained()

    async def send(self, data: bytes) -> None:
        self._take(data)
        await self.drained()

    async def end(self, data: bytes = b"") -> None:
        if data:
            self._take(data)
        self.has_ended = True
        await self.drained()

    async def drained(self) -> None:
        await self._room.wait()

    def _begin(self, status: int, headers: Sequence[Header]) -> None:
        assert not self.has_started, "a reply has one head"
        self.has_started, self.status, self.headers = True, status, dict(headers)

    def _take(self, data: bytes) -> None:
        assert self.has_started, "body bytes before the head"
        assert not self.has_ended, "body bytes after the end"
        self.taken_while_paused += not self._room.is_set()
        self.bytes_sent += len(data)
        self.chunks.append(data)
        self.chunk_times.append(trio.current_time())
        if self.on_chunk is not None:
            self.on_chunk(data)
