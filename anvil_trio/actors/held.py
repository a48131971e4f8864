"""What an actor gave and must get back."""

import warnings
from collections.abc import Callable
from typing import Self

from anvil_trio.actors.messages import Release, Ticket

__all__ = ["Held"]


class Held:
    """Something given back exactly once, however its `with` block is left.

    Enter it before the next `await`; tests/unit/test_grants_are_entered.py holds us to that.
    """

    __slots__ = ("__weakref__", "_is_held", "_tell", "_ticket")

    def __init__(self, ticket: Ticket, tell: Callable[[Release], None]) -> None:
        self._ticket = ticket
        self._tell = tell
        self._is_held = True

    def release(self) -> None:
        """Give it back now. Synchronous, idempotent, never raises, works in a cancelled scope."""
        if self._is_held:
            self._is_held = False
            self._tell(Release(self._ticket))

    def __enter__(self) -> Self:
        assert self._is_held, "entered after it was given back"
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def __del__(self) -> None:
        if self._is_held:
            self.release()
            warnings.warn("a grant was dropped", ResourceWarning, stacklevel=2, source=self)
