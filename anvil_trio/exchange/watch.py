"""The two scopes of one exchange: its life, and the lapse in which something may fall due.

`life` ends for good: the total deadline, the caller's leaving, or the end of a shutdown.
A lapse is lazy: it is opened at the nearest moment at which something may fall due and is not
moved per event; when it fires, the numbers in `Deadlines` say whether anything did.
"""

from enum import Enum

import trio

from anvil_trio.exchange.deadlines import Deadlines, Due, Limits
from anvil_trio.exchange.phases import Journey

__all__ = ["Cut", "Watch"]


class Cut(Enum):
    """Why a life was cut."""

    TOTAL = "total"
    CLIENT_GONE = "client_gone"
    SHUTDOWN = "shutdown"


class Watch:
    """What bounds one exchange. `life` is entered once; lapses open inside it, one at a time.

    Guarantee: `leave` and `shut_down` act in the step in which they are called, whatever the
    exchange is doing, and the first reason stands. `journey` says how far it has come.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.life = trio.CancelScope()
        self._deadlines: Deadlines | None = None
        self._lapse: trio.CancelScope | None = None
        self._cut_by: Cut | None = None
        self.journey = Journey()
        self.dispatched_at: float | None = None
        self.progressed_at: float | None = None  # the engine last sent something that counts

    # what ends it

    def begin(self) -> None:
        """The request is parsed: the total deadline runs from here and is never moved."""
        self.life.deadline = trio.current_time() + self.limits.total_s

    def leave(self) -> None:
        """The caller has gone."""
        self._cut(Cut.CLIENT_GONE)

    def shut_down(self) -> None:
        """The bound of a graceful stop is over."""
        self._cut(Cut.SHUTDOWN)

    @property
    def cut(self) -> Cut:
        """Why `life` was cut; asked only after it was."""
        return self._cut_by or Cut.TOTAL

    @property
    def is_gone(self) -> bool:
        """Whether the caller has left."""
        return self._cut_by is Cut.CLIENT_GONE

    def _cut(self, why: Cut) -> None:
        if self._cut_by is None:
            self._cut_by = why
        self.life.cancel()

    # what falls due while an engine works

    def dispatched(self, *, has_heartbeats: bool) -> None:
        """The request has been written to the engine."""
        self.dispatched_at = now = trio.current_time()
        self._deadlines = Deadlines(self.limits, now, has_heartbeats=has_heartbeats)

    @property
    def deadlines(self) -> Deadlines:
        """The numbers; only after `dispatched`."""
        assert self._deadlines is not None, "asked before dispatch"
        return self._deadlines

    @property
    def mean_gap_s(self) -> float | None:
        """How long a stream's events were apart; None where no stream had two."""
        return None if self._deadlines is None else self._deadlines.mean_gap_s

    def lapse(self) -> trio.CancelScope:
        """A new scope that ends when something may be due; the earlier one must be closed."""
        self._lapse = trio.CancelScope(deadline=self.deadlines.next_due())
        return self._lapse

    def due(self) -> Due:
        """What is due now; a heartbeat is said to be due once, and then counts as sent."""
        now = trio.current_time()
        due = self.deadlines.due(now)
        if due is Due.HEARTBEAT:
            self.deadlines.beaten(now)
        return due

    def progressed(self) -> None:
        """The engine sent something that counts."""
        self.progressed_at = now = trio.current_time()
        self.deadlines.progressed(now)

    def finished(self) -> None:
        """The engine gave its finish reason."""
        self.progressed_at = now = trio.current_time()
        self.deadlines.finished(now)
        self._tighten()

    def said_all(self) -> None:
        """The engine said its last word."""
        self.progressed_at = now = trio.current_time()
        self.deadlines.said_all(now)
        self._tighten()

    def sending(self) -> None:
        """A write to the caller begins."""
        self.deadlines.sending(trio.current_time())
        self._tighten()

    def sent(self) -> None:
        """That write is over."""
        self.deadlines.sent(trio.current_time())
        self._tighten()

    def _tighten(self) -> None:
        """Move the open lapse only if something now falls due before it ends: rare by design."""
        if self._lapse is not None and self._lapse.deadline > self.deadlines.next_due():
            self._lapse.deadline = self.deadlines.next_due()
