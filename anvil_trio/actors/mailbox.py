"""The way into an actor: one unbounded memory channel, read in batches."""

import math
from collections.abc import Callable, Set
from typing import Generic, TypeVar

import trio

from anvil_trio.actors.messages import Common, Ticket, Withdraw

__all__ = ["Mailbox"]

Message = TypeVar("Message")


class Mailbox(Generic[Message]):
    """Keeps what was posted, in order, until its actor reads it; posting never waits.

    It is unbounded so that a give-back can never be refused. Its length is bounded all the same
    by what admission lets in: at most three messages for each live request.
    """

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[Message | Common](math.inf)
        self._withdrawn: set[Ticket] = set()
        self.unread = 0  # how many messages have been posted and not yet read
        self.is_closed = False

    @property
    def withdrawn(self) -> Set[Ticket]:
        """The tickets whose `Withdraw` has been posted and not yet read; a live view.

        A hint for the state, so that a caller who has left costs nobody a turn. Nothing relies
        on it: between processes it comes late, and a grant that meets nobody is given back.
        """
        return self._withdrawn

    def post(self, message: Message | Common) -> None:
        """Leave a message; never waits and never raises.

        Once the actor has stopped the message is dropped: what it would have changed is gone.
        """
        if type(message) is Withdraw:
            self._withdrawn.add(message.ticket)
        try:
            self._send.send_nowait(message)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
        self.unread += 1

    def close(self) -> None:
        """Take no more messages; `serve` ends once it has read what is there."""
        self.is_closed = True
        self._send.close()

    async def serve(self, act: Callable[[Message | Common], None]) -> None:
        """Call `act` for each message in order, until the mailbox is closed and read empty.

        After each wake-up everything already there is read before it sleeps again: three times
        cheaper than a sleep for each message, and it starves nobody, since no task posts while
        this one runs. What `act` raises ends the call; the messages after it stay unread.
        """
        receive_nowait = self._receive.receive_nowait
        async for first in self._receive:
            message = first
            while True:
                try:
                    act(message)
                finally:
                    self.unread -= 1
                    if type(message) is Withdraw:
                        self._withdrawn.discard(message.ticket)
                if not self.unread:  # asked of the count, since an exception costs a microsecond
                    break
                message = receive_nowait()
