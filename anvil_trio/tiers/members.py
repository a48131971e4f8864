"""The members of one tier: their counters, and who of them takes new work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anvil_trio.facts import MemberSnapshot, Pressure, Schedule
from anvil_trio.names import MemberId, SessionId
from anvil_trio.tiers.affinity import home_of
from anvil_trio.tiers.ranking import Candidate, Strategy, emptiest, round_robin, score

__all__ = ["Member", "Members"]


_UNKNOWN = Pressure()


@dataclass(slots=True)
class Member:
    """One member's counter and intent. Retired: left out of the newest configuration."""

    member_id: MemberId
    ceiling: int | None
    active: int = 0
    is_quiesced: bool = False
    is_retired: bool = False
    pressure: Pressure = _UNKNOWN

    @property
    def is_closed(self) -> bool:
        """Whether it takes no new lease, whatever its readiness."""
        return self.is_quiesced or self.is_retired

    @property
    def has_room(self) -> bool:
        """Whether one more lease stays within its ceiling."""
        return self.ceiling is None or self.active < self.ceiling


class Members:
    """All members by name, retired ones until their last lease ends.

    `admitting` names the open members that are ready, or may be while readiness is unknown. It
    is kept sorted, since every reservation reads it and only few messages change it.
    """

    def __init__(self, ceilings: Mapping[MemberId, int | None], strategy: Strategy) -> None:
        self.strategy = strategy
        self._members: dict[MemberId, Member] = {}
        self._ready: frozenset[MemberId] | None = None
        self.admitting: list[MemberId] = []
        self.reconfigure(ceilings)

    def find(self, member_id: MemberId) -> Member | None:
        """The member of that name, if the tier has it (still)."""
        return self._members.get(member_id)

    @property
    def has_free(self) -> bool:
        """Whether a member is ready, open and below its ceiling; no while readiness is unknown."""
        return self._ready is not None and bool(self._free(self.admitting))

    def choose(
        self, cursor: MemberId | None, session_id: SessionId | None
    ) -> tuple[Member, Schedule | None] | None:
        """The member to reserve next, and how it was chosen; None if `has_free` is false.

        By the strategy's order; where that sees no difference the session's own member comes
        first, if there is a session, and then whoever's turn it is.
        """
        if self._ready is None:
            return None
        turn = round_robin(cursor, self.admitting)
        if self.strategy is Strategy.CAPACITY:
            return self._choose_by_capacity(turn, session_id)
        if session_id is not None:
            return self._choose_by_session(turn, session_id)
        for member_id in turn:
            member = self._members[member_id]
            if member.has_room:
                return member, None
        return None

    def release(self, member_id: MemberId) -> None:
        """One lease of this member has ended; a retired member disappears with its last."""
        member = self._members[member_id]
        member.active -= 1
        if member.is_retired and not member.active:
            del self._members[member_id]

    def set_ready(self, ready: frozenset[MemberId]) -> None:
        """These and no others are ready."""
        self._ready = ready
        self._refresh()

    def set_signals(self, pressures: Mapping[MemberId, Pressure]) -> None:
        """This is what the engines say now; whoever is left out says nothing."""
        for member_id, member in self._members.items():
            member.pressure = pressures.get(member_id, _UNKNOWN)

    def set_quiesced(self, member_id: MemberId, *, is_quiesced: bool) -> None:
        """The operator's intent for one member; nothing happens if the tier lacks it."""
        member = self._members.get(member_id)
        if member is not None:
            member.is_quiesced = is_quiesced
            self._refresh()

    def reconfigure(self, ceilings: Mapping[MemberId, int | None]) -> None:
        """Take these members and ceilings; those left out retire.

        Who is left out also loses its readiness and its pressure: if it returns, it may be
        another server, and what was found before says nothing about it.
        """
        for member_id, member in list(self._members.items()):
            member.is_retired = member_id not in ceilings
            if member.is_retired:
                member.pressure = _UNKNOWN
            if member.is_retired and not member.active:
                del self._members[member_id]
        if self._ready is not None:
            self._ready &= frozenset(ceilings)
        for member_id, ceiling in ceilings.items():
            member = self._members.setdefault(member_id, Member(member_id, ceiling))
            member.ceiling = ceiling
        self._refresh()

    def snapshots(self, draining: frozenset[MemberId]) -> tuple[MemberSnapshot, ...]:
        """Every member's counters, by name."""
        ready = self._ready or frozenset()
        return tuple(
            MemberSnapshot(
                member_id=member.member_id,
                active=member.active,
                max_concurrency=member.ceiling,
                is_quiesced=member.is_quiesced,
                is_draining=member.member_id in draining,
                is_eligible=member.member_id in ready,
            )
            for _, member in sorted(self._members.items())
        )

    def _free(self, members: Sequence[MemberId]) -> list[Member]:
        """Those with room, in the same order."""
        known = [self._members[member_id] for member_id in members]
        return [member for member in known if member.has_room]

    def _choose_by_session(
        self, turn: Sequence[MemberId], session_id: SessionId
    ) -> tuple[Member, Schedule] | None:
        free = [member.member_id for member in self._free(turn)]
        if not free:
            return None
        chosen = home_of(session_id, free)
        is_hit = self._is_home(chosen, session_id)
        return self._members[chosen], Schedule(chosen, is_affinity_hit=is_hit)

    def _choose_by_capacity(
        self, turn: Sequence[MemberId], session_id: SessionId | None
    ) -> tuple[Member, Schedule] | None:
        scores = score(
            turn,
            [
                Candidate(member.member_id, member.active, member.ceiling, member.pressure)
                for member in self._free(self.admitting)
            ],
        )
        if not scores:
            return None
        equals = emptiest(scores)
        if session_id is None:
            chosen, is_hit = equals[0].member_id, None
        else:
            chosen = home_of(session_id, (one.member_id for one in equals))
            is_hit = self._is_home(chosen, session_id)
        return self._members[chosen], Schedule(chosen, scores, is_hit)

    def _is_home(self, member_id: MemberId, session_id: SessionId) -> bool:
        """Whether the session would get this member if all were free."""
        every = (known for known, member in self._members.items() if not member.is_retired)
        return member_id == home_of(session_id, every)

    def _refresh(self) -> None:
        self.admitting = sorted(
            member_id
            for member_id, member in self._members.items()
            if not member.is_closed and (self._ready is None or member_id in self._ready)
        )
