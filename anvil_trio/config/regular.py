"""Reads a file that must be a plain one: nothing that waits, and nothing that has to be rewound."""

import os
import stat
from pathlib import Path

__all__ = ["read_regular"]

# Non-blocking so that a pipe which takes the file's place does not make us wait for a writer.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_regular(path: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file, at most one more than `max_bytes`; opened once, read once.

    Raises OSError or ValueError unless `path` leads, through links or not, to a regular file that
    can be read. Whatever happens to the path afterwards, the bytes are those of that one file.
    """
    # A device may act on being opened, so it is not; what is open is looked at again.
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError
    descriptor = os.open(path, _READ)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError
        data: bytes | None = file.read(max_bytes + 1)
    if data is None:  # some files of the kernel are plain ones that wait for news
        raise BlockingIOError
    return data
