"""One owner's side of a conversation with an actor: it asks, and every question has one end."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Generic, TypeVar

import outcome

from anvil_trio.actors.messages import Common, Release, Ticket, Withdraw
from anvil_trio.actors.reply import ReplySlot
from anvil_trio.names import OwnerId

__all__ = ["ActorStopped", "Caller"]

Message = TypeVar("Message")
Reply = TypeVar("Reply")


class ActorStopped(Exception):  # noqa: N818 - named by what happened, as trio does
    """The actor ended before it answered. Actors outlive their users, so somebody stopped late."""


class Caller(Generic[Message, Reply]):
    """Numbers the questions of one owner, keeps a slot for each, and takes in the answers.

    `grant` is the type of the reply that gives something which must be given back. When such a
    reply meets a question whose asker has left, it is released here and then, so that a grant is
    never lost, wherever the actor lives.

    `tickets` never end, and none is there twice. `tell` posts a message that nobody waits for; it
    never waits and never raises.
    """

    def __init__(
        self,
        owner: OwnerId,
        tell: Callable[[Message | Common], None],
        grant: type,
    ) -> None:
        self.owner = owner
        self.tickets: Iterator[Ticket] = map(partial(Ticket, owner), count(1))
        self.tell = tell
        self._grant = grant
        self._asked: dict[Ticket, tuple[Message | Common, ReplySlot[Reply]]] = {}
        self._is_stopped = False

    async def ask(self, ticket: Ticket, question: Message | Common) -> Reply:
        """The actor's answer to a question that carries `ticket`.

        Between the posting and the parking there is no checkpoint. If cancelled before the
        answer, the question is withdrawn in that step; after it, the answer is returned and the
        cancel is met at the next checkpoint. Raises ActorStopped once the actor has ended.
        """
        if self._is_stopped:
            raise ActorStopped
        slot: ReplySlot[Reply] = ReplySlot()
        self._asked[ticket] = (question, slot)
        self.tell(question)
        return await slot.wait(partial(self._abandon, ticket))

    def deliver(self, ticket: Ticket, reply: Reply) -> None:
        """Take in one answer; a grant that nobody waits for (any more) goes straight back."""
        asked = self._asked.pop(ticket, None)
        if asked is not None:
            asked[1].fill(outcome.Value(reply))
        elif isinstance(reply, self._grant):
            self.tell(Release(ticket))

    def questions(self) -> Sequence[Message | Common]:
        """The questions that wait for an answer, read by the actor or not."""
        return [question for question, _ in self._asked.values()]

    def stop(self) -> None:
        """Answer everyone who waits with ActorStopped, and whoever asks from now on."""
        self._is_stopped = True
        asked, self._asked = self._asked, {}
        for _, slot in asked.values():
            slot.fill(outcome.Error(ActorStopped()))

    def _abandon(self, ticket: Ticket) -> None:
        del self._asked[ticket]
        self.tell(Withdraw(ticket))
