"""The members of one tier: their counters, and who of them takes new work."""

from collections.abc import Mapping
from dataclasses import dataclass

from anvil_trio.facts import MemberSnapshot
from anvil_trio.names import MemberId
from anvil_trio.tiers.ranking import round_robin

__all__ = ["Member", "Members"]


@dataclass(slots=True)
class Member:
    """One member's counter and intent. Retired: left out of the newest configuration."""

    member_id: MemberId
    ceiling: int | None
    active: int = 0
    is_quiesced: bool = False
    is_retired: bool = False

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

    def __init__(self, ceilings: Mapping[MemberId, int | None]) -> None:
        self._members: dict[MemberId, Member] = {}
        self._ready: frozenset[MemberId] | None = None
        self.admitting: list[MemberId] = []
        self.reconfigure(ceilings)

    def find(self, member_id: MemberId) -> Member | None:
        """The member of that name, if the tier has it (still)."""
        return self._members.get(member_id)

    def next_free(self, cursor: MemberId | None) -> Member | None:
        """The member to reserve next: ready, open and below its ceiling, in round-robin order.

        None if there is no such member, and as long as readiness is unknown.
        """
        if self._ready is None:
            return None
        for member_id in round_robin(cursor, self.admitting):
            member = self._members[member_id]
            if member.has_room:
                return member
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

    def set_quiesced(self, member_id: MemberId, *, is_quiesced: bool) -> None:
        """The operator's intent for one member; nothing happens if the tier lacks it."""
        member = self._members.get(member_id)
        if member is not None:
            member.is_quiesced = is_quiesced
            self._refresh()

    def reconfigure(self, ceilings: Mapping[MemberId, int | None]) -> None:
        """Take these members and ceilings; those left out retire.

        Who is left out also loses its readiness: if it returns, it may be another server, and
        what was found before says nothing about it.
        """
        for member_id, member in list(self._members.items()):
            member.is_retired = member_id not in ceilings
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

    def _refresh(self) -> None:
        self.admitting = sorted(
            member_id
            for member_id, member in self._members.items()
            if not member.is_closed and (self._ready is None or member_id in self._ready)
        )
