"""Small frozen values that pass between packages which may not import one another."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from anvil_trio.names import ClientId, MemberId, RequestId, TierId

__all__ = [
    "ActiveRequest",
    "Answer",
    "Freshness",
    "MemberScore",
    "MemberSnapshot",
    "Phase",
    "Pressure",
    "Readiness",
    "Schedule",
    "Served",
    "ServiceFacts",
    "ServiceKind",
    "Silence",
    "TierPhase",
    "TierSnapshot",
    "Verdict",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole HTTP answer; `body` is None where there was more than its reader takes."""

    status: int
    body: bytes | None = None


class Silence(StrEnum):
    """Why there was no answer."""

    BROKEN = "broken"  # refused, reset or no HTTP
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class Readiness:
    """Which members may take new work, as one owner found them.

    `generation` rises with each publication for a tier; the tier keeps the highest it was told.
    """

    generation: int
    eligible: frozenset[MemberId]


@dataclass(frozen=True, slots=True)
class Served:
    """What an engine that owns its tier's metadata serves."""

    model: str
    context_limit: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the last probe of one member found. Reasons come from a closed list only.

    `observed_model` is the served name if it equals the expected one, else None: an unexpected
    name is never kept. `served` is what is adopted of an upstream-owned tier's engine.
    `checked_at` is trio time; None before the first probe. `took_s` is how long the probe took.
    """

    is_ready: bool
    reason: str
    observed_model: str | None = None
    checked_at: float | None = None
    served: Served | None = None
    took_s: float | None = field(default=None, compare=False)


ServiceKind = Literal["embedding", "rerank", "stt", "tts"]


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """What may be shown of a service beside chat.

    `kind` is a record's word, `name` what callers call it. Of several of one kind a caller who
    names none means the one that `is_default`.
    """

    id: str
    kind: ServiceKind
    name: str
    sample_rate: int | None = None
    is_default: bool = False


class Freshness(StrEnum):
    """Whether what an engine said of its load may still be used."""

    FRESH = "fresh"  # at most 5 s old
    STALE = "stale"  # older; the newest reading did not fail
    FAILED = "failed"  # the newest reading failed
    UNKNOWN = "unknown"  # never read, or read and not usable


@dataclass(frozen=True, slots=True)
class Pressure:
    """How loaded one member's engine says it is, in parts per million of its ceiling.

    `ppm` is None unless fresh: what is not known is not zero. It may be above a million.
    """

    freshness: Freshness = Freshness.UNKNOWN
    ppm: int | None = None


@dataclass(frozen=True, slots=True)
class MemberScore:
    """What one eligible member was ranked by, at the moment before a reservation.

    The load is the fraction `local_numerator / local_denominator`. `rotating_rank` is its place in
    the members' turn.
    """

    member_id: MemberId
    local_numerator: int
    local_denominator: int
    freshness: Freshness
    upstream_pressure_ppm: int
    rotating_rank: int

    @property
    def upstream_unknown(self) -> bool:
        """Whether the pressure was unknown; `upstream_pressure_ppm` is then 0 and means nothing."""
        return self.freshness is not Freshness.FRESH


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a selection went: the scores of all eligible members by name, and who was taken.

    `is_affinity_hit` is None unless a session had a say: then, whether its own member was taken.
    """

    selected: MemberId | None
    scores: tuple[MemberScore, ...] = ()
    is_affinity_hit: bool | None = None


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


class Phase(StrEnum):
    """How far a running request has come."""

    CHECKING = "checking"  # its body is read, its gates are passed
    QUEUED = "queued"  # its tier was asked for a member
    ADMITTED = "admitted"  # it has a member; the request is not yet written to it
    DISPATCHED = "dispatched"  # the engine has it, and has not answered
    STREAMING = "streaming"  # the engine's reply is arriving, in events or whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRequest:
    """One running request at one moment, free of content. None is "not known" or "not yet"."""

    gateway_request_id: RequestId
    phase: Phase
    created_unix: float
    session_id: str | None
    client_id: ClientId | None
    route: str
    elapsed_ms: int
    last_activity_ms: int
    admission_wait_ms: int | None
    estimated_input_tokens: int | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_input_tokens: int | None
    context_limit_tokens: int | None
