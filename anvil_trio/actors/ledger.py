"""Who holds what: the one place in which an actor's state counts what it has given out."""

from typing import TypeVar

from anvil_trio.actors.messages import Ticket
from anvil_trio.names import OwnerId

__all__ = ["Ledger"]

Thing = TypeVar("Thing")


class Ledger(dict[Ticket, Thing]):
    """Each thing given out, once, under the ticket that won it; and the owners that have gone.

    Idempotence lives with the holder, strictness here: to give back what is not held is a bug.
    It changes by its own methods only.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gone: set[OwnerId] = set()

    def hold(self, ticket: Ticket, thing: Thing) -> None:
        """Note that `ticket` holds `thing` from now on."""
        assert ticket not in self, "a ticket asks once"
        self[ticket] = thing

    def give_back(self, ticket: Ticket) -> Thing:
        """Take back what `ticket` holds."""
        assert ticket in self, "given back twice, or never held"
        return self.pop(ticket)

    def bury(self, owner: OwnerId) -> list[Thing]:
        """Take back all that `owner` holds; from now on it is ignored."""
        self.gone.add(owner)
        return [self.pop(ticket) for ticket in list(self) if ticket.owner == owner]

    def ignores(self, message: object) -> bool:
        """Whether the message comes from an owner of `gone`."""
        ticket = getattr(message, "ticket", None)
        return isinstance(ticket, Ticket) and ticket.owner in self.gone
