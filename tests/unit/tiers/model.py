"""A tier told as slowly and plainly as possible, to compare the real one with.

Nothing here is kept up to date on the way: every answer is worked out from lists of what has
happened. Turns between clients are told by stamps instead of queues.
"""

from collections.abc import Set
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b

from anvil_trio.actors.messages import (
    Inspect,
    OwnerGone,
    RefusalReason,
    Refused,
    Release,
    Ticket,
    Withdraw,
)
from anvil_trio.facts import (
    MemberScore,
    MemberSnapshot,
    Pressure,
    Readiness,
    Schedule,
    TierPhase,
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
    TierReply,
)
from anvil_trio.tiers.ranking import Strategy

__all__ = ["TierModel"]

Replies = list[tuple[Ticket, TierReply]]


@dataclass
class TierModel:
    """The same interface as TierState, and none of its code."""

    tier_id: TierId
    ceilings: dict[MemberId, int | None]
    ceiling: int | None
    withdrawn: Set[Ticket]
    generation: int = -1
    ready: set[MemberId] | None = None
    quiesced: bool = False
    quiesced_members: set[MemberId] = field(default_factory=set)
    leases: list[tuple[Ticket, MemberId]] = field(default_factory=list)
    line: list[tuple[Ticket, ClientId]] = field(default_factory=list)
    stamps: dict[ClientId, int] = field(default_factory=dict)
    clock: int = 0
    drains: list[Drain] = field(default_factory=list)
    retired: dict[MemberId, int | None] = field(default_factory=dict)
    last: MemberId | None = None
    strategy: Strategy = Strategy.ROUND_ROBIN
    pressures: dict[MemberId, Pressure] = field(default_factory=dict)
    sessions: dict[Ticket, SessionId | None] = field(default_factory=dict)
    gone: set[OwnerId] = field(default_factory=set)

    # What follows from the lists.

    def active(self, member: MemberId) -> int:
        return sum(held == member for _, held in self.leases)

    def may_serve(self, member: MemberId) -> bool:
        known = self.ready is None or member in self.ready
        return known and member in self.ceilings and member not in self.quiesced_members

    def has_room(self, member: MemberId) -> bool:
        ceiling = self.ceilings[member]
        return ceiling is None or self.active(member) < ceiling

    def candidates(self) -> list[MemberId]:
        """Members that could be granted this moment, the next in turn first."""
        if self.ready is None or self.quiesced:
            return []
        if self.ceiling is not None and len(self.leases) >= self.ceiling:
            return []
        free = sorted(m for m in self.ceilings if self.may_serve(m) and self.has_room(m))
        later = [m for m in free if self.last is None or m > self.last]
        return later + [m for m in free if m not in later]

    def choice(self, session: SessionId | None) -> tuple[MemberId, Schedule | None]:
        """The member that comes out first of one plain sort, and the note of it."""
        turn = [m for m in sorted(self.ceilings) if self.may_serve(m)]
        turn = [m for m in turn if self.last is None or m > self.last] + [
            m for m in turn if self.last is not None and m <= self.last
        ]
        scores = []
        keys = {}
        for member in sorted(self.candidates()):
            pressure = self.pressures.get(member, Pressure())
            ceiling = self.ceilings[member]
            load = Fraction(0) if ceiling is None else Fraction(self.active(member), ceiling)
            is_unknown = pressure.freshness != "fresh"
            keys[member] = (load, is_unknown, 0 if is_unknown else pressure.ppm)
            scores.append(
                MemberScore(
                    member,
                    0 if ceiling is None else self.active(member),
                    1 if ceiling is None else ceiling,
                    pressure.freshness,
                    0 if is_unknown else pressure.ppm or 0,
                    turn.index(member),
                )
            )
        if self.strategy is Strategy.ROUND_ROBIN:
            scores, keys = [], dict.fromkeys(keys, (Fraction(0), False, 0))
        best = [m for m in turn if m in keys and keys[m] == min(keys.values())]
        if session is None:
            chosen, is_hit = best[0], None
        else:
            homes = {m: blake2b(f"{session} {m}".encode(), digest_size=8).digest() for m in turn}
            homes |= {
                m: blake2b(f"{session} {m}".encode(), digest_size=8).digest() for m in self.ceilings
            }
            chosen = max(best, key=lambda m: homes[m])
            is_hit = chosen == max(homes, key=lambda m: homes[m])
        is_noted = scores or session is not None
        return chosen, Schedule(chosen, tuple(scores), is_hit) if is_noted else None

    def refusal(self) -> Refused | None:
        if self.quiesced:
            return Refused(RefusalReason.QUIESCED)
        if not any(self.may_serve(member) for member in self.ceilings):
            return Refused(RefusalReason.NOT_READY)
        return None

    # What a message does.

    def handle(self, message: TierMessage) -> Replies:
        ticket = getattr(message, "ticket", None)
        if ticket is not None and ticket.owner in self.gone:
            return []
        self.clock += 1
        replies: Replies = []
        if isinstance(message, Acquire):
            if message.ticket in self.withdrawn:
                return []
            self.sessions[message.ticket] = message.session_id
            self.stand(message.ticket, message.client_id)
        elif isinstance(message, Inspect):
            return [(message.ticket, self.snapshot())]
        elif isinstance(message, Drain):
            known = {None, *self.ceilings, *self.retired}
            if message.member_id not in known:
                return [(message.ticket, Refused(RefusalReason.UNKNOWN_MEMBER))]
            self.drains.append(message)
        else:
            self.change(message)
        self.forget_retired()
        replies += self.serve_line()
        replies += self.serve_drains()
        return replies

    def change(self, message: TierMessage) -> None:
        if isinstance(message, Release):
            held = [lease for lease in self.leases if lease[0] == message.ticket]
            assert len(held) == 1
            self.leases.remove(held[0])
        elif isinstance(message, Withdraw):
            self.line = [place for place in self.line if place[0] != message.ticket]
            self.drains = [drain for drain in self.drains if drain.ticket != message.ticket]
        elif isinstance(message, SetReadiness):
            self.hear(message.readiness)
        elif isinstance(message, SetSignals):
            known = {**self.ceilings, **self.retired}
            self.pressures = {m: p for m, p in message.pressures.items() if m in known}
        elif isinstance(message, SetQuiesced):
            self.set_quiesced(message)
        elif isinstance(message, Reconfigure):
            self.reconfigure(message)
        elif isinstance(message, OwnerGone):
            gone = message.owner
            self.gone.add(gone)
            self.leases = [lease for lease in self.leases if lease[0].owner != gone]
            self.line = [place for place in self.line if place[0].owner != gone]
            self.drains = [drain for drain in self.drains if drain.ticket.owner != gone]

    def set_quiesced(self, message: SetQuiesced) -> None:
        if message.member_id is None:
            self.quiesced = message.is_quiesced
        elif message.member_id in self.ceilings or message.member_id in self.retired:
            self.quiesced_members.discard(message.member_id)
            if message.is_quiesced:
                self.quiesced_members.add(message.member_id)

    def reconfigure(self, message: Reconfigure) -> None:
        everyone = {**self.retired, **self.ceilings}
        self.retired = {m: c for m, c in everyone.items() if m not in message.members}
        self.ceilings = dict(message.members)
        self.ceiling = message.ceiling
        self.strategy = message.strategy or self.strategy
        self.pressures = {m: p for m, p in self.pressures.items() if m in self.ceilings}
        if self.ready is not None:
            self.ready = {member for member in self.ready if member in self.ceilings}
        if message.readiness is not None:
            self.hear(message.readiness)

    def hear(self, readiness: Readiness) -> None:
        if readiness.generation >= self.generation:
            self.generation = readiness.generation
            self.ready = set(readiness.eligible)

    def forget_retired(self) -> None:
        for member in [member for member in self.retired if not self.active(member)]:
            del self.retired[member]
            self.quiesced_members.discard(member)
            self.pressures.pop(member, None)

    # The line: the client with the oldest stamp is next, and gets a new one when it is served.

    def stand(self, ticket: Ticket, client: ClientId) -> None:
        if all(other != client for _, other in self.line):
            self.stamps[client] = self.clock
        self.line.append((ticket, client))

    def serve_line(self) -> Replies:
        refusal = self.refusal()
        if refusal is not None:
            refused = [(ticket, refusal) for ticket, _ in self.line]
            self.line = []
            return list(refused)
        granted: Replies = []
        while self.line and self.candidates():
            self.clock += 1
            turn = min((client for _, client in self.line), key=lambda c: self.stamps[c])
            ticket = next(ticket for ticket, client in self.line if client == turn)
            self.line.remove((ticket, turn))
            if ticket in self.withdrawn:
                continue
            self.stamps[turn] = self.clock
            member, schedule = self.choice(self.sessions[ticket])
            self.last = member
            self.leases.append((ticket, member))
            granted.append((ticket, Granted(member, schedule)))
        return granted

    def serve_drains(self) -> Replies:
        replies: Replies = []
        for drain in list(self.drains):
            member = drain.member_id
            if member is None:
                closed, busy = self.quiesced, len(self.leases)
            else:
                closed = member not in self.ceilings or member in self.quiesced_members
                busy = self.active(member)
            if not closed or not busy:
                self.drains.remove(drain)
                answer = Drained() if closed else Refused(RefusalReason.NOT_QUIESCED)
                replies.append((drain.ticket, answer))
        return replies

    def snapshot(self) -> TierSnapshot:
        everyone = sorted({**self.retired, **self.ceilings}.items())
        clients = [client for _, client in self.line]
        return TierSnapshot(
            tier_id=self.tier_id,
            phase=TierPhase.QUIESCED if self.quiesced else TierPhase.ADMITTING,
            active=len(self.leases),
            waiting=len(self.line),
            max_concurrency=self.ceiling,
            is_draining=any(drain.member_id is None for drain in self.drains),
            members=tuple(
                MemberSnapshot(
                    member_id=member,
                    active=self.active(member),
                    max_concurrency=ceiling,
                    is_quiesced=member in self.quiesced_members,
                    is_draining=any(drain.member_id == member for drain in self.drains),
                    is_eligible=self.ready is not None and member in self.ready,
                )
                for member, ceiling in everyone
            ),
            waiting_by_client={client: clients.count(client) for client in clients},
        )
