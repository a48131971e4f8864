"""The lengths of HTTP/2 frames, before anything is kept of them."""

__all__ = ["FrameGuard"]

_PREFACE_BYTES = 24
_HEAD_BYTES = 9
_LENGTH_BYTES = 3


class FrameGuard:
    """Walks over the bytes of one client, from its preface on, and knows each frame's length.

    The h2 library judges a frame's length only once it has all of it, up to 16 MiB.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._skip = _PREFACE_BYTES
        self._head = b""

    def accepts(self, data: bytes) -> bool:
        """Take note of the next bytes; False: a frame in them claims to be too long."""
        at = 0
        while at < len(data):
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip -= step
            else:
                step = _HEAD_BYTES - len(self._head)
                self._head += data[at : at + step]
                if not self._begins_frame():
                    return False
            at += step
        return True

    def _begins_frame(self) -> bool:
        if len(self._head) == _HEAD_BYTES:
            self._skip = int.from_bytes(self._head[:_LENGTH_BYTES])
            self._head = b""
        return self._skip <= self._max_frame_bytes
