"""What an actor gave and must get back."""

import warnings
from collections.abc import Callable
from typing import Self

import msgspec

from anvil_trio.actors.messages import Release, Ticket

__all__ = ["Held"]


class Held(msgspec.Struct, eq=False, weakref=True):
    """Something given back exactly once, however its `with` block is left.

    Enter it before the next `await`; tests/unit/test_grants_are_entered.py holds us to that.
    """

    _ticket: Ticket
    _tell: Callable[[Release], None] | None  # None once it was given back

    def release(self, *_exc: object) -> None:
        """Give it back now. Synchronous, idempotent, never raises, works in a cancelled scope."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(Release(self._ticket))

    def __enter__(self) -> Self:
        assert self._tell is not None, "entered after it was given back"
        return self

    __exit__ = release

    def __del__(self) -> None:
        if self._tell is not None:
            self.release()
            warnings.warn("a grant was dropped", ResourceWarning, stacklevel=2, source=self)
