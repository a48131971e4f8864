"""The waiting line of a tier: first come, first served for one client; turns between clients."""

from collections import OrderedDict
from collections.abc import Set

from anvil_trio.actors.messages import Ticket
from anvil_trio.names import ClientId, OwnerId
from anvil_trio.tiers.messages import Acquire

__all__ = ["WaitingLine"]


class WaitingLine:
    """Who waits and who is next. With k clients waiting, each is served within k grants.

    `withdrawn` holds the tickets of callers who have left although their `Withdraw` has not been
    read yet; they are passed over, and cost their client no turn. `waiting` is everyone in line, in
    order of arrival, for others to look at.
    """

    def __init__(self, withdrawn: Set[Ticket]) -> None:
        self._withdrawn = withdrawn
        self.waiting: dict[Ticket, Acquire] = {}
        # Both in order of turn. OrderedDict, since a plain dict is slow to pop from the front.
        self._queues: OrderedDict[ClientId, OrderedDict[Ticket, None]] = OrderedDict()

    def join(self, asked: Acquire) -> None:
        """Stand behind the client's others; a client with none stands behind all clients."""
        assert asked.ticket not in self.waiting, "a ticket asks once"
        self.waiting[asked.ticket] = asked
        self._queues.setdefault(asked.client_id, OrderedDict())[asked.ticket] = None

    def leave(self, ticket: Ticket) -> None:
        """Stand in line no longer; nothing happens if it does not stand there."""
        asked = self.waiting.pop(ticket, None)
        if asked is None:
            return
        queue = self._queues[asked.client_id]
        del queue[ticket]
        if not queue:
            del self._queues[asked.client_id]

    def leave_all(self, owner: OwnerId) -> None:
        """Everyone of `owner` leaves."""
        for ticket in [ticket for ticket in self.waiting if ticket.owner == owner]:
            self.leave(ticket)

    def take(self) -> Acquire | None:
        """The next in turn, who leaves the line; its client then stands behind all others."""
        while self._queues:
            client_id, queue = next(iter(self._queues.items()))
            asked = self.waiting[next(iter(queue))]
            self.leave(asked.ticket)
            if asked.ticket not in self._withdrawn:
                if client_id in self._queues:
                    self._queues.move_to_end(client_id)
                return asked
        return None

    def clear(self) -> list[Ticket]:
        """Everyone leaves: the tickets, in order of arrival."""
        everyone = list(self.waiting)
        self.waiting.clear()
        self._queues.clear()
        return everyone

    def by_client(self) -> dict[str, int]:
        """How many stand in line for each client."""
        return {client_id: len(queue) for client_id, queue in self._queues.items()}
