"""When an exchange must next act, in plain numbers: it owns no clock, no scope and no task.

While an engine works, three things may fall due: a heartbeat to the caller, the engine's own
silence (startup before its first event, idle after that, a short grace after its finish reason),
and, while a write to the caller is under way, that write's stall. Only one of the last two runs
at a time: a caller's slowness is never charged to the engine.
"""

from dataclasses import dataclass
from enum import Enum
from math import inf

__all__ = ["CLOSE_S", "GRACE_S", "Deadlines", "Due", "Limits"]

GRACE_S = 2.0
"""How long after a finish reason usage and `[DONE]` are waited for."""

CLOSE_S = 0.05
"""How long after `[DONE]` the end of the engine's reply is waited for, to keep its connection."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The waits of one kind of route, in seconds."""

    admission_s: float
    startup_s: float
    idle_s: float
    total_s: float
    heartbeat_s: float
    stall_s: float


class Due(Enum):
    """What has fallen due."""

    NOTHING = "nothing"
    HEARTBEAT = "heartbeat"
    STARTUP = "startup"
    IDLE = "idle"
    GRACE = "grace"
    STALL = "stall"


class Deadlines:
    """The moments at which one dispatched exchange must act.

    Every method is told the time. Noting something is a few stores, whatever the number of
    events; `next_due` and `due` are asked only when a scope is opened or has fired.
    """

    __slots__ = (
        "_beat_from",
        "_gap_s",
        "_gaps",
        "_limits",
        "_quiet_kind",
        "_quiet_s",
        "_quiet_since",
        "_sending_since",
    )

    def __init__(self, limits: Limits, now: float, *, has_heartbeats: bool) -> None:
        """Start at dispatch: the moment at which the request has been written."""
        self._limits = limits
        self._quiet_kind, self._quiet_s, self._quiet_since = Due.STARTUP, limits.startup_s, now
        self._beat_from = now if has_heartbeats else inf
        self._sending_since: float | None = None
        self._gaps, self._gap_s = 0, 0.0

    @property
    def mean_gap_s(self) -> float | None:
        """How long a stream's events were apart, the waits for the caller left out.

        None for a reply that is no stream, and where there were no two events.
        """
        if self._beat_from == inf or not self._gaps:
            return None
        return self._gap_s / self._gaps

    @property
    def is_sending(self) -> bool:
        """Whether a write to the caller is under way."""
        return self._sending_since is not None

    def progressed(self, now: float) -> None:
        """The engine sent a real event or body bytes: idle runs from here. No-op in the grace."""
        if self._quiet_kind is not Due.GRACE:
            self._spoke(now)
            self._quiet_kind, self._quiet_s, self._quiet_since = Due.IDLE, self._limits.idle_s, now

    def finished(self, now: float) -> None:
        """The engine gave its finish reason: only the grace is left, and nothing extends it."""
        if self._quiet_kind is not Due.GRACE:
            self._spoke(now)
            self._quiet_kind, self._quiet_s, self._quiet_since = Due.GRACE, GRACE_S, now

    def _spoke(self, now: float) -> None:
        """Sum the gap since the event before, if there was one."""
        if self._quiet_kind is Due.IDLE:
            self._gaps += 1
            self._gap_s += now - self._quiet_since

    def said_all(self, now: float) -> None:
        """The engine said that nothing more will come: only its reply's own end is left."""
        self._quiet_kind, self._quiet_s, self._quiet_since = Due.GRACE, CLOSE_S, now

    def sending(self, now: float) -> None:
        """A write to the caller begins; the engine's clock and the heartbeat stand still."""
        if self._sending_since is None:
            self._sending_since = now

    def sent(self, now: float) -> None:
        """The write is over: the engine's clock goes on where it stood, the beat's anew."""
        if self._sending_since is not None:
            self._quiet_since += now - max(self._sending_since, self._quiet_since)
            self._sending_since = None
        if self._beat_from != inf:
            self._beat_from = now

    def beaten(self, now: float) -> None:
        """The heartbeat that was due is being sent: the next is due an interval from now."""
        self._beat_from = now

    def next_due(self) -> float:
        """The nearest moment at which `due` may say anything but NOTHING."""
        if self._sending_since is not None:
            return self._sending_since + self._limits.stall_s
        return min(self._quiet_since + self._quiet_s, self._beat_from + self._limits.heartbeat_s)

    def due(self, now: float) -> Due:
        """What has fallen due; the engine's silence before a heartbeat."""
        if self._sending_since is not None:
            return Due.STALL if now >= self._sending_since + self._limits.stall_s else Due.NOTHING
        if now >= self._quiet_since + self._quiet_s:
            return self._quiet_kind
        return Due.HEARTBEAT if now >= self._beat_from + self._limits.heartbeat_s else Due.NOTHING
