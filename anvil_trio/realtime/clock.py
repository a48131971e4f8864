"""When a session must end by itself, in plain numbers: it owns no clock, no scope and no task.

Two things may fall due: nobody has said anything for too long, or one side does not take what the
other said. While a message is on its way nobody is silent.
"""

from enum import Enum

from anvil_trio.errors import Code, Problem, problem
from anvil_trio.exchange.deadlines import Limits
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.realtime.closes import Side

__all__ = ["Clock", "Due", "end_of"]


class Due(Enum):
    """What has fallen due."""

    NOTHING = "nothing"
    STARTUP = "startup"  # the engine has never said anything
    ENGINE_SILENT = "engine_silent"  # nobody speaks, and the client spoke last
    CLIENT_SILENT = "client_silent"  # nobody speaks, and the engine spoke last
    ENGINE_STALLED = "engine_stalled"
    CLIENT_STALLED = "client_stalled"


_STALLED = {Side.CLIENT: Due.CLIENT_STALLED, Side.ENGINE: Due.ENGINE_STALLED}
_IDLE = problem(Code.IDLE_TIMEOUT, message="Nothing was said in this session for too long.")
_ENDS: dict[Due, tuple[Outcome, Problem]] = {
    Due.STARTUP: (Outcome.STARTUP_TIMEOUT, problem(Code.STARTUP_TIMEOUT)),
    Due.ENGINE_SILENT: (Outcome.IDLE_TIMEOUT, _IDLE),
    Due.CLIENT_SILENT: (Outcome.CLIENT_STALLED, _IDLE),
    Due.ENGINE_STALLED: (Outcome.IDLE_TIMEOUT, problem(Code.IDLE_TIMEOUT)),
    Due.CLIENT_STALLED: (Outcome.CLIENT_STALLED, problem(Code.REQUEST_TIMEOUT)),
}


def end_of(due: Due) -> tuple[Outcome, Problem]:
    """How a session ends for which this fell due, and what its client is told."""
    return _ENDS[due]


class Clock:
    """The moments at which one session must end. Every method is told the time."""

    __slots__ = ("_last", "_limits", "_quiet_since", "_sending")

    def __init__(self, limits: Limits, now: float) -> None:
        """Start when both sides are there."""
        self._limits = limits
        self._quiet_since = now
        self._last: Side | None = None  # who spoke last; None before the engine ever did
        self._sending: dict[Side, float] = {}

    def said(self, by: Side, now: float) -> None:
        """A message of that side has come, and is handed to the other."""
        self._sending[by.other] = now
        if self._last is not None or by is Side.ENGINE:
            self._last = by

    def taken(self, by: Side, now: float) -> None:
        """That side has taken it, or will take nothing any more."""
        del self._sending[by]
        self._quiet_since = now

    def next_due(self) -> float:
        """The nearest moment at which `due` may say anything but NOTHING."""
        if self._sending:
            return min(self._sending.values()) + self._limits.stall_s
        return self._quiet_since + self._quiet_s

    def due(self, now: float) -> Due:
        """What has fallen due."""
        for side, since in self._sending.items():
            if now >= since + self._limits.stall_s:
                return _STALLED[side]
        if self._sending or now < self._quiet_since + self._quiet_s:
            return Due.NOTHING
        if self._last is None:
            return Due.STARTUP
        return Due.ENGINE_SILENT if self._last is Side.CLIENT else Due.CLIENT_SILENT

    @property
    def _quiet_s(self) -> float:
        return self._limits.startup_s if self._last is None else self._limits.idle_s
