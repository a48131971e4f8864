"""What a transition shows of a tier or a member: its counters, its intent and its readiness."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from anvil_trio.config.model import Tier
from anvil_trio.facts import MemberSnapshot, Served, TierPhase, TierSnapshot
from anvil_trio.intent.intents import Intents
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId
from anvil_trio.views.admission import show_admission
from anvil_trio.views.readiness import ShownReadiness, VerdictOf, show_readiness
from anvil_trio.views.replica import show_tier
from anvil_trio.views.shape import ABSENT, Absent, Count, Shape

__all__ = [
    "DrainResult",
    "Drained",
    "DryRun",
    "Intent",
    "IntentRow",
    "Quiesced",
    "Readmission",
    "ReadmitResult",
    "Readmitted",
    "TransitionStatus",
    "judge_readmission",
    "project_row",
    "project_snapshot",
]


class Intent(Shape, frozen=True, kw_only=True):
    """The counters and the intent of a tier or a member.

    A member's has `member_id`, a replica tier's the last two keys, both `max_concurrency`.
    """

    tier_id: str
    member_id: str | Absent = ABSENT
    state: str | None
    reason: str | None
    active_requests: Count | None
    max_concurrency: Count | Absent | None = ABSENT
    draining: bool | None
    member_active_requests: dict[str, Count] | Absent | None = ABSENT
    members: "list[Intent] | Absent" = ABSENT


class IntentRow(Intent, frozen=True, kw_only=True):
    """The same, with what the probes know."""

    ready: bool
    readiness_state: str
    readiness_reason: str
    expected_model: str | None
    observed_model: str | None
    observed_context_limit: Count | None
    metadata_source: Literal["configured", "upstream"]


class TransitionStatus(Shape, frozen=True, kw_only=True):
    """One row per tier, or the one that was asked for."""

    tiers: list[IntentRow]


class Quiesced(Shape, frozen=True, kw_only=True):
    """No new work is taken from here on."""

    applied: Literal[True] = True
    action: Literal["quiesce"] = "quiesce"
    result: Intent


class DrainResult(Shape, frozen=True, kw_only=True):
    """Whether all work ended in time."""

    drained: bool
    timed_out: bool
    snapshot: Intent


class Drained(Shape, frozen=True, kw_only=True):
    """A drain is over."""

    applied: Literal[True] = True
    action: Literal["drain"] = "drain"
    result: DrainResult


class ReadmitResult(Shape, frozen=True, kw_only=True):
    """Whether work is taken again, and why or why not."""

    readmitted: bool
    reason: str
    status: TransitionStatus


class Readmitted(Shape, frozen=True, kw_only=True):
    """A readmission was judged."""

    applied: Literal[True] = True
    action: Literal["readmit"] = "readmit"
    result: ReadmitResult


class DryRun(Shape, frozen=True, kw_only=True):
    """What was ordered could be done, and was not."""

    applied: Literal[False] = False
    dry_run: Literal[True] = True
    action: str
    tier_id: str
    member_id: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class Readmission:
    """Whether what was probed anew may take work again, and why or why not."""

    is_granted: bool
    reason: str


def judge_readmission(tier: Tier, member_id: MemberId | None, verdict_of: VerdictOf) -> Readmission:
    """R011: a member is readmitted if it is ready, a replica tier if any of its members is.

    `identity_not_configured` grants too, and says that nobody has asked which model is served;
    `identity_not_verified` does not: the tier asks, and was not answered.
    """
    readiness = _readiness(tier, member_id, verdict_of)
    if not readiness.is_ready:
        return Readmission(is_granted=False, reason=readiness.reason)
    if not tier.model_identity and not tier.is_upstream_owned:
        return Readmission(is_granted=True, reason="identity_not_configured")
    if _observed(tier, member_id, verdict_of) is None:
        return Readmission(is_granted=False, reason="identity_not_verified")
    return Readmission(is_granted=True, reason="readiness_passed")


def project_snapshot(
    tier: Tier, member_id: MemberId | None, snapshot: TierSnapshot | None, intents: Intents
) -> Intent:
    """The counters and the intent of a tier, or of one of its named members.

    Counts are exact or null (T005.1). A failed tier's `state` is `failed`, whatever is intended.
    """
    shown = show_admission(tier, snapshot)
    if member_id is not None:
        return _member(tier, member_id, shown.members, intents)
    return Intent(
        tier_id=tier.id,
        state=shown.state,
        reason=_reason(tier, None, shown.state, intents),
        active_requests=shown.active,
        max_concurrency=shown.max_concurrency if tier.is_replica else ABSENT,
        draining=shown.is_draining,
        member_active_requests=_counts(shown.members) if tier.is_replica else ABSENT,
        members=[_member(tier, one, shown.members, intents) for one in tier.member_ids]
        if tier.is_replica
        else ABSENT,
    )


def project_row(
    tier: Tier,
    member_id: MemberId | None,
    snapshot: TierSnapshot | None,
    intents: Intents,
    verdict_of: VerdictOf,
) -> IntentRow:
    """One row of the status: the snapshot, and what the probes know.

    A replica tier is `ready` while any member is, quiesced or not. An observed name is shown only
    where it is the expected one, or the engine owns it.
    """
    readiness = _readiness(tier, member_id, verdict_of)
    served = _served(tier, verdict_of)
    intent = project_snapshot(tier, member_id, snapshot, intents)
    return IntentRow(
        tier_id=intent.tier_id,
        member_id=intent.member_id,
        state=intent.state,
        reason=intent.reason,
        active_requests=intent.active_requests,
        max_concurrency=intent.max_concurrency,
        draining=intent.draining,
        member_active_requests=intent.member_active_requests,
        members=intent.members,
        ready=readiness.is_ready,
        readiness_state=readiness.state,
        readiness_reason=readiness.reason,
        expected_model=tier.model,
        observed_model=_observed(tier, member_id, verdict_of),
        observed_context_limit=None if served is None else served.context_limit,
        metadata_source=tier.metadata_source,
    )


def _counts(members: Mapping[MemberId, MemberSnapshot] | None) -> dict[str, int] | None:
    return None if members is None else {one: members[one].active for one in sorted(members)}


def _member(
    tier: Tier,
    member_id: MemberId,
    members: Mapping[MemberId, MemberSnapshot] | None,
    intents: Intents,
) -> Intent:
    known, state = (members or {}).get(member_id), None
    if known is not None:
        state = (TierPhase.QUIESCED if known.is_quiesced else TierPhase.ADMITTING).value
    return Intent(
        tier_id=tier.id,
        member_id=member_id,
        state=state,
        reason=_reason(tier, member_id, state, intents),
        active_requests=known.active if known else None,
        max_concurrency=known.max_concurrency if known else None,
        draining=known.is_draining if known else None,
    )


def _reason(
    tier: Tier, member_id: MemberId | None, state: str | None, intents: Intents
) -> str | None:
    """Why it is quiesced; what takes work has no reason."""
    is_quiesced = state == TierPhase.QUIESCED
    return intents.reason(TierId(tier.id), member_id) if is_quiesced else None


def _readiness(tier: Tier, member_id: MemberId | None, verdict_of: VerdictOf) -> ShownReadiness:
    if member_id is None:
        return show_tier(tier, verdict_of).readiness
    return show_readiness(tier, verdict_of(TierId(tier.id), member_id))


def _served(tier: Tier, verdict_of: VerdictOf) -> Served | None:
    """What the engine of a direct tier says that it serves, where it owns that and is ready."""
    if not tier.is_upstream_owned:
        return None
    verdict = verdict_of(TierId(tier.id), DIRECT_MEMBER)
    return verdict.served if verdict.is_ready else None


def _observed(tier: Tier, member_id: MemberId | None, verdict_of: VerdictOf) -> str | None:
    """The expected name, if what is ready has shown that it serves it; an owner's own name."""
    if tier.is_upstream_owned:
        served = _served(tier, verdict_of)
        return None if served is None else served.model
    asked = tier.member_ids if member_id is None else (member_id,)
    verdicts = (verdict_of(TierId(tier.id), one) for one in asked)
    seen = any(one.is_ready and one.observed_model == tier.model for one in verdicts)
    return tier.model if seen and tier.model_identity else None
