"""How far a request can have come, what it holds there, and how it can end there.

The tables are the argument of docs/discussion/exactly-once.md in the code's own words: its diagram
is made from them, and `Journey` holds every request to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from anvil_trio.exchange.outcome import Outcome

__all__ = ["ANYWHERE", "LIFE", "Held", "Journey", "Phase", "Stage"]


class Held(StrEnum):
    """What a request may hold, in the order in which it is taken; it is given back in reverse."""

    PERMIT = "permit"  # a place at the front door, and in its client's budget
    LEASE = "lease"  # a place on one member, and in the tier
    STREAM = "stream"  # a connection to that member's engine


class Phase(StrEnum):
    """How far a request has come."""

    ARRIVED = "arrived"  # known, and asking at the front door
    INSIDE = "inside"  # its body is read and judged
    WAITING = "waiting"  # it has asked the tier for a member
    CHOSEN = "chosen"  # a member is its own; the request is on its way there
    DISPATCHED = "dispatched"  # the engine has it; the answer is handed on
    TOLD = "told"  # how it ended is decided; the caller hears the last words


@dataclass(frozen=True, slots=True)
class Stage:
    """What is true in one phase: what is held, which phase may follow, and which ends are near."""

    holds: tuple[Held, ...]
    then: Phase | None
    ends: frozenset[Outcome]


ANYWHERE = frozenset({
    Outcome.CLIENT_DISCONNECTED,
    Outcome.SHUTDOWN,
    Outcome.INTERNAL_ERROR,
    Outcome.CANCELLED,
})
"""How a request may end in whatever phase it is."""

LIFE: Mapping[Phase, Stage] = MappingProxyType({
    Phase.ARRIVED: Stage(
        (),
        Phase.INSIDE,
        frozenset({Outcome.CLIENT_CONCURRENCY_EXHAUSTED, Outcome.SERVER_BUSY}),
    ),
    Phase.INSIDE: Stage(
        (Held.PERMIT,),
        Phase.WAITING,
        frozenset({
            Outcome.REQUEST_REJECTED,
            Outcome.MODEL_NOT_FOUND,
            Outcome.OVER_CONTEXT,
            Outcome.MEDIA_ADMISSION,
            Outcome.TOOLS_UNSUPPORTED,
            Outcome.NOT_ADMITTED,
            Outcome.REQUEST_TIMEOUT,
        }),
    ),
    Phase.WAITING: Stage(
        (Held.PERMIT,),
        Phase.CHOSEN,
        frozenset({
            Outcome.QUIESCED,
            Outcome.NOT_ADMITTED,
            Outcome.ADMISSION_TIMEOUT,
            Outcome.REQUEST_TIMEOUT,
        }),
    ),
    Phase.CHOSEN: Stage(
        (Held.PERMIT, Held.LEASE),
        Phase.DISPATCHED,
        frozenset({Outcome.CONNECT_TIMEOUT, Outcome.BACKEND_ERROR, Outcome.REQUEST_TIMEOUT}),
    ),
    Phase.DISPATCHED: Stage(
        (Held.PERMIT, Held.LEASE, Held.STREAM),
        None,
        frozenset({
            Outcome.SERVED,
            Outcome.BACKEND_ERROR,
            Outcome.STARTUP_TIMEOUT,
            Outcome.IDLE_TIMEOUT,
            Outcome.REQUEST_TIMEOUT,
            Outcome.CLIENT_STALLED,
        }),
    ),
    Phase.TOLD: Stage((), None, frozenset({Outcome.CLIENT_STALLED})),
})
"""Every phase. From each of them but the last, a request that ends is `TOLD`."""


class Journey:
    """Where one request is; a step or an end that the tables do not know is a bug."""

    __slots__ = ("phase",)

    def __init__(self) -> None:
        self.phase = Phase.ARRIVED

    def reach(self, phase: Phase) -> None:
        """The next phase has begun; called in the step in which what it holds was taken."""
        assert LIFE[self.phase].then is phase, "phases follow one another"
        self.phase = phase

    def end(self, outcome: Outcome) -> None:
        """What was held has been given back; called in that step."""
        near = LIFE[self.phase].ends
        self.phase = Phase.TOLD
        assert outcome in near or outcome in ANYWHERE, "a request ends as its phase allows"
