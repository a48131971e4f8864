"""Reads a file that must be exactly where its path says: no symbolic link may stand on the way.

Whoever can place a link in a directory on the way could otherwise choose what is read. Each step is
opened from the one before, so that nothing can be changed between a check and its use.
"""

import os
import stat
from contextlib import ExitStack
from pathlib import Path

__all__ = ["read_protected"]

# Passing through a directory takes less than reading it; not every system can say so.
_PASSING: int = getattr(os, "O_PATH", os.O_RDONLY)
_ON_THE_WAY = _PASSING | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_THE_END = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not wait


def read_protected(path: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file, at most one more than `max_bytes`; read once.

    Raises OSError or ValueError unless `path` is absolute and leads to a readable regular file
    through directories only.
    """
    if not path.is_absolute():
        raise ValueError
    with ExitStack() as opened:
        place = _open(opened, path.anchor, _ON_THE_WAY)
        *folders, name = path.parts[1:] or (".",)
        for folder in folders:
            place = _open(opened, folder, _ON_THE_WAY, place)
        place = _open(opened, name, _AT_THE_END, place)
        if not stat.S_ISREG(os.fstat(place).st_mode):
            raise ValueError
        with open(place, "rb", closefd=False) as file:
            return file.read(max_bytes + 1)


def _open(opened: ExitStack, name: str, flags: int, place: int | None = None) -> int:
    descriptor = os.open(name, flags, dir_fd=place)
    opened.callback(os.close, descriptor)
    return descriptor
