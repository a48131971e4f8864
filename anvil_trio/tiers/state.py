"""The heart: what a tier is at one moment, and the only code that changes it. Pure."""

from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType

from anvil_trio.actors.ledger import Ledger
from anvil_trio.actors.messages import (
    Inspect,
    OwnerGone,
    RefusalReason,
    Refused,
    Release,
    Ticket,
    Withdraw,
)
from anvil_trio.facts import Readiness, TierPhase, TierSnapshot
from anvil_trio.names import MemberId, OwnerId, TierId
from anvil_trio.tiers.line import WaitingLine
from anvil_trio.tiers.members import Members
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

__all__ = ["Replies", "TierState"]

Replies = Sequence[tuple[Ticket, TierReply]]


class TierState:
    """Everything about one tier that changes. It knows no trio, no clock and no task.

    After every message: each lease names one member, and the members' active counts sum to the
    number of leases; no grant has taken a tier or a member above its ceiling; nobody waits while
    a place is free or while nothing can be granted; nobody drains what is open or at rest.
    """

    def __init__(
        self,
        tier_id: TierId,
        members: Mapping[MemberId, int | None],
        ceiling: int | None,
        withdrawn: Set[Ticket] = frozenset(),
        strategy: Strategy = Strategy.ROUND_ROBIN,
    ) -> None:
        self._tier_id = tier_id
        self._members = Members(members, strategy)
        self._ceiling = ceiling
        self._generation: int | None = None
        self._cursor: MemberId | None = None
        self._is_quiesced = False
        self._leases: Ledger[MemberId] = Ledger()
        self._line = WaitingLine(withdrawn)
        self._withdrawn = withdrawn
        self._drains: dict[Ticket, MemberId | None] = {}

    def handle(self, message: TierMessage) -> Replies:
        """Take one message; the answers that are due now. Completes, or raises unchanged."""
        if self._leases.gone and self._leases.ignores(message):
            return ()
        match message:
            case Acquire():
                return self._acquire(message)
            case Release(ticket):
                self._members.release(self._leases.give_back(ticket))
            case Withdraw(ticket):
                self._line.leave(ticket)
                self._drains.pop(ticket, None)
                return ()
            case Drain():
                return self._drain(message)
            case Inspect(ticket):
                return [(ticket, self.snapshot())]
            case _:
                self._change(message)
        return self._settle()

    def snapshot(self) -> TierSnapshot:
        """The counters at this moment."""
        draining = self._drains.values()
        return TierSnapshot(
            tier_id=self._tier_id,
            phase=TierPhase.QUIESCED if self._is_quiesced else TierPhase.ADMITTING,
            active=len(self._leases),
            waiting=len(self._line.waiting),
            max_concurrency=self._ceiling,
            is_draining=None in draining,
            members=self._members.snapshots(frozenset(m for m in draining if m is not None)),
            waiting_by_client=MappingProxyType(self._line.by_client()),
        )

    def _acquire(self, message: Acquire) -> Replies:
        ticket = message.ticket
        if ticket in self._withdrawn:
            return ()
        # Nobody is overtaken: while somebody waits there is no place.
        granted = self._grant(message)
        if granted is not None:
            return [granted]
        refusal = self._refusal()
        if refusal is not None:
            return [(ticket, refusal)]
        assert ticket not in self._leases, "a ticket asks once"
        self._line.join(message)
        return ()

    def _drain(self, message: Drain) -> Replies:
        if message.member_id is not None and self._members.find(message.member_id) is None:
            return [(message.ticket, Refused(RefusalReason.UNKNOWN_MEMBER))]
        self._drains[message.ticket] = message.member_id
        return self._settle()

    def _change(
        self, message: SetReadiness | SetSignals | SetQuiesced | Reconfigure | OwnerGone
    ) -> None:
        match message:
            case SetReadiness(readiness):
                self._hear(readiness)
            case SetSignals(pressures):
                self._members.set_signals(pressures)
            case SetQuiesced(is_quiesced, member_id):
                self._set_quiesced(member_id, is_quiesced=is_quiesced)
            case Reconfigure():
                self._reconfigure(message)
            case _:
                self._bury(message.owner)

    def _reconfigure(self, message: Reconfigure) -> None:
        self._ceiling = message.ceiling
        self._members.reconfigure(message.members)
        self._members.strategy = message.strategy or self._members.strategy
        if message.readiness is not None:
            self._hear(message.readiness)

    def _hear(self, readiness: Readiness) -> None:
        if self._generation is None or readiness.generation >= self._generation:
            self._generation = readiness.generation
            self._members.set_ready(readiness.eligible)

    def _set_quiesced(self, member_id: MemberId | None, *, is_quiesced: bool) -> None:
        if member_id is None:
            self._is_quiesced = is_quiesced
        else:
            self._members.set_quiesced(member_id, is_quiesced=is_quiesced)

    def _bury(self, owner: OwnerId) -> None:
        for member_id in self._leases.bury(owner):
            self._members.release(member_id)
        self._line.leave_all(owner)
        for ticket in [ticket for ticket in self._drains if ticket.owner == owner]:
            del self._drains[ticket]

    def _settle(self) -> Replies:
        """Make the invariants true again after any change, and say to whom that matters."""
        replies: list[tuple[Ticket, TierReply]] = []
        if self._line.waiting:
            replies.extend(self._settle_line())
        if self._drains:
            replies.extend(self._settle_drains())
        return replies

    def _settle_line(self) -> Replies:
        refusal = self._refusal()
        if refusal is not None:
            return [(ticket, refusal) for ticket in self._line.clear()]
        granted: list[tuple[Ticket, TierReply]] = []
        while not self._is_full and self._members.has_free:
            asked = self._line.take()
            if asked is None:
                break
            grant = self._grant(asked)
            assert grant is not None, "there was a place"
            granted.append(grant)
        return granted

    @property
    def _is_full(self) -> bool:
        return self._ceiling is not None and len(self._leases) >= self._ceiling

    def _grant(self, asked: Acquire) -> tuple[Ticket, Granted] | None:
        """Reserve the member that is next for this question; None if there is none, or quiesced."""
        if self._is_quiesced or self._is_full:
            return None
        choice = self._members.choose(self._cursor, asked.session_id)
        if choice is None:
            return None
        member, schedule = choice
        self._leases.hold(asked.ticket, member.member_id)
        member.active += 1
        self._cursor = member.member_id
        return asked.ticket, Granted(member.member_id, schedule)

    def _settle_drains(self) -> Replies:
        done: list[tuple[Ticket, TierReply]] = []
        for ticket, member_id in self._drains.items():
            if not self._is_closed(member_id):
                done.append((ticket, Refused(RefusalReason.NOT_QUIESCED)))
            elif self._is_at_rest(member_id):
                done.append((ticket, Drained()))
        for ticket, _ in done:
            del self._drains[ticket]
        return done

    def _refusal(self) -> Refused | None:
        if self._is_quiesced:
            return Refused(RefusalReason.QUIESCED)
        if not self._members.admitting:
            return Refused(RefusalReason.NOT_READY)
        return None

    def _is_closed(self, member_id: MemberId | None) -> bool:
        if member_id is None:
            return self._is_quiesced
        member = self._members.find(member_id)
        return member is None or member.is_closed

    def _is_at_rest(self, member_id: MemberId | None) -> bool:
        if member_id is None:
            return not self._leases
        member = self._members.find(member_id)
        return member is None or not member.active
