"""What may be shown of a tier's counters: all of them, exact and consistent, or none.

A count that cannot be trusted is null. Zero load is a claim, and is made only by a snapshot that
adds up (T005.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from anvil_trio.config.model import Tier
from anvil_trio.facts import MemberSnapshot, TierPhase, TierSnapshot
from anvil_trio.names import MemberId, TierId
from anvil_trio.views.shape import ABSENT, Absent, Count, Shape

__all__ = [
    "Admission",
    "AdmissionMember",
    "ShownAdmission",
    "Snapshots",
    "project_admission",
    "show_admission",
]

Snapshots = Mapping[TierId, TierSnapshot | None]
"""What each tier's actor answered; None or no entry where it did not."""

_MOST = 2**53 - 1
"""The largest integer that every JSON reader keeps exact."""


@dataclass(frozen=True, slots=True)
class ShownAdmission:
    """A tier's counters, or Nones. `state` may be `failed` with nothing else known."""

    state: str | None = None
    active: int | None = None
    waiting: int | None = None
    is_draining: bool | None = None
    members: Mapping[MemberId, MemberSnapshot] | None = None
    max_concurrency: int | None = None


class AdmissionMember(Shape, frozen=True, kw_only=True):
    """One member's counters."""

    id: str
    state: str
    active_requests: Count
    max_concurrency: Count | None
    draining: bool


class Admission(Shape, frozen=True, kw_only=True):
    """A tier's counters at one moment: exact, or null throughout."""

    status: Literal["available", "unavailable"]
    state: str | None
    active_requests: Count | None
    waiting_requests: Count | None
    draining: bool | None
    member_active_requests: dict[str, Count] | Absent | None = ABSENT
    max_concurrency: Count | Absent | None = ABSENT
    members: list[AdmissionMember] | Absent | None = ABSENT


def show_admission(tier: Tier, snapshot: object) -> ShownAdmission:
    """The counters of a whole and consistent snapshot of this very tier, else nothing known."""
    if type(snapshot) is not TierSnapshot or snapshot.tier_id != tier.id:
        return ShownAdmission()
    if snapshot.phase is TierPhase.FAILED:
        return ShownAdmission(state=TierPhase.FAILED.value)
    if not _is_consistent(tier, snapshot):
        return ShownAdmission()
    return ShownAdmission(
        state=snapshot.phase.value,
        active=snapshot.active,
        waiting=snapshot.waiting,
        is_draining=snapshot.is_draining,
        members={member.member_id: member for member in snapshot.members},
        max_concurrency=snapshot.max_concurrency,
    )


def project_admission(tier: Tier, snapshot: object) -> Admission:
    """A row's `admission` block; a direct tier's has no member fields."""
    shown = show_admission(tier, snapshot)
    known = None if shown.members is None else [shown.members[one] for one in tier.member_ids]
    return Admission(
        status="unavailable" if shown.active is None else "available",
        state=shown.state,
        active_requests=shown.active,
        waiting_requests=shown.waiting,
        draining=shown.is_draining,
        member_active_requests=_member_counts(known) if tier.is_replica else ABSENT,
        max_concurrency=shown.max_concurrency if tier.is_capacity else ABSENT,
        members=_members(known) if tier.is_capacity else ABSENT,
    )


def _member_counts(known: list[MemberSnapshot] | None) -> dict[str, int] | None:
    return None if known is None else {member.member_id: member.active for member in known}


def _members(known: list[MemberSnapshot] | None) -> list[AdmissionMember] | None:
    return None if known is None else [_member(member) for member in known]


def _member(member: MemberSnapshot) -> AdmissionMember:
    return AdmissionMember(
        id=member.member_id,
        state=(TierPhase.QUIESCED if member.is_quiesced else TierPhase.ADMITTING).value,
        active_requests=member.active,
        max_concurrency=member.max_concurrency,
        draining=member.is_draining,
    )


def _is_consistent(tier: Tier, snapshot: TierSnapshot) -> bool:
    return (
        _is(TierPhase, snapshot.phase)
        and _has_its_members(tier, snapshot)
        and _adds_up(snapshot)
        and _drains_quiesced(snapshot)
    )


def _has_its_members(tier: Tier, snapshot: TierSnapshot) -> bool:
    """Exactly the configured members, each once, whole."""
    members = snapshot.members
    if not (_is(tuple, members) and all(_is(MemberSnapshot, member) for member in members)):
        return False
    ids = [member.member_id for member in members]
    return len(ids) == len(tier.member_ids) and all(known in ids for known in tier.member_ids)


def _adds_up(snapshot: TierSnapshot) -> bool:
    """Every count and ceiling is an exact integer in range; the members' sum is the tier's."""
    counts = [member.active for member in snapshot.members]
    if not all(map(_is_count, (snapshot.active, snapshot.waiting, *counts))):
        return False
    ceilings = [snapshot.max_concurrency, *(one.max_concurrency for one in snapshot.members)]
    if not all(ceiling is None or _is_count(ceiling) for ceiling in ceilings):
        return False
    return sum(counts) == snapshot.active


def _drains_quiesced(snapshot: TierSnapshot) -> bool:
    """Every statement is a statement, and only what takes no new work can be draining."""
    members = snapshot.members
    statements = [snapshot.is_draining]
    for member in members:
        statements += [member.is_draining, member.is_quiesced]
    if not all(_is(bool, statement) for statement in statements):
        return False
    if snapshot.phase is TierPhase.QUIESCED:
        return True
    return not snapshot.is_draining and all(
        member.is_quiesced or not member.is_draining for member in members
    )


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _is(kind: type, value: object) -> bool:
    """Exactly of this kind: True is no count, and a look-alike is no snapshot."""
    return type(value) is kind
