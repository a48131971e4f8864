"""How long one configuration's generation is heard and used, between the one before and the next.

Built, it prepares and is not heard; current, what it finds is published; retired, it is heard no
more, but whoever began under it goes on, over its connections. It is closed when nobody does, and
never before its predecessor: a request of that one may have been given a member that is new here.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from typing import TypeVar

import trio

from anvil_trio.facts import Readiness

__all__ = ["Lifetime"]

About = TypeVar("About", bound=Hashable)
News = TypeVar("News")


class _Phase(Enum):
    BUILT = auto()
    CURRENT = auto()
    RETIRED = auto()


class _Users:
    """Who hangs on a generation now; a `with` of it is one request more, while its block lasts."""

    __slots__ = ("_left", "count")

    def __init__(self) -> None:
        self.count = 0
        self._left: trio.Event | None = None  # while somebody waits for the last one to leave

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *exc: object) -> None:
        self.count -= 1
        if not self.count and self._left is not None:
            self._left.set()
            self._left = None

    async def until_none(self) -> None:
        """Wait until nobody does."""
        while self.count:
            if self._left is None:
                self._left = trio.Event()
            await self._left.wait()


class Lifetime:
    """One generation's phase, its users, and what it wanted to publish before its time.

    `number` rises with each generation of a process. `users` are the requests that hang on it: one
    that begins under it is counted by `with life.users`.
    """

    def __init__(self, predecessor: "Lifetime | None" = None) -> None:
        self.number: int = 0 if predecessor is None else predecessor.number + 1
        self._predecessor = predecessor
        self._phase = _Phase.BUILT
        self._held: dict[Hashable, Callable[[], None]] = {}
        self.users = _Users()
        self._retired = trio.Event()
        self._closed = trio.Event()

    @property
    def is_current(self) -> bool:
        """Whether it is heard."""
        return self._phase is _Phase.CURRENT

    def dated(self, readiness: Readiness) -> Readiness:
        """The same, later than whatever any generation before this one has published."""
        return replace(readiness, generation=(self.number << 32) + readiness.generation)

    def heard(self, publish: Callable[[About, News], None]) -> Callable[[About, News], None]:
        """`publish`, which takes effect while this generation is current.

        Before that the last news about each thing is kept for the moment when it becomes so.
        """

        def tell(about: About, news: News) -> None:
            if self._phase is _Phase.CURRENT:
                publish(about, news)
            elif self._phase is _Phase.BUILT:
                self._held[publish, about] = partial(publish, about, news)

        return tell

    def take_over(self) -> None:
        """From now on it is current; what was kept is published in this step."""
        assert self._phase is _Phase.BUILT, "a generation becomes current once"
        self._phase = _Phase.CURRENT
        for publish in self._held.values():
            publish()
        self._held.clear()

    def retire(self) -> None:
        """From now on nothing that it finds is published, and nobody new may use it."""
        if self._phase is _Phase.BUILT:
            self._predecessor = None  # nobody of that one was ever given a member of this one
        self._phase = _Phase.RETIRED
        self._held.clear()
        self._retired.set()

    async def until_retired(self) -> None:
        """Wait until another generation has taken its place, or it was given up."""
        await self._retired.wait()

    async def until_unused(self) -> None:
        """Wait until no request hangs on it, nor on any generation before it."""
        if self._predecessor is not None:
            await self._predecessor.until_closed()
            self._predecessor = None
        await self.users.until_none()

    async def until_closed(self) -> None:
        """Wait until its connections are closed."""
        await self._closed.wait()

    def close(self) -> None:
        """Say that its connections are closed."""
        self._closed.set()
