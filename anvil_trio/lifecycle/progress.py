"""What an operation does next, whatever happens: the state machine of a switch. Pure.

A switch lets one *side* (its serves, its configuration) take over from the other. Every step makes
something so, whether or not it is so already; hence whoever resumes after a crash begins the path
again, and whoever undoes walks a path towards the other side. How much has to be undone depends on
the *extent*: how far anything may have got, told by what was about to be done and not by what was.
"""

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

__all__ = [
    "Extent",
    "Goal",
    "Order",
    "Path",
    "Progress",
    "Status",
    "Step",
    "advance",
    "begin",
    "entered",
    "fail",
    "is_possible",
    "needs_opening",
    "resume",
    "roll_back",
    "steps_of",
    "turn",
]


class Status(StrEnum):
    """What the journal says of an operation. `failed` with a step left can be taken up again."""

    PLANNED = "planned"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class Goal(StrEnum):
    """Which side is to have taken over in the end."""

    TARGET = "target"
    ROLLBACK = "rollback"

    @property
    def other(self) -> "Goal":
        """The other side."""
        return Goal.ROLLBACK if self is Goal.TARGET else Goal.TARGET


class Order(StrEnum):
    """Whether both sides may run at once."""

    START_FIRST = "start-first"
    STOP_FIRST = "stop-first"


class Step(StrEnum):
    """What is made so, of the goal's side if nothing else is said."""

    START = "start"
    """Its serves run and are healthy."""
    GATE = "gate"
    """Its gate, a command of the operator's, passes."""
    QUIESCE = "quiesce"
    """The affected tiers take no new requests."""
    DRAIN = "drain"
    """Nothing runs in them any more."""
    ROUTE = "route"
    """Its configuration is installed and at work in the router."""
    READMIT = "readmit"
    """Its tiers are open, after a fresh proof that they are ready."""
    STOP = "stop"
    """The other side's serves do not run."""


class Path(StrEnum):
    """Which steps are walked."""

    FULL = "full"
    REOPEN = "reopen"
    """The route was never touched: open the tiers again and stop what was started."""
    LEAVE = "leave"
    """Nothing but processes: the goal's side runs, the other's does not."""
    NOTHING = "nothing"


