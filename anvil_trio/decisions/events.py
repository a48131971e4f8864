"""What passes through the bus: facts that have already happened, free of content (R012)."""

from dataclasses import dataclass

from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.names import MemberId, TierId

__all__ = ["Decided", "Event", "IntentChanged", "ReadinessChanged"]


@dataclass(frozen=True, slots=True)
class Decided:
    """A request has ended."""

    record: DecisionRecord


@dataclass(frozen=True, slots=True)
class ReadinessChanged:
    """A member may take new work, or may no longer; `reason` is from the closed list."""

    tier_id: TierId
    member_id: MemberId
    is_ready: bool
    reason: str


@dataclass(frozen=True, slots=True)
class IntentChanged:
    """An operator has quiesced or readmitted a whole tier (`member_id` None) or one member."""

    tier_id: TierId
    member_id: MemberId | None
    is_quiesced: bool


Event = Decided | ReadinessChanged | IntentChanged
