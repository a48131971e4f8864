"""Which step comes next, and what is undone from where: the protocol of an installation. Pure.

There are two ways. The hot one writes the file and lets the running router take it up. The other
one closes every tier, waits until nothing runs, writes the file, starts the router anew and opens
the tiers again. From each step there is one way back, to the old file with the old configuration at
work; it is decided by the last step that may have had any effect, done or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

__all__ = ["AHEAD", "BACK", "End", "Progress", "Step", "Way", "begin"]


class Way(StrEnum):
    """How the new configuration gets to work."""

    HOT = "hot"
    RESTART = "restart"


class Step(StrEnum):
    """One thing that is made so; the last five lead back."""

    QUIESCE = "quiesce"
    """No tier takes a new request."""
    DRAIN = "drain"
    """Nothing runs."""
    WRITE = "write"
    """The file holds the new bytes."""
    ACTIVATE = "activate"
    """The running router has taken the file up."""
    RESTART = "restart"
    """The operator's restart command has ended well."""
    AWAIT = "await"
    """A new router runs with the new bytes and exactly their tiers."""
    VERIFY = "verify"
    """The router says that the new bytes and exactly their tiers are at work."""
    READMIT = "readmit"
    """What was closed on the way is open, as far as it is ready."""
    RESTORE = "restore"
    """The file is as it was."""
    SETTLE = "settle"
    """The running router has the old configuration at work."""
    RESTART_OLD = "restart_old"
    """The restart command has ended well, once more."""
    AWAIT_OLD = "await_old"
    """The router runs with the old configuration."""
    READMIT_OLD = "readmit_old"
    """What was closed is open again, in reverse order."""


class End(StrEnum):
    """What has become of an installation."""

    INSTALLED = "installed"
    """The new file, and its configuration at work."""
    RESTORED = "restored"
    """The old file, and its configuration at work."""
    UNCERTAIN = "uncertain"
    """It was to be undone, and that did not succeed in full."""


AHEAD: Mapping[Way, tuple[Step, ...]] = MappingProxyType({
    Way.HOT: (Step.WRITE, Step.ACTIVATE, Step.VERIFY, Step.READMIT),
    Way.RESTART: (
        Step.QUIESCE,
        Step.DRAIN,
        Step.WRITE,
        Step.RESTART,
        Step.AWAIT,
        Step.READMIT,
    ),
})

_FILE_ONLY = (Step.RESTORE, Step.READMIT_OLD)
_TAKEN_UP = (Step.RESTORE, Step.SETTLE, Step.READMIT_OLD)
_RESTARTED = (Step.RESTORE, Step.RESTART_OLD, Step.AWAIT_OLD, Step.READMIT_OLD)

BACK: Mapping[tuple[Way, Step], tuple[Step, ...]] = MappingProxyType({
    (Way.HOT, Step.WRITE): _FILE_ONLY,
    (Way.HOT, Step.ACTIVATE): _TAKEN_UP,
    (Way.HOT, Step.VERIFY): _TAKEN_UP,
    (Way.HOT, Step.READMIT): _TAKEN_UP,
    # An earlier installation that was killed may have written the file.
    (Way.RESTART, Step.QUIESCE): _FILE_ONLY,
    (Way.RESTART, Step.DRAIN): _FILE_ONLY,
    (Way.RESTART, Step.WRITE): _FILE_ONLY,
    (Way.RESTART, Step.RESTART): _RESTARTED,
    (Way.RESTART, Step.AWAIT): _RESTARTED,
    (Way.RESTART, Step.READMIT): _RESTARTED,
})
"""The way back from the last step that was entered."""

_POINTLESS: Mapping[Step, frozenset[Step]] = MappingProxyType({
    # Who starts anew, or takes up, what was not put back would have the new bytes again.
    Step.RESTORE: frozenset({Step.SETTLE, Step.RESTART_OLD, Step.AWAIT_OLD}),
    Step.SETTLE: frozenset(),
    Step.RESTART_OLD: frozenset(),
    Step.AWAIT_OLD: frozenset({Step.READMIT_OLD}),
    Step.READMIT_OLD: frozenset(),
})
"""What is left out of a way back once a step of it has failed."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an installation is.

    `steps` are those that are left; `entered` is the last one ahead that may have had an effect.
    """

    way: Way
    steps: tuple[Step, ...]
    entered: Step | None = None
    is_back: bool = False
    is_whole: bool = True

    @property
    def next(self) -> Step | None:
        """What is to be done now; None at the end."""
        return self.steps[0] if self.steps else None

    @property
    def end(self) -> End | None:
        """What has become of it; None while something is left to do."""
        if self.steps:
            return None
        if not self.is_back:
            return End.INSTALLED
        return End.RESTORED if self.is_whole else End.UNCERTAIN

    def enter(self) -> "Progress":
        """The next step may have an effect from now on."""
        return self if self.is_back else replace(self, entered=self.steps[0])

    def advance(self) -> "Progress":
        """The next step is done."""
        return replace(self, steps=self.steps[1:])

    def fail(self) -> "Progress":
        """The next step was not done, or nobody knows.

        Ahead, turn back; on the way back, go on with what still makes sense.
        """
        if not self.is_back:
            back = () if self.entered is None else BACK[self.way, self.entered]
            return replace(self, steps=back, is_back=True)
        failed, *rest = self.steps
        sensible = tuple(step for step in rest if step not in _POINTLESS[failed])
        return replace(self, steps=sensible, is_whole=False)


def begin(way: Way) -> Progress:
    """An installation of which nothing is done."""
    return Progress(way, AHEAD[way])
