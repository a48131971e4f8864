"""Who holds what: the one place in which an actor's state counts what it has given out."""

from typing import Generic, TypeVar

from anvil_trio.actors.messages import Ticket
from anvil_trio.names import OwnerId

__all__ = ["Ledger"]

Thing = TypeVar("Thing")


class Ledger(Generic[Thing]):
    """Each thing given out, once, under the ticket that won it; and the owners that have gone.

    Idempotence lives with the holder, strictness here: to give back what is not held is a bug.
    """

    def __init__(self) -> None:
        self._held: dict[Ticket, Thing] = {}
        self._gone: set[OwnerId] = set()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, ticket: Ticket) -> bool:
        return ticket in self._held

    def hold(self, ticket: Ticket, thing: Thing) -> None:
        """Note that `ticket` holds `thing` from now on."""
        assert ticket not in self._held, "a ticket asks once"
        self._held[ticket] = thing

    def give_back(self, ticket: Ticket) -> Thing:
        """Take back what `ticket` holds."""
        assert ticket in self._held, "given back twice, or never held"
        return self._held.pop(ticket)

    def bury(self, owner: OwnerId) -> list[Thing]:
        """Take back all that `owner` holds; from now on it is ignored."""
        self._gone.add(owner)
        return [self._held.pop(ticket) for ticket in list(self._held) if ticket.owner == owner]

    def ignores(self, message: object) -> bool:
        """Whether the message comes from an owner that has gone."""
        if not self._gone:
            return False
        ticket = getattr(message, "ticket", None)
        return isinstance(ticket, Ticket) and ticket.owner in self._gone
