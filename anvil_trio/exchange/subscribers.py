"""Who follows the live feed now: a few at once, and all of them can be told to go."""

from collections.abc import Iterator
from contextlib import contextmanager

import trio

from anvil_trio.decisions.events import Event
from anvil_trio.views.feed import render_event

__all__ = ["MAX_SUBSCRIBERS", "Subscribers"]

MAX_SUBSCRIBERS = 32
"""How many may follow at once: the cost of an event is theirs times this."""


class Subscribers:
    """The seats of one process's feed. Nobody waits for one, so no actor has to keep an order.

    A seat is taken and given back in one step each, without a checkpoint in between.
    """

    def __init__(self, most: int = MAX_SUBSCRIBERS) -> None:
        self._most = most
        self._scopes: set[trio.CancelScope] = set()
        self._is_ended = False
        self._latest: tuple[Event, str] | None = None

    def __len__(self) -> int:
        return len(self._scopes)

    @contextmanager
    def seated(self, until: trio.CancelScope) -> Iterator[bool]:
        """Whether there is a seat, which is held for as long as the block lasts.

        `until` is cancelled when everybody has to go. After that there is no seat for anyone.
        """
        if self._is_ended or len(self._scopes) >= self._most:
            yield False
            return
        self._scopes.add(until)
        try:
            yield True
        finally:
            self._scopes.discard(until)

    def text_of(self, event: Event) -> str:
        """The message that an event is worth, made once for all who read it in its turn."""
        if self._latest is None or self._latest[0] is not event:
            self._latest = event, render_event(event)
        return self._latest[1]

    def end(self) -> None:
        """Tell everybody to go, and let nobody in any more. Never waits; idempotent."""
        self._is_ended = True
        for scope in self._scopes:
            scope.cancel()
