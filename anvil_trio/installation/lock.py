"""The one lock of all that changes what serves on this machine."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anvil_trio.installation.faults import InstallFailed, InstallFault

__all__ = ["hold_lock"]

_NAME = "serves-switch-promotion.lock"
_OWNER_FOLDER = 0o700
_OWNER_FILE = 0o600


@contextmanager
def hold_lock(home: Path) -> Iterator[None]:
    """Hold the lock below the operator's home; raises InstallFailed at once if another does.

    It ends with the process, however that ends, and no child inherits it.
    """
    try:
        folder = home / "locks"
        folder.mkdir(mode=_OWNER_FOLDER, parents=True, exist_ok=True)
        descriptor = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_FILE)
    except OSError:
        raise InstallFailed(InstallFault.NOT_SAVED) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InstallFailed(InstallFault.LOCKED) from None
        yield
    finally:
        os.close(descriptor)
