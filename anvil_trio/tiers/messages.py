"""What a tier hears and what it answers: frozen values, plain data."""

from collections.abc import Mapping
from dataclasses import dataclass

from anvil_trio.actors.messages import Common, Refused, Ticket
from anvil_trio.facts import Readiness, TierSnapshot
from anvil_trio.names import ClientId, MemberId

__all__ = [
    "Acquire",
    "Drain",
    "Drained",
    "Granted",
    "Reconfigure",
    "SetQuiesced",
    "SetReadiness",
    "TierMessage",
    "TierReply",
]


@dataclass(frozen=True, slots=True)
class Acquire:
    """Reserve one member for one request; the waiting line is fair between clients."""

    ticket: Ticket
    client_id: ClientId


@dataclass(frozen=True, slots=True)
class SetReadiness:
    """Which members may take new work. Ignored if a higher generation has been heard."""

    readiness: Readiness


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

    Cursor, intent and live leases stay and count. A member that is left out takes no new lease
    and disappears with its last one.
    """

    members: Mapping[MemberId, int | None]
    ceiling: int | None

    def __post_init__(self) -> None:
        """Refuse what no tier may be, in the sender's hands and not in the actor's."""
        assert self.members, "a tier has a member"
        ceilings = (self.ceiling, *self.members.values())
        assert all(ceiling is None or ceiling > 0 for ceiling in ceilings), "a ceiling is positive"


TierMessage = Acquire | SetReadiness | SetQuiesced | Drain | Reconfigure | Common


@dataclass(frozen=True, slots=True)
class Granted:
    """One lease on one member, under the ticket of its `Acquire`; give it back by `Release`."""

    member_id: MemberId


@dataclass(frozen=True, slots=True)
class Drained:
    """At this moment no lease is left, and none can be had until readmission."""


TierReply = Granted | Refused | Drained | TierSnapshot
