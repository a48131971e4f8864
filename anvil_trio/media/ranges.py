"""Which bytes of an artifact a reply holds: all, one range, or none. Pure.

One range of the form `bytes=first-[last]` is understood and nothing else (no suffix, no list, no
other unit); whoever asks otherwise is told so and not sent what was not asked for.
"""

import re
from dataclasses import dataclass

__all__ = ["MAX_RANGE_BYTES", "Span", "Unsatisfied", "read_span"]

MAX_RANGE_BYTES = 16 * 1024 * 1024
"""How much one reply holds at the most."""

_RANGE = re.compile(r"bytes=([0-9]{1,18})-([0-9]{0,18})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """`length` bytes from `start` of `size`; the whole of it if nothing was asked for."""

    start: int
    length: int
    size: int
    is_whole: bool = False

    @property
    def content_range(self) -> str:
        """What `Content-Range` says of it."""
        return f"bytes {self.start}-{self.start + self.length - 1}/{self.size}"


@dataclass(frozen=True, slots=True)
class Unsatisfied:
    """There are no bytes for this question. `is_too_large` if none was asked for."""

    size: int
    is_too_large: bool = False

    @property
    def content_range(self) -> str:
        """What `Content-Range` says of it."""
        return f"bytes */{self.size}"


def read_span(asked: str | None, size: int) -> Span | Unsatisfied:
    """The bytes that a `Range` header asks for of `size`; None asks for all.

    A range that goes past the end is cut there, and one that is longer than `MAX_RANGE_BYTES`
    after that many: the reply says what it holds. All of something larger cannot be had at once.
    """
    if asked is None:
        if size > MAX_RANGE_BYTES:
            return Unsatisfied(size, is_too_large=True)
        return Span(0, size, size, is_whole=True)
    found = _RANGE.fullmatch(asked.strip())
    if found is None:
        return Unsatisfied(size)
    start, last = int(found[1]), int(found[2]) if found[2] else size - 1
    if start >= size or last < start:
        return Unsatisfied(size)
    return Span(start, min(last - start + 1, size - start, MAX_RANGE_BYTES), size)
