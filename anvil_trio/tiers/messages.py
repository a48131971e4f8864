"""What a tier hears and what it answers: frozen values, plain data."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from anvil_trio.actors.messages import Common, Refused, Ticket
from anvil_trio.facts import Pressure, Readiness, Schedule, TierSnapshot
from anvil_trio.names import ClientId, MemberId, SessionId
from anvil_trio.tiers.ranking import Strategy

__all__ = [
    "Acquire",
    "Drain",
    "Drained",
    "Granted",
    "Reconfigure",
    "SetQuiesced",
    "SetReadiness",
    "SetSignals",
    "TierMessage",
    "TierReply",
]


class Acquire(msgspec.Struct, frozen=True):
    """Reserve one member for one request; the waiting line is fair between clients."""

    ticket: Ticket
    client_id: ClientId
    session_id: SessionId | None = None


@dataclass(frozen=True, slots=True)
class SetReadiness:
    """Which members may take new work. Ignored if a higher generation has been heard."""

    readiness: Readiness


@dataclass(frozen=True, slots=True)
class SetSignals:
    """What the members' engines say of their load; a member that is left out is unknown.

    The actor has no clock: whether a value may still be used is said here, and said again by
    whoever reads the engines when age alone has changed it.
    """

    pressures: Mapping[MemberId, Pressure]


@dataclass(frozen=True, slots=True)
class SetQuiesced:
    """The operator's intent for the tier, or for one member. A member it lacks is ignored."""

    is_quiesced: bool
    member_id: MemberId | None = None


@dataclass(frozen=True, slots=True)
class Drain:
    """Tell me when no lease is left in the tier, or on one member; it must be quiesced."""

    ticket: Ticket
    member_id: MemberId | None = None


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """From now on these are the members and the ceilings; None means no ceiling.

    Cursor, intent and live leases stay and count, and so does the strategy where none is named.
    A member that is left out takes no new lease and disappears with its last one. Whoever waits is
    answered only by what `readiness`, if it is given, says of the new members.
    """

    members: Mapping[MemberId, int | None]
    ceiling: int | None
    strategy: Strategy | None = None
    readiness: Readiness | None = None

    def __post_init__(self) -> None:
        """Refuse what no tier may be, in the sender's hands and not in the actor's."""
        assert self.members, "a tier has a member"
        ceilings = (self.ceiling, *self.members.values())
        assert all(ceiling is None or ceiling > 0 for ceiling in ceilings), "a ceiling is positive"


TierMessage = Acquire | SetReadiness | SetSignals | SetQuiesced | Drain | Reconfigure | Common


class Granted(msgspec.Struct, frozen=True):
    """One lease on one member, under the ticket of its `Acquire`; give it back by `Release`.

    `schedule` says how the member was chosen, where more than its turn had a say.
    """

    member_id: MemberId
    schedule: Schedule | None = None


@dataclass(frozen=True, slots=True)
class Drained:
    """At this moment no lease is left, and none can be had until readmission."""


TierReply = Granted | Refused | Drained | TierSnapshot
