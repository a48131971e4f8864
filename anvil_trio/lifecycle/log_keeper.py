"""Keeps what a serve writes, within a bound. Run as a script, by its path; reads until the end.

It reads on whatever happens to the file: a serve must not stop because a disk is full.
"""

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["keep"]

_CHUNK = 65_536


class _Bounded:
    """A file of at most `max_bytes`, and the one before it under the name with `.1`."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path, self._max_bytes = path, max_bytes
        self._file = -1
        self._size = 0

    def write(self, data: bytes) -> None:
        """Append `data`, of a piece above the bound its end. Raises OSError."""
        data = data[-self._max_bytes :]
        if self._file < 0:
            self._open()
        if self._size + len(data) > self._max_bytes and self._size:
            os.close(self._file)
            self._file = -1
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            self._open()
        self._size += os.write(self._file, data)

    def _open(self) -> None:
        # Non-blocking: a pipe in the file's place would hold up whoever writes the log.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        opened = os.open(self._path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            os.close(opened)
            raise OSError
        self._file, self._size = opened, found.st_size


def keep(source: int, path: Path, max_bytes: int) -> None:
    """Write what comes from `source` to `path` and its predecessor until it ends."""
    log = _Bounded(path, max_bytes)
    while data := os.read(source, _CHUNK):
        with suppress(OSError):
            log.write(data)


if __name__ == "__main__":
    keep(0, Path(sys.argv[1]), int(sys.argv[2]))
