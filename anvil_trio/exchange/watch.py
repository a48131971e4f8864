"""The two scopes of one exchange: its life, and the lapse in which something may fall due.

`life` ends for good: the caller's leaving, the end of a shutdown, the total deadline, or, while
nothing else could go on, the one wait that is under way: for a member, for an engine's whole reply.
It is one scope for all of these, moved only when the exchange is about to wait for something else.
A lapse is a stream's, and lazy: it is opened at the nearest moment at which something may fall due
and is not moved per event; when it fires, the numbers in `Deadlines` say whether anything did.
"""

from enum import Enum
from math import inf

import trio

from anvil_trio.exchange.deadlines import Deadlines, Due, Limits
from anvil_trio.exchange.phases import Journey

__all__ = ["Cut", "Watch"]


class Cut(Enum):
    """Why a life was cut."""

    TOTAL = "total"
    CLIENT_GONE = "client_gone"
    SHUTDOWN = "shutdown"
    NO_MEMBER = "no_member"  # none was had within the admission deadline
    ENGINE = "engine"  # it was silent for too long


class Watch:
    """What bounds one exchange. `life` is entered once; lapses open inside it, one at a time.

    Guarantee: `leave` and `shut_down` act in the step in which they are called, whatever the
    exchange is doing, and the first reason stands. `journey` says how far it has come, `now` is
    trio's clock: of all who ask it, an exchange asks most, and this way has two calls less.
    """

    def __init__(self, limits: Limits, *, is_asked: bool = False) -> None:
        """An exchange begins. `is_asked`: nothing is waited for before `begin`, so it is now."""
        self.limits = limits
        self.now = trio.lowlevel.current_clock().current_time
        self.began_at = now = self.now()
        self._total_at = now + limits.total_s if is_asked else inf
        self._bound_by = Cut.TOTAL  # what the deadline of `life` stands for
        self._is_asked = is_asked
        # A scope that is made with its deadline is cheaper than one that is given it later.
        first = self._nearest(now + limits.admission_s, Cut.NO_MEMBER) if is_asked else inf
        self.life = trio.CancelScope(deadline=first)
        self._deadlines: Deadlines | None = None
        self._lapse: trio.CancelScope | None = None
        self._cut_by: Cut | None = None
        self.journey = Journey()
        self.dispatched_at: float | None = None
        self.progressed_at: float | None = None  # the engine last sent something that counts

    # what ends it

    def begin(self) -> float:
        """The request is parsed and about to wait for a member, from the moment returned.

        The total deadline runs from here and is never moved.
        """
        if self._is_asked:
            return self.began_at
        now = self.now()
        self._total_at = now + self.limits.total_s
        self._bound(now + self.limits.admission_s, Cut.NO_MEMBER)
        return now

    def chosen(self) -> None:
        """Nobody waits for a member any more; whoever bounds the next wait does so himself."""
        self._bound(inf, Cut.TOTAL)

    def follow_engine(self) -> None:
        """About to wait for the engine, with no lapse open: `life` ends when its silence counts."""
        self._bound(self.deadlines.next_due(), Cut.ENGINE)

    def _bound(self, moment: float, why: Cut) -> None:
        """End `life` at that moment for that reason, or at the total deadline if that is first."""
        moment = self._nearest(moment, why)
        if self.life.deadline != moment:
            self.life.deadline = moment

    def _nearest(self, moment: float, why: Cut) -> float:
        """That moment, or the total deadline if it is first; which of them is noted."""
        if self._total_at <= moment:
            moment, why = self._total_at, Cut.TOTAL
        self._bound_by = why
        return moment

    def leave(self) -> None:
        """The caller has gone."""
        self._cut(Cut.CLIENT_GONE)

    def shut_down(self) -> None:
        """The bound of a graceful stop is over."""
        self._cut(Cut.SHUTDOWN)

    @property
    def cut(self) -> Cut:
        """Why `life` was cut; asked only after it was."""
        return self._cut_by or self._bound_by

    def is_over(self, now: float) -> bool:
        """Whether `life` is cut, whatever for, though whoever is in it may not have met it yet."""
        return self._cut_by is not None or now >= self.life.deadline

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
        """The request has been written to the engine.

        What has heartbeats is watched by lapses; of anything else `follow_engine` is to be told.
        """
        if has_heartbeats:
            self.chosen()
        self.dispatched_at = now = self.now()
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
        now = self.now()
        due = self.deadlines.due(now)
        if due is Due.HEARTBEAT:
            self.deadlines.beaten(now)
        return due

    def progressed(self, now: float) -> None:
        """The engine sent something that counts."""
        assert self._deadlines is not None, "progress before dispatch"
        is_first = self.progressed_at is None
        self.progressed_at = now
        self._deadlines.progressed(now)
        if is_first:  # a beginning may be waited for longer than what follows it
            self._tighten()

    def finished(self, now: float) -> None:
        """The engine gave its finish reason."""
        self.progressed_at = now
        self.deadlines.finished(now)
        self._tighten()

    def said_all(self, now: float) -> None:
        """The engine said its last word."""
        self.progressed_at = now
        self.deadlines.said_all(now)
        self._tighten()

    def passed_on(self, now: float) -> None:
        """Bytes were written without waiting: the next heartbeat is due an interval from now."""
        assert self._deadlines is not None, "passed on before dispatch"
        self._deadlines.sent(now)

    def sending(self) -> None:
        """A write to the caller begins."""
        self.deadlines.sending(self.now())
        self._tighten()

    def sent(self) -> None:
        """That write is over."""
        self.deadlines.sent(self.now())
        self._tighten()

    def _tighten(self) -> None:
        """Move the open lapse only if something now falls due before it ends: rare by design."""
        if self._lapse is not None and self._lapse.deadline > self.deadlines.next_due():
            self._lapse.deadline = self.deadlines.next_due()