class Extent(IntEnum):
    """How far an operation may have got."""

    STARTED = 0
    """The goal's serves at most were started."""
    CLOSED = 1
    """Tiers may be quiesced."""
    CHANGED = 2
    """The route may have moved, or what ran before may have been stopped."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where one operation is. `step` is None once there is nothing left to do.

    `origin` is the side that the operator asked for; a goal that differs from it is an undoing.
    """

    order: Order
    origin: Goal
    goal: Goal
    path: Path
    step: Step | None
    extent: Extent
    status: Status

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to do, well or not."""
        return self.step is None

    @property
    def is_undoing(self) -> bool:
        """Whether it is on the way back to where it began."""
        return self.goal is not self.origin


_PATHS = {
    (Order.START_FIRST, Path.FULL): (
        Step.START, Step.GATE, Step.QUIESCE, Step.DRAIN, Step.ROUTE, Step.READMIT, Step.STOP,
    ),
    (Order.START_FIRST, Path.REOPEN): (Step.START, Step.READMIT, Step.STOP),
    (Order.START_FIRST, Path.LEAVE): (Step.START, Step.STOP),
    (Order.STOP_FIRST, Path.FULL): (
        Step.QUIESCE, Step.DRAIN, Step.STOP, Step.START, Step.GATE, Step.ROUTE, Step.READMIT,
    ),
    (Order.STOP_FIRST, Path.REOPEN): (Step.READMIT,),
}  # fmt: skip
_EXTENTS = {
    Step.QUIESCE: Extent.CLOSED,
    Step.DRAIN: Extent.CLOSED,
    Step.ROUTE: Extent.CHANGED,
    Step.READMIT: Extent.CHANGED,
    Step.STOP: Extent.CHANGED,
}
_UNDONE_BY = {
    Order.START_FIRST: {
        Extent.STARTED: Path.LEAVE,
        Extent.CLOSED: Path.REOPEN,
        Extent.CHANGED: Path.FULL,
    },
    Order.STOP_FIRST: {
        Extent.STARTED: Path.NOTHING,
        Extent.CLOSED: Path.REOPEN,
        Extent.CHANGED: Path.FULL,
    },
}


def steps_of(order: Order, path: Path) -> tuple[Step, ...]:
    """The steps of a path, in their order."""
    return _PATHS.get((order, path), ())


def begin(order: Order, origin: Goal) -> Progress:
    """An operation of which nothing is done yet."""
    path = Path.FULL
    step = steps_of(order, path)[0]
    return Progress(order, origin, origin, path, step, Extent.STARTED, Status.PLANNED)


def entered(progress: Progress) -> Progress:
    """The operation as its step is about to be done; this is written down before it is."""
    assert progress.step is not None, "an operation that is over does nothing"
    extent = progress.extent
    if not progress.is_undoing and progress.path is Path.FULL:
        extent = max(extent, _EXTENTS.get(progress.step, Extent.STARTED))
    return replace(progress, status=Status.RUNNING, extent=extent)


def advance(progress: Progress) -> Progress:
    """Its step is done: the next one, or the end."""
    steps = steps_of(progress.order, progress.path)
    assert progress.step in steps, "an operation is at a step of its path"
    rest = steps[steps.index(progress.step) + 1 :]
    if rest:
        return replace(progress, step=rest[0])
    return _over(progress)


def fail(progress: Progress) -> Progress:
    """Its step failed: what was begun is undone; an undoing waits for somebody to take it up."""
    if progress.is_undoing:
        return replace(progress, status=Status.FAILED)
    return _undoing(progress)


def is_possible(progress: Progress) -> bool:
    """Whether an operation can be there; what was read from a disk may be anything."""
    if progress.step is None:
        return progress.status in {Status.COMPLETE, Status.FAILED}
    is_on_path = progress.step in steps_of(progress.order, progress.path)
    return is_on_path and progress.status is not Status.COMPLETE


def needs_opening(progress: Progress) -> bool:
    """Whether a step that failed leaves tiers closed although their route leads to what runs.

    An undoing is not undone, so nobody else would open them before it is taken up again.
    """
    is_route_old = progress.step is Step.ROUTE and progress.order is Order.START_FIRST
    return progress.is_undoing and (progress.step in {Step.QUIESCE, Step.DRAIN} or is_route_old)


def resume(progress: Progress) -> Progress | None:
    """The operation taken up again towards the same goal; None if there is nothing left to do."""
    if progress.step is None:
        return None
    if progress.order is Order.START_FIRST and progress.step is Step.STOP:
        # All else is done; callers are served, so nothing is closed again.
        return replace(progress, path=Path.LEAVE, step=Step.START)
    return replace(progress, step=steps_of(progress.order, progress.path)[0])


def turn(progress: Progress, wanted: Goal) -> Progress | None:
    """An operation that is not over, from now on towards `wanted`; None if it is over."""
    if progress.step is None or progress.goal is wanted:
        return resume(progress)
    if not progress.is_undoing:
        return _undoing(progress)
    again = begin(progress.order, wanted)  # it was undone half-way, and is wanted after all
    return replace(again, origin=progress.origin, extent=Extent.CHANGED)


def roll_back(progress: Progress) -> Progress | None:
    """The way to the rollback side; None if the operation has already ended there.

    From a complete promotion it is a switch of its own, which is itself undone if it fails.
    """
    if progress.step is not None:
        return turn(progress, Goal.ROLLBACK)
    is_applied = progress.goal is Goal.TARGET and progress.status is Status.COMPLETE
    return begin(progress.order, Goal.ROLLBACK) if is_applied else None


def _undoing(progress: Progress) -> Progress:
    path = _UNDONE_BY[progress.order][progress.extent]
    steps = steps_of(progress.order, path)
    back = replace(progress, goal=progress.goal.other, path=path)
    return replace(back, step=steps[0]) if steps else _over(back)


def _over(progress: Progress) -> Progress:
    status = Status.FAILED if progress.is_undoing else Status.COMPLETE
    return replace(progress, step=None, status=status)
