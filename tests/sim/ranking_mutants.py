"""Bugs on purpose in the ranking of members: shares, pressures, turns and sessions."""

from tests.support.mutants import Mutant

__all__ = ["RANKING_MUTANTS"]

STATE = "anvil_trio.tiers.state"
MEMBERS = "anvil_trio.tiers.members"
RANKING = "anvil_trio.tiers.ranking"

TURNS = (
    Mutant("cursor is a place", RANKING, "bisect_right(members, cursor)", "1"),
    Mutant(
        "cursor begins with itself",
        RANKING,
        "import bisect_right",
        "import bisect_left as bisect_right",
    ),
)

CAPACITY = (
    Mutant(
        "counts compared instead of shares",
        RANKING,
        "one.local_numerator * (common // one.local_denominator)",
        "one.local_numerator",
    ),
    Mutant(
        "unknown pressure is no pressure",
        RANKING,
        "share, one.upstream_unknown, one",
        "share, False, one",
    ),
    Mutant("pressure before share", RANKING, "        return share, one", "        return 0, one"),
    Mutant(
        "ties broken by name",
        RANKING,
        "    return sorted(equals, key=lambda one: one.rotating_rank)\n",
        "    return equals\n",
    ),
    Mutant(
        "signals of those left out stay",
        MEMBERS,
        "pressures.get(member_id, _UNKNOWN)",
        "pressures.get(member_id, member.pressure)",
    ),
    Mutant(
        "full member is ranked",
        MEMBERS,
        "for member in self._free(self.admitting)\n",
        "for member in map(self._members.__getitem__, self.admitting)\n",
    ),
    Mutant(
        "strategy forgotten",
        STATE,
        "strategy or self._members.strategy",
        "strategy or Strategy.ROUND_ROBIN",
    ),
)

AFFINITY = (
    Mutant(
        "session overrides the order",
        MEMBERS,
        "(one.member_id for one in equals)",
        "(one.member_id for one in scores)",
    ),
    Mutant(
        "session ignored",
        MEMBERS,
        "            chosen = home_of(session_id, (one.member_id for one in equals))\n",
        "            chosen = equals[0].member_id\n",
    ),
    Mutant(
        "session of the waiting forgotten",
        STATE,
        "            grant = self._grant(asked)\n",
        "            grant = self._grant(Acquire(asked.ticket, asked.client_id))\n",
    ),
    Mutant(
        "retired home counts",
        MEMBERS,
        " if not member.is_retired)\n",
        ")\n",
    ),
)

RANKING_MUTANTS = (*TURNS, *CAPACITY, *AFFINITY)
