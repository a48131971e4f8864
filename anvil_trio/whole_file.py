"""A file that is replaced whole or not at all, whatever happens to the process meanwhile."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["flush_folder", "keep_rights", "replace_whole", "write_beside"]

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OWNER_ONLY = 0o600


def replace_whole(
    path: Path, data: bytes, *, beside: Path, set_rights: Callable[[int], None] | None = None
) -> None:
    """Let `path` hold `data`, or leave it as it was: written beside it, flushed, renamed over it.

    Raises OSError. Whoever calls is the one writer. A new file is its owner's alone unless
    `set_rights`, which is given its descriptor, says otherwise.
    """
    write_beside(beside, data, set_rights)
    beside.replace(path)
    with suppress(OSError):  # it is in place; some file systems cannot flush a folder
        flush_folder(path.parent)


def write_beside(
    beside: Path, data: bytes, set_rights: Callable[[int], None] | None = None
) -> None:
    """Write a file that is to take another's place, as far as the disk; raises OSError.

    What a killed writer left behind, a link included, gives way: nobody uses it.
    """
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, _WRITE, _OWNER_ONLY), "wb") as file:
        if set_rights is not None:
            set_rights(file.fileno())
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def keep_rights(path: Path, descriptor: int) -> None:
    """Let whoever could read the file at `path` read what takes its place; raises OSError.

    Where there is none yet, nothing is changed.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    mine = os.fstat(descriptor)
    if (found.st_uid, found.st_gid) != (mine.st_uid, mine.st_gid):
        os.fchown(descriptor, found.st_uid, found.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(found.st_mode))


def flush_folder(folder: Path) -> None:
    """See to it that the names in a folder are on the disk; raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
