"""The heads of HTTP/2 frames, before anything is kept or made of them."""

from enum import Enum

__all__ = ["MOST_CONTROL_FRAMES", "WINDOW_S", "FrameGuard", "Verdict"]

_PREFACE_BYTES = 24
_HEAD_BYTES = 9
_LENGTH_BYTES = 3
_TYPE_AT, _FLAGS_AT = 3, 4

_DATA, _END_STREAM = 0, 1
_CONTROL = frozenset({2, 3, 4, 6})
"""PRIORITY, RST_STREAM, SETTINGS, PING. WINDOW_UPDATE is not among them: it is the client's share
of every reply, one for each part of it if the client likes."""

MOST_CONTROL_FRAMES = 3000
WINDOW_S = 10.0
"""No client needs so many in so long; each costs us an answer, or a request begun in vain."""


class Verdict(Enum):
    """What is to be done with the bytes that came."""

    GOOD = "good"
    TOO_LONG = "too_long"  # a frame claims more bytes than a frame may have
    TOO_MANY = "too_many"  # a storm of frames that ask for nothing


class FrameGuard:
    """Walks over the bytes of one client, from its preface on, and looks at each frame's head.

    The h2 library judges a frame's length only once it has all of it, up to 16 MiB, and answers as
    many frames as come: a client that sends PINGs, SETTINGS or requests that it resets at once
    makes all others wait. So frames that carry nothing are counted, empty DATA among them, and
    more than `MOST_CONTROL_FRAMES` in `WINDOW_S` are too many.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._skip = _PREFACE_BYTES
        self._head = b""
        self._count, self._counted_from = 0, 0.0

    def judge(self, data: bytes, now: float) -> Verdict:
        """Take note of the next bytes, which came at `now`; the first fault in them decides."""
        if now >= self._counted_from + WINDOW_S:
            self._count, self._counted_from = 0, now
        at = 0
        while at < len(data):
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip -= step
            else:
                step = _HEAD_BYTES - len(self._head)
                self._head += data[at : at + step]
                verdict = self._judge_head()
                if verdict is not Verdict.GOOD:
                    return verdict
            at += step
        return Verdict.GOOD

    def _judge_head(self) -> Verdict:
        if len(self._head) < _HEAD_BYTES:
            return Verdict.GOOD
        head, self._head = self._head, b""
        self._skip = int.from_bytes(head[:_LENGTH_BYTES])
        if self._skip > self._max_frame_bytes:
            return Verdict.TOO_LONG
        self._count += _carries_nothing(head[_TYPE_AT], head[_FLAGS_AT], self._skip)
        return Verdict.TOO_MANY if self._count > MOST_CONTROL_FRAMES else Verdict.GOOD


def _carries_nothing(kind: int, flags: int, length: int) -> bool:
    if kind == _DATA:
        return not length and not flags & _END_STREAM
    return kind in _CONTROL
