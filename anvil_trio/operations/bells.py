"""Who wants to hear of an operation is woken when there may be news; nothing else is told."""

from collections.abc import Iterator
from contextlib import contextmanager

import trio

__all__ = ["Bell", "Bells"]


class Bell:
    """One listener's: rung while nobody waits, it is heard when somebody next does."""

    def __init__(self) -> None:
        self._rung = trio.Event()

    async def wait(self) -> None:
        """Until it has rung since the last call."""
        await self._rung.wait()
        self._rung = trio.Event()

    def ring(self) -> None:
        """Wake whoever waits; never waits itself."""
        self._rung.set()


class Bells:
    """The bells of everyone who listens, by what they listen for."""

    def __init__(self) -> None:
        self._bells: dict[str, list[Bell]] = {}

    @contextmanager
    def listening(self, name: str) -> Iterator[Bell]:
        """A bell that rings for `name`, for as long as the block lasts."""
        bell = Bell()
        bells = self._bells.setdefault(name, [])
        bells.append(bell)
        try:
            yield bell
        finally:
            bells.remove(bell)
            if not bells:
                del self._bells[name]

    def ring(self, name: str) -> None:
        """There may be news of `name`; never waits, and need not be heard."""
        for bell in self._bells.get(name, ()):
            bell.ring()
