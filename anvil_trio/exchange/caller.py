"""The caller's side of one exchange, as the exchange sees it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from anvil_trio.errors import Problem

__all__ = ["Caller", "Header", "Watched"]

Header = tuple[bytes, bytes]


class Watched(Protocol):
    """What every exchange knows of who asked, whatever passes between them."""

    @property
    def bytes_sent(self) -> int:
        """How many body bytes, or bytes of messages, have been handed over."""
        ...

    def watch_for_leaving(self, leave: Callable[[], None]) -> None:
        """Call `leave` once, in the step in which the caller is known to be gone; maybe now."""
        ...


class Caller(Watched, Protocol):
    """Who asked. `web` implements it over ASGI; tests implement it over memory.

    `start`, `send` and `end` hand their bytes over before they wait: one that is cancelled has
    been taken whole, in order, and is never written again.
    """

    @property
    def has_started(self) -> bool:
        """Whether the status line has been handed over: from then on no status can change."""
        ...

    @property
    def is_drained(self) -> bool:
        """Whether what was said without waiting has been written: nothing is left to wait for."""
        ...

    @property
    def has_body(self) -> bool:
        """Whether `read_body` will wait for nothing."""
        ...

    async def read_body(self, max_bytes: int, *, stall_s: float, total_s: float) -> bytes | Problem:
        """The whole body; a 413 past `max_bytes`, a 408 after `stall_s` of silence or `total_s`."""
        ...

    def say(self, status: int, headers: Sequence[Header], data: bytes) -> bool:
        """Hand over a whole reply without waiting; False: not here, and nothing was handed over."""
        ...

    def say_first(self, status: int, headers: Sequence[Header], data: bytes) -> bool:
        """Hand over the head and body bytes, likewise."""
        ...

    def say_more(self, data: bytes) -> bool:
        """Hand over body bytes, likewise; only after a `send` or `start` that has ended."""
        ...

    def say_last(self, data: bytes) -> bool:
        """Hand over the last bytes, likewise."""
        ...

    async def start(self, status: int, headers: Sequence[Header]) -> None:
        """Hand over the head."""
        ...

    async def send(self, data: bytes) -> None:
        """Hand over body bytes; waits while too many wait to be written."""
        ...

    async def end(self, data: bytes = b"") -> None:
        """Hand over the last bytes."""
        ...

    async def drained(self) -> None:
        """Wait until what was handed over has been written, or nearly."""
        ...
