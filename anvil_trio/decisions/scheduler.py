"""The evidence of how a member was selected, as a record keeps it: numbers, names, closed words."""

import msgspec

from anvil_trio.facts import Freshness, MemberScore, Schedule
from anvil_trio.names import is_identifier

__all__ = [
    "NO_ELIGIBLE_MEMBER",
    "SchedulerEvidence",
    "SchedulerScore",
    "checked_evidence",
    "evidence_of",
]

_SELECTED = "selected"
_NO_ELIGIBLE_MEMBER = "no-eligible-member"
_MAX_MEMBERS = 16


class SchedulerScore(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one eligible member was ranked by before the reservation; history, not its load now."""

    member_id: str
    local_numerator: int
    local_denominator: int
    upstream_unknown: bool
    upstream_pressure_ppm: int
    rotating_rank: int
    freshness: Freshness


class SchedulerEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Who was eligible, what each was ranked by, and who was taken; members sorted by id."""

    reason: str
    selected_member_id: str | None
    eligible_member_ids: tuple[str, ...]
    scores: tuple[SchedulerScore, ...]


NO_ELIGIBLE_MEMBER = SchedulerEvidence(
    reason=_NO_ELIGIBLE_MEMBER, selected_member_id=None, eligible_member_ids=(), scores=()
)
"""The tier was asked, and nobody could be taken before the wait was over."""


def evidence_of(schedule: Schedule | None) -> SchedulerEvidence | None:
    """The evidence of a grant; None where no scores were made."""
    if schedule is None or not schedule.scores:
        return None
    return SchedulerEvidence(
        reason=_SELECTED,
        selected_member_id=schedule.selected,
        eligible_member_ids=tuple(one.member_id for one in schedule.scores),
        scores=tuple(map(_score, schedule.scores)),
    )


def checked_evidence(evidence: object, member_id: str | None) -> SchedulerEvidence | None:
    """The evidence if it is whole and fits the record's member, else None: no half is kept."""
    if type(evidence) is not SchedulerEvidence or evidence.selected_member_id != member_id:
        return None
    ids = evidence.eligible_member_ids
    if len(ids) > _MAX_MEMBERS or not all(is_identifier(one) for one in ids):
        return None
    if [one.member_id for one in evidence.scores] != list(ids):
        return None
    is_selected = evidence.reason == _SELECTED and member_id in ids
    is_empty = evidence.reason == _NO_ELIGIBLE_MEMBER and member_id is None and not ids
    return evidence if is_selected or is_empty else None


def _score(one: MemberScore) -> SchedulerScore:
    return SchedulerScore(
        member_id=one.member_id,
        local_numerator=one.local_numerator,
        local_denominator=one.local_denominator,
        upstream_unknown=one.upstream_unknown,
        upstream_pressure_ppm=one.upstream_pressure_ppm,
        rotating_rank=one.rotating_rank,
        freshness=one.freshness,
    )
