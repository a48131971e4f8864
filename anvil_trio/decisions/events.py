"""What passes through the bus: facts that have already happened, free of content (R012)."""

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.names import MemberId, TierId

__all__ = ["Decided", "DrainChanged", "DrainPhase", "Event", "IntentChanged", "ReadinessChanged"]


class DrainPhase(StrEnum):
    """Where one operator's drain is."""

    STARTED = "started"
    DRAINED = "drained"
    ABANDONED = "abandoned"  # out of time, readmitted, or its operator left


class Decided(msgspec.Struct, frozen=True):
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


@dataclass(frozen=True, slots=True)
class DrainChanged:
    """An operator has begun to wait for a quiesced tier or member to be at rest, or has ended.

    Several may wait for one target; each begins and ends for itself.
    """

    tier_id: TierId
    member_id: MemberId | None
    phase: DrainPhase


Event = Decided | ReadinessChanged | IntentChanged | DrainChanged
