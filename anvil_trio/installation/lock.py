"""The one lock of all that changes what serves on this machine, in the words of an installation."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from anvil_trio.installation.faults import InstallFailed, InstallFault
from anvil_trio.lifecycle import store
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed

__all__ = ["hold_lock"]


@contextmanager
def hold_lock(home: Path) -> Iterator[None]:
    """Hold the lock below the operator's home; raises InstallFailed at once if another does.

    It ends with the process, however that ends, and no child inherits it.
    """
    with ExitStack() as held:
        try:
            held.enter_context(store.hold_lock(home))
        except LifecycleFailed as failed:
            is_locked = failed.code == Fault.LOCKED
            code = InstallFault.LOCKED if is_locked else InstallFault.NOT_SAVED
            raise InstallFailed(code) from None
        yield
