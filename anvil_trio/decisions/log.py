"""The one place that a finished request's record goes to."""

from anvil_trio.actors.bus import Bus
from anvil_trio.decisions.events import Decided, Event
from anvil_trio.decisions.history import History
from anvil_trio.decisions.journal import Journal
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.ring import Ring

__all__ = ["DecisionLog"]


class DecisionLog:
    """Memory, journal and bus behind one call.

    `record` is synchronous and never raises, so it works in `finally` and in a cancelled scope:
    a request that ends, however it ends, is recorded. `history` reads what the journal wrote; None
    without one.
    """

    def __init__(self, ring: Ring, journal: Journal | None, bus: Bus[Event]) -> None:
        self.ring = ring
        self._journal = journal
        self._bus = bus
        self.history = None if journal is None else History(journal.path)

    def record(self, record: DecisionRecord) -> None:
        """Keep one finished request's record and tell whoever watches."""
        self.ring.append(record)
        if self._journal is not None:
            self._journal.append(record)
        self._bus.publish(Decided(record))
