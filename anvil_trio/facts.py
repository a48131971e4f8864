"""Small frozen values that pass between packages which may not import one another."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from anvil_trio.names import MemberId, TierId

__all__ = ["MemberSnapshot", "Readiness", "TierPhase", "TierSnapshot", "Verdict"]


@dataclass(frozen=True, slots=True)
class Readiness:
    """Which members may take new work, as one owner found them.

    `generation` rises with each publication for a tier; the tier keeps the highest it was told.
    """

    generation: int
    eligible: frozenset[MemberId]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the last probe of one member found. Reasons come from a closed list only.

    `observed_model` is the served name if it equals the expected one, else None: an unexpected
    name is never kept. `checked_at` is trio time; None before the first probe.
    """

    is_ready: bool
    reason: str
    observed_model: str | None = None
    checked_at: float | None = None


class TierPhase(StrEnum):
    """Whether a tier takes new work."""

    ADMITTING = "admitting"
    QUIESCED = "quiesced"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MemberSnapshot:
    """One member's counters at one moment."""

    member_id: MemberId
    active: int
    max_concurrency: int | None
    is_quiesced: bool
    is_draining: bool
    is_eligible: bool


@dataclass(frozen=True, slots=True)
class TierSnapshot:
    """One tier's counters at one moment; the members' active counts sum to `active`."""

    tier_id: TierId
    phase: TierPhase
    active: int
    waiting: int
    max_concurrency: int | None
    is_draining: bool
    members: tuple[MemberSnapshot, ...]
    waiting_by_client: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
