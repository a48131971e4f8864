"""Who outlives whom: actors start before whatever uses them and end after it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import trio

from anvil_trio.actors.actor import OnCrash

__all__ = ["Actors", "Runnable", "open_actors"]


class Runnable(Protocol):
    """An actor of any kind, as its nursery sees it."""

    async def run(self, on_crash: OnCrash) -> None:
        """Serve until closed; a crash is told and does not end the service."""
        ...

    def close(self) -> None:
        """Take no more messages."""
        ...


class Actors:
    """The actors that are running; made by `open_actors`."""

    def __init__(self, nursery: trio.Nursery, on_crash: OnCrash) -> None:
        self._nursery = nursery
        self._on_crash = on_crash
        self._running: list[Runnable] = []

    def start(self, actor: Runnable) -> None:
        """Run `actor` until the block of `open_actors` is left. It may be spoken to at once."""
        self._running.append(actor)
        self._nursery.start_soon(actor.run, self._on_crash)

    def stop(self, actor: Runnable) -> None:
        """Close one of them before its time; it reads its mailbox empty, and ends."""
        self._running.remove(actor)
        actor.close()

    def close(self) -> None:
        """Close all of them; each reads its mailbox empty, answers everyone and ends."""
        for actor in self._running:
            actor.close()


@asynccontextmanager
async def open_actors(on_crash: OnCrash) -> AsyncIterator[Actors]:
    """Actors that outlive everything opened inside the block, even when the block is cancelled.

    An actor whose machine raised is fenced, not restarted, and the others go on: `on_crash`
    is called once for it.
    """
    async with trio.open_nursery() as nursery:
        actors = Actors(nursery, on_crash)
        try:
            yield actors
        finally:
            actors.close()
