"""The way into an actor: one queue without a limit, read in batches by one task."""

from collections import deque
from collections.abc import Callable, Set
from typing import Generic, TypeVar

import trio

from anvil_trio.actors.messages import Common, Ticket, Withdraw

__all__ = ["Mailbox"]

Message = TypeVar("Message")


class Mailbox(Generic[Message]):
    """Keeps what was posted, in order, until its actor reads it; posting never waits.

    It is unbounded so that a give-back can never be refused. Its length is bounded all the same
    by what admission lets in: at most three messages for each live request. Others may look at
    `unread`, and only look.

    A memory channel would do as well. It hands each message to one of many readers; for one, who
    looks for itself, a queue and the task to wake do the same in ten calls fewer.
    """

    def __init__(self) -> None:
        self.unread: deque[Message | Common] = deque()
        self.is_closed = False
        self._withdrawn: set[Ticket] = set()
        self._sleeper: trio.lowlevel.Task | None = None

    @property
    def withdrawn(self) -> Set[Ticket]:
        """The tickets whose `Withdraw` has been posted and not yet read; a live view.

        A hint for the state, so that a caller who has left costs nobody a turn. Nothing relies
        on it: between processes it comes late, and a grant that meets nobody is given back.
        """
        return self._withdrawn

    def post(self, message: Message | Common) -> None:
        """Leave a message; never waits and never raises.

        Once the mailbox is closed the message is dropped: what it would have changed is gone.
        """
        if type(message) is Withdraw:
            self._withdrawn.add(message.ticket)
        if not self.is_closed:
            self.unread.append(message)
            self._wake()

    def close(self) -> None:
        """Take no more messages; `serve` ends once it has read what is there."""
        self.is_closed = True
        self._wake()

    async def serve(self, act: Callable[[Message | Common], None]) -> None:
        """Call `act` for each message in order, until the mailbox is closed and read empty.

        After each wake-up everything already there is read before it sleeps again: three times
        cheaper than a sleep for each message, and it starves nobody, since no task posts while
        this one runs. What `act` raises ends the call; the messages after it stay unread.
        """
        reader = trio.lowlevel.current_task()
        while True:
            while self.unread:
                message = self.unread[0]
                try:
                    act(message)
                finally:
                    self.unread.popleft()
                    if type(message) is Withdraw:
                        self._withdrawn.discard(message.ticket)
            if self.is_closed:
                return
            assert self._sleeper is None, "a mailbox has one reader"
            self._sleeper = reader
            await trio.lowlevel.wait_task_rescheduled(self._leave)

    def _wake(self) -> None:
        sleeper, self._sleeper = self._sleeper, None
        if sleeper is not None:
            trio.lowlevel.reschedule(sleeper)

    def _leave(self, _: object) -> trio.lowlevel.Abort:
        self._sleeper = None
        return trio.lowlevel.Abort.SUCCEEDED
