"""One bounded feed of what happens in this process, for whoever wants to watch."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import trio

__all__ = ["Bus", "Subscription"]

Event = TypeVar("Event")


class Subscription(Generic[Event]):
    """One watcher's events, oldest first; `dropped` counts those it was too slow to read."""

    def __init__(self, size: int) -> None:
        assert size > 0, "a subscription keeps at least one event"
        self.dropped = 0
        self._unread: deque[Event] = deque(maxlen=size)
        self._readers = trio.lowlevel.ParkingLot()
        self._is_closed = False

    async def receive(self) -> Event:
        """The oldest unread event; waits for one if there is none.

        A cancelled call loses no event. Raises ClosedResourceError once the subscription ended.
        """
        await trio.lowlevel.checkpoint()
        while not self._is_closed:
            if self._unread:
                return self._unread.popleft()
            await self._readers.park()
        raise trio.ClosedResourceError

    def offer(self, event: Event) -> None:
        """Keep an event, at the cost of the oldest unread one where there is no room."""
        if len(self._unread) == self._unread.maxlen:
            self.dropped += 1
        self._unread.append(event)
        self._readers.unpark()

    def close(self) -> None:
        """End the subscription; whoever waits in `receive` is told."""
        self._is_closed = True
        self._readers.unpark_all()


class Bus(Generic[Event]):
    """Hands each event to every subscription, at once and in order.

    Publishing never waits and never fails: a slow subscriber loses its own oldest events, and
    costs nobody else anything.
    """

    def __init__(self) -> None:
        self._subscriptions: list[Subscription[Event]] = []

    def publish(self, event: Event) -> None:
        """Give the event to all who are subscribed now; callable from any task, in any scope."""
        for subscription in self._subscriptions:
            subscription.offer(event)

    @contextmanager
    def subscribe(self, size: int) -> Iterator[Subscription[Event]]:
        """A feed of what is published from now on, of at most `size` unread events.

        It ends with the block, however that is left.
        """
        subscription: Subscription[Event] = Subscription(size)
        self._subscriptions.append(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.remove(subscription)
            subscription.close()
