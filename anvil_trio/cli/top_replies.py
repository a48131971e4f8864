"""What `router top` reads: rows of the capacity page and messages of the feed. Pure.

Only the keys below are read; a value of another type is no answer of a router.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec
from pydantic import JsonValue

from anvil_trio.cli.replies import plain_text, read_page

__all__ = [
    "DrainTold",
    "Ended",
    "IntentTold",
    "Lost",
    "MemberRow",
    "Message",
    "ReadinessTold",
    "TierRow",
    "read_message",
    "read_tiers",
]

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One member; None is not known."""

    member_id: str
    is_ready: bool
    reason: str | None
    active: int | None = None
    ceiling: int | None = None
    state: str | None = None
    is_draining: bool | None = None


@dataclass(frozen=True, slots=True)
class TierRow:
    """One tier, and its members where it has some."""

    tier_id: str
    is_ready: bool
    reason: str | None
    state: str | None
    active: int | None
    waiting: int | None
    is_draining: bool | None
    ceiling: int | None
    engine_rate: float | None
    members: tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that has ended."""

    route: str | None
    tier_id: str | None
    member_id: str | None
    outcome: str | None
    latency_ms: int | None
    first_content_ms: int | None
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class ReadinessTold:
    """The readiness of a member, or of a tier without any (None), has changed."""

    tier_id: str
    member_id: str | None
    is_ready: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class IntentTold:
    """A tier (member None) or a member was quiesced or readmitted."""

    tier_id: str
    member_id: str | None
    is_quiesced: bool


@dataclass(frozen=True, slots=True)
class DrainTold:
    """Somebody waits for a tier or a member to be at rest, or no longer."""

    tier_id: str
    member_id: str | None
    has_begun: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """So many events were dropped because we were too slow."""

    count: int


Message = Ended | ReadinessTold | IntentTold | DrainTold | Lost


class _Readiness(msgspec.Struct):
    state: str | None = None
    reason: str | None = None


class _MemberLoad(msgspec.Struct):
    id: str
    state: str | None = None
    active_requests: Count | None = None
    max_concurrency: Count | None = None
    draining: bool | None = None


class _Admission(msgspec.Struct):
    state: str | None = None
    active_requests: Count | None = None
    waiting_requests: Count | None = None
    draining: bool | None = None
    member_active_requests: dict[str, Count] | None = None
    max_concurrency: Count | None = None
    members: list[_MemberLoad] | None = None


class _Member(msgspec.Struct):
    id: str
    readiness: _Readiness


class _Live(msgspec.Struct):
    generation_throughput_tokens_per_second: float | None = None


class _Row(msgspec.Struct):
    id: str
    readiness: _Readiness
    admission: _Admission
    live: _Live = msgspec.field(default_factory=_Live)
    members: list[_Member] = []


class _Capacity(msgspec.Struct):
    data: list[_Row]


class _Record(msgspec.Struct):
    route: str | None = None
    requested_tier: str | None = None
    replica_member_id: str | None = None
    workload_outcome: str | None = None
    latency_ms: Count | None = None
    time_to_first_content_ms: Count | None = None
    total_completion_tokens: Count | None = None


class _Request(msgspec.Struct, tag="request"):
    record: _Record


class _ReadinessMessage(msgspec.Struct, tag="readiness"):
    tier_id: str
    member_id: str | None
    ready: bool
    reason: str


class _IntentMessage(msgspec.Struct, tag="intent"):
    tier_id: str
    member_id: str | None
    quiesced: bool


class _DrainMessage(msgspec.Struct, tag="drain"):
    tier_id: str
    member_id: str | None
    phase: str


class _DroppedMessage(msgspec.Struct, tag="dropped"):
    count: Count


_Told = _Request | _ReadinessMessage | _IntentMessage | _DrainMessage | _DroppedMessage


def read_tiers(page: Mapping[str, JsonValue]) -> tuple[TierRow, ...]:
    """The rows of `GET /v1/models/capacity`. Raises CommandFailed for what is none."""
    return tuple(map(_tier, read_page(page, _Capacity).data))


def read_message(message: Mapping[str, JsonValue]) -> Message | None:
    """What a message of the feed tells; None for a kind that is not shown, or not known."""
    try:
        told = msgspec.convert(message, _Told)
    except msgspec.ValidationError:
        return None
    return _understood(told)


def _understood(told: _Told) -> Message:
    match told:
        case _Request(record=record):
            return _ended(record)
        case _ReadinessMessage():
            reason = plain_text(told.reason)
            return ReadinessTold(told.tier_id, told.member_id, told.ready, reason)
        case _IntentMessage():
            return IntentTold(told.tier_id, told.member_id, told.quiesced)
        case _DrainMessage():
            return DrainTold(told.tier_id, told.member_id, told.phase == "started")
        case _:
            return Lost(told.count)


def _tier(row: _Row) -> TierRow:
    admission = row.admission
    return TierRow(
        tier_id=row.id,
        is_ready=row.readiness.state == "ready",
        reason=plain_text(row.readiness.reason),
        state=plain_text(admission.state),
        active=admission.active_requests,
        waiting=admission.waiting_requests,
        is_draining=admission.draining,
        ceiling=admission.max_concurrency,
        engine_rate=row.live.generation_throughput_tokens_per_second,
        members=tuple(_member(member, admission) for member in row.members),
    )


def _member(member: _Member, admission: _Admission) -> MemberRow:
    load = next((one for one in admission.members or [] if one.id == member.id), None)
    return MemberRow(
        member_id=member.id,
        is_ready=member.readiness.state == "ready",
        reason=plain_text(member.readiness.reason),
        active=(admission.member_active_requests or {}).get(member.id),
        ceiling=None if load is None else load.max_concurrency,
        state=None if load is None else plain_text(load.state),
        is_draining=None if load is None else load.draining,
    )


def _ended(record: _Record) -> Ended:
    return Ended(
        route=plain_text(record.route),
        tier_id=plain_text(record.requested_tier),
        member_id=plain_text(record.replica_member_id),
        outcome=plain_text(record.workload_outcome),
        latency_ms=record.latency_ms,
        first_content_ms=record.time_to_first_content_ms,
        completion_tokens=record.total_completion_tokens,
    )
