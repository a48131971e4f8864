"""The order in which a tier's members are tried for one reservation. Whole numbers only."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from anvil_trio.facts import MemberScore, Pressure
from anvil_trio.names import MemberId

__all__ = ["Candidate", "Strategy", "emptiest", "round_robin", "score"]


class Strategy(StrEnum):
    """How a tier ranks its eligible members."""

    ROUND_ROBIN = "round_robin"
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One eligible member: ready, open and below its ceiling. None: it has no ceiling."""

    member_id: MemberId
    active: int
    ceiling: int | None
    pressure: Pressure


def round_robin(cursor: MemberId | None, members: Sequence[MemberId]) -> Sequence[MemberId]:
    """R008: all of `members` (sorted), beginning with the first after `cursor`, then round.

    `cursor` is the member selected last, by name and not by place, so that it keeps its meaning
    when members come and go; None before the first selection, which begins with the smallest.
    """
    if cursor is None:
        return members
    start = bisect_right(members, cursor)
    return [*members[start:], *members[:start]]


def score(turn: Sequence[MemberId], candidates: Sequence[Candidate]) -> tuple[MemberScore, ...]:
    """What each candidate is ranked by; `turn` is the order of round robin, which ends all ties.

    Without a ceiling a member's load is nothing, whatever it holds: a share of infinity.
    """
    return tuple(
        MemberScore(
            member_id=one.member_id,
            local_numerator=0 if one.ceiling is None else one.active,
            local_denominator=one.ceiling or 1,
            freshness=one.pressure.freshness,
            upstream_pressure_ppm=one.pressure.ppm or 0,
            rotating_rank=turn.index(one.member_id),
        )
        for one in candidates
    )


def emptiest(scores: Sequence[MemberScore]) -> Sequence[MemberScore]:
    """Those that nothing but their turn tells apart, the next in turn first; never none.

    Exact: the smallest share of their ceilings in use, and among equal shares known pressure
    before unknown, then the smaller pressure. A reservation counts from the moment it is made, so
    that a burst spreads before any engine has heard of it.
    """
    common = math.lcm(*(one.local_denominator for one in scores))

    def key(one: MemberScore) -> tuple[int, bool, int]:
        share = one.local_numerator * (common // one.local_denominator)
        return share, one.upstream_unknown, one.upstream_pressure_ppm

    least = min(map(key, scores))
    equals = [one for one in scores if key(one) == least]
    return sorted(equals, key=lambda one: one.rotating_rank)
