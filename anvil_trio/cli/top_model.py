"""What `router top` knows: one state, and what each event makes of it. Pure, without a clock.

Pages tell everything at intervals, the feed tells changes at once; a page has the last word on
whatever it tells.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from anvil_trio.cli.top_replies import (
    Ended,
    IntentTold,
    Lost,
    MemberRow,
    Message,
    ReadinessTold,
    TierRow,
)

__all__ = [
    "RATE_WINDOW_S",
    "Event",
    "FeedChanged",
    "FeedState",
    "Polled",
    "RouterRow",
    "Seen",
    "Told",
    "Top",
    "Unreached",
    "advance",
    "rate_of",
]

RATE_WINDOW_S = 10.0
"""Over how long tokens per second are counted."""

_MOST_SEEN = 2_000
"""How many ended requests are kept for the rates, whatever their number in the window."""


@dataclass(frozen=True, slots=True)
class RouterRow:
    """The process."""

    version: str | None
    uptime_s: int


@dataclass(frozen=True, slots=True)
class Seen:
    """An ended request, and when we heard of it."""

    at: float
    ended: Ended


class FeedState(StrEnum):
    """What may be said of the feed: fixed words."""

    CONNECTING = "connecting"
    LIVE = "live"
    LOST = "lost, trying again"
    REFUSED = "not for this credential"


@dataclass(frozen=True, slots=True)
class Top:
    """All that is shown. `problem` is why the pages are not answered, by its code; else None."""

    tiers: tuple[TierRow, ...] = ()
    router: RouterRow | None = None
    seen: tuple[Seen, ...] = ()
    feed: FeedState = FeedState.CONNECTING
    lost_events: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Polled:
    """The pages were answered; the status page may not be ours to see."""

    tiers: tuple[TierRow, ...]
    router: RouterRow | None


@dataclass(frozen=True, slots=True)
class Unreached:
    """The pages were not answered."""

    code: str


@dataclass(frozen=True, slots=True)
class FeedChanged:
    """The feed came or went."""

    state: FeedState


@dataclass(frozen=True, slots=True)
class Told:
    """The feed told something, at that moment."""

    message: Message
    at: float


Event = Polled | Unreached | FeedChanged | Told


def advance(top: Top, event: Event) -> Top:
    """The state after one event."""
    match event:
        case Polled():
            tiers = tuple(_with_heard(tier, top.tiers) for tier in event.tiers)
            return replace(top, tiers=tiers, router=event.router, problem=None)
        case Unreached():
            return replace(top, problem=event.code)
        case FeedChanged():
            is_live = event.state is FeedState.LIVE
            tiers = top.tiers if is_live else tuple(map(_without_heard, top.tiers))
            return replace(top, tiers=tiers, feed=event.state)
        case _:
            return _hear(top, event.message, event.at)


def rate_of(top: Top, now: float, tier_id: str, member_id: str | None = None) -> float:
    """Tokens per second of a tier or a member, in answers that ended in the last ten seconds."""
    tokens = sum(
        one.ended.completion_tokens or 0
        for one in top.seen
        if now - one.at <= RATE_WINDOW_S
        and one.ended.tier_id == tier_id
        and member_id in {None, one.ended.member_id}
    )
    return tokens / RATE_WINDOW_S


def _with_heard(tier: TierRow, before: tuple[TierRow, ...]) -> TierRow:
    """A round robin's page has no intent of its members: there what the feed told still holds."""
    known = {
        member.member_id: member
        for old in before
        if old.tier_id == tier.tier_id
        for member in old.members
    }
    return replace(
        tier,
        members=tuple(
            replace(
                member,
                state=known[member.member_id].state,
                is_draining=known[member.member_id].is_draining,
            )
            if member.state is None and member.member_id in known
            else member
            for member in tier.members
        ),
    )


def _without_heard(tier: TierRow) -> TierRow:
    """Without the feed nobody knows whether it still holds; pages tell theirs again."""
    members = (replace(member, state=None, is_draining=None) for member in tier.members)
    return replace(tier, members=tuple(members))


def _hear(top: Top, message: Message, at: float) -> Top:
    match message:
        case Ended():
            return replace(top, seen=(*top.seen, Seen(at, message))[-_MOST_SEEN:])
        case Lost():
            return replace(top, lost_events=top.lost_events + message.count)
        case ReadinessTold():
            ready, reason = message.is_ready, message.reason
            return _change(
                top,
                message.tier_id,
                message.member_id,
                lambda tier: replace(tier, is_ready=ready, reason=reason),
                lambda member: replace(member, is_ready=ready, reason=reason),
            )
        case IntentTold():
            state = "quiesced" if message.is_quiesced else "admitting"
            return _change(
                top,
                message.tier_id,
                message.member_id,
                lambda tier: replace(tier, state=state),
                lambda member: replace(member, state=state),
            )
        case _:
            begun = message.has_begun
            return _change(
                top,
                message.tier_id,
                message.member_id,
                lambda tier: replace(tier, is_draining=begun),
                lambda member: replace(member, is_draining=begun),
            )


def _change(
    top: Top,
    tier_id: str,
    member_id: str | None,
    change_tier: Callable[[TierRow], TierRow],
    change_member: Callable[[MemberRow], MemberRow],
) -> Top:
    """The same with one tier, or one member of it, changed; what is not there is not made up."""

    def changed() -> Iterator[TierRow]:
        for tier in top.tiers:
            if tier.tier_id != tier_id:
                yield tier
            elif member_id is None:
                yield change_tier(tier)
            else:
                yield replace(
                    tier,
                    members=tuple(
                        change_member(member) if member.member_id == member_id else member
                        for member in tier.members
                    ),
                )

    return replace(top, tiers=tuple(changed()))
