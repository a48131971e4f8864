"""The order in which a tier's members are tried for one reservation."""

from bisect import bisect_right
from collections.abc import Sequence

from anvil_trio.names import MemberId

__all__ = ["round_robin"]


def round_robin(cursor: MemberId | None, members: Sequence[MemberId]) -> Sequence[MemberId]:
    """R008: all of `members` (sorted), beginning with the first after `cursor`, then round.

    `cursor` is the member selected last, by name and not by place, so that it keeps its meaning
    when members come and go; None before the first selection, which begins with the smallest.
    """
    if cursor is None:
        return members
    start = bisect_right(members, cursor)
    return [*members[start:], *members[:start]]
