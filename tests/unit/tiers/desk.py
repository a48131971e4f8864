"""Speaks to a pure tier state in few words, so that a test reads as what happens."""

from collections.abc import Iterable, Mapping

from anvil_trio.actors.messages import Inspect, OwnerGone, Refused, Release, Ticket, Withdraw
from anvil_trio.facts import (
    Freshness,
    MemberSnapshot,
    Pressure,
    Readiness,
    Schedule,
    TierSnapshot,
)
from anvil_trio.names import ClientId, MemberId, OwnerId, SessionId, TierId
from anvil_trio.tiers.messages import (
    Acquire,
    Drain,
    Drained,
    Granted,
    Reconfigure,
    SetQuiesced,
    SetReadiness,
    SetSignals,
    TierMessage,
)
from anvil_trio.tiers.ranking import Strategy
from anvil_trio.tiers.state import TierState

FRESH = Freshness.FRESH

__all__ = ["Desk"]


class Desk:
    """A tier, all of it ready unless said otherwise, and what it answered to each ticket so far.

    One letter is one member: `Desk("ab")`. `Desk(ready=())` has heard that nobody is ready.
    """

    def __init__(
        self,
        members: Mapping[str, int | None] | str = "ab",
        ceiling: int | None = None,
        ready: Iterable[str] | None = None,
        strategy: str = "round_robin",
    ) -> None:
        ceilings = dict.fromkeys(members) if isinstance(members, str) else members
        self.withdrawn: set[Ticket] = set()
        self.state = TierState(
            TierId("t"),
            {MemberId(m): c for m, c in ceilings.items()},
            ceiling,
            self.withdrawn,
            Strategy(strategy),
        )
        self.schedules: dict[int, Schedule | None] = {}
        self.answers: dict[int, str] = {}
        self.number = 0
        self.generation = 0
        self.ready(ceilings if ready is None else ready)

    def say(self, message: TierMessage) -> list[int]:
        """The numbers of the tickets answered by this message."""
        replies = self.state.handle(message)
        for ticket, reply in replies:
            assert ticket.number not in self.answers
            match reply:
                case Granted(member_id, schedule):
                    self.answers[ticket.number] = member_id
                    self.schedules[ticket.number] = schedule
                case Refused(reason):
                    self.answers[ticket.number] = reason.value
                case Drained():
                    self.answers[ticket.number] = "drained"
        return [ticket.number for ticket, _ in replies]

    def acquire(self, client: str = "c", owner: int = 1, session: str | None = None) -> int:
        """The number of a new ticket that has asked for a lease."""
        self.number += 1
        whose = None if session is None else SessionId(session)
        self.say(Acquire(self.ticket(self.number, owner), ClientId(client), whose))
        return self.number

    def took(self, client: str = "c", owner: int = 1, session: str | None = None) -> str:
        """What a new ticket was answered at once: a member, a reason, or `waits`."""
        return self.answers.get(self.acquire(client, owner, session), "waits")

    def signals(self, **ppm: int | None) -> list[int]:
        """These members have fresh pressures, or stale ones (None); the others are unknown."""
        return self.say(
            SetSignals({
                MemberId(name): Pressure(Freshness.STALE if value is None else FRESH, value)
                for name, value in ppm.items()
            })
        )

    def release(self, number: int, owner: int = 1) -> list[int]:
        return self.say(Release(self.ticket(number, owner)))

    def withdraw(self, number: int, owner: int = 1) -> list[int]:
        return self.say(Withdraw(self.ticket(number, owner)))

    def drain(self, member: str | None = None, owner: int = 1) -> int:
        self.number += 1
        who = None if member is None else MemberId(member)
        self.say(Drain(self.ticket(self.number, owner), who))
        return self.number

    def quiesce(self, member: str | None = None, *, on: bool = True) -> list[int]:
        return self.say(SetQuiesced(on, None if member is None else MemberId(member)))

    def readmit(self, member: str | None = None) -> list[int]:
        return self.quiesce(member, on=False)

    def ready(self, members: Iterable[str], generation: int | None = None) -> list[int]:
        self.generation += 1
        eligible = frozenset(MemberId(member) for member in members)
        if generation is None:
            generation = self.generation
        return self.say(SetReadiness(Readiness(generation, eligible)))

    def reconfigure(self, ceiling: int | None = None, **members: int | None) -> list[int]:
        return self.say(Reconfigure({MemberId(m): c for m, c in members.items()}, ceiling))

    def owner_gone(self, owner: int) -> list[int]:
        return self.say(OwnerGone(OwnerId(owner)))

    def look(self) -> TierSnapshot:
        ticket = Ticket(OwnerId(99), 0)
        ((answered, snapshot),) = self.state.handle(Inspect(ticket))
        assert answered == ticket
        assert isinstance(snapshot, TierSnapshot)
        assert snapshot.active == sum(member.active for member in snapshot.members)
        return snapshot

    def member(self, name: str) -> MemberSnapshot:
        return {m.member_id: m for m in self.look().members}[MemberId(name)]

    @staticmethod
    def ticket(number: int, owner: int = 1) -> Ticket:
        return Ticket(OwnerId(owner), number)
