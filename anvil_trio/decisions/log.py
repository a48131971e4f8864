"""The one place that a finished request's record goes to."""

from anvil_trio.actors.bus import Bus
from anvil_trio.decisions.events import Decided, Event
from anvil_trio.decisions.export import SpanExport
from anvil_trio.decisions.history import History
from anvil_trio.decisions.journal import Journal
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.ring import Ring

__all__ = ["DecisionLog"]


class DecisionLog:
    """Memory, journal, trace export and bus behind one call.

    `record` is synchronous and never raises, so it works in `finally` and in a cancelled scope:
    a request that ends, however it ends, is recorded. `history` reads what the journal wrote; None
    without one.
    """

    def __init__(
        self,
        ring: Ring,
        journal: Journal | None,
        bus: Bus[Event],
        spans: SpanExport | None = None,
    ) -> None:
        self.ring = ring
        self.spans = spans
        self._journal = journal
        self._bus = bus
        self.history = None if journal is None else History(journal.path)

    @property
    def write_failures(self) -> int | None:
        """How many records are not in the journal though there is one; None if there is none."""
        return None if self._journal is None else self._journal.failures

    def record(self, record: DecisionRecord) -> None:
        """Keep one finished request's record and tell whoever watches."""
        self.ring.append(record)
        if self._journal is not None:
            self._journal.append(record)
        if self.spans is not None:
            self.spans.offer(record)
        self._bus.publish(Decided(record))
