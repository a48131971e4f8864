"""Looks over an actor's shoulder: every message, every answer, and what is true after each."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from anvil_trio.actors.caller import Caller
from anvil_trio.actors.messages import (
    Inspect,
    OwnerGone,
    RefusalReason,
    Refused,
    Release,
    Ticket,
    Withdraw,
)
from anvil_trio.admission.messages import (
    AdmissionMessage,
    AdmissionReply,
    AdmissionSnapshot,
    Admitted,
    Enter,
)
from anvil_trio.admission.state import AdmissionState
from anvil_trio.facts import Schedule
from anvil_trio.names import ClientId, OwnerId
from anvil_trio.tiers.messages import (
    Acquire,
    Granted,
    Reconfigure,
    SetReadiness,
    TierMessage,
    TierReply,
)
from anvil_trio.tiers.state import TierState
from tests.support.sim import Reached
from tests.unit.tiers.model import TierModel

__all__ = ["Boom", "WatchedDoor", "WatchedTier"]


class Boom(Exception):  # noqa: N818 - the shortest name for it
    """A crash on purpose."""


class WatchedTier:
    """The real state beside the plain model: they must answer alike, message for message.

    Callers in this process are never granted what they no longer wait for: `near` holds them.
    """

    def __init__(
        self,
        state: TierState,
        model: TierModel,
        near: Mapping[OwnerId, Caller[TierMessage, TierReply]],
        reached: Reached,
    ) -> None:
        self.state = state
        self.model = model
        self.near = near
        self.reached = reached
        self.must_crash = False
        self.has_crashed = False
        self.failure: Exception | None = None

    def handle(self, message: TierMessage) -> Sequence[tuple[Ticket, TierReply]]:
        """What the state answers, once it was found right."""
        if self.must_crash:
            self.has_crashed = True
            raise Boom
        try:
            return self._check(message)
        except Exception as failure:
            self.failure = failure
            raise

    def _check(self, message: TierMessage) -> Sequence[tuple[Ticket, TierReply]]:
        waiting = {ticket for ticket, _ in self.model.line}
        draining = {drain.ticket for drain in self.model.drains}
        replies = self.state.handle(message)
        self._count(message, replies, waiting, draining)
        assert list(replies) == self.model.handle(message)
        snapshot = self.state.snapshot()
        assert snapshot == self.model.snapshot()
        assert snapshot.active == sum(member.active for member in snapshot.members)
        for ticket, reply in replies:
            if isinstance(reply, Granted) and ticket.owner in self.near:
                questions = self.near[ticket.owner].questions()
                assert any(q.ticket == ticket for q in questions if isinstance(q, Acquire))
                assert snapshot.max_concurrency is None or (
                    snapshot.active <= snapshot.max_concurrency
                )
        return replies

    def _count(
        self,
        message: TierMessage,
        replies: Sequence[tuple[Ticket, TierReply]],
        waiting: set[Ticket],
        draining: set[Ticket],
    ) -> None:
        name = type(message).__name__
        for ticket, reply in replies:
            kind = reply.reason.value if isinstance(reply, Refused) else type(reply).__name__
            late = "waiting" if ticket in waiting or ticket in draining else "at once"
            self.reached[f"{kind} {late}"] += 1
            if isinstance(reply, Granted) and reply.schedule is not None:
                self._count_schedule(reply.schedule)
            if ticket in waiting:
                self.reached[f"{name} answered a waiter with {kind}"] += 1
        match message:
            case Withdraw(ticket) if ticket in waiting:
                self.reached["withdrawn while waiting"] += 1
            case Withdraw(ticket) if ticket in draining:
                self.reached["drain withdrawn"] += 1
            case Withdraw(ticket) if ticket in dict(self.model.leases):
                self.reached["withdrawal overtaken by a grant"] += 1
            case Acquire(ticket) if ticket in self.model.withdrawn:
                self.reached["left before it was read"] += 1
            case Acquire(ticket) | Release(ticket) if ticket.owner in self.model.gone:
                self.reached[f"late {name} of a gone owner"] += 1
            case OwnerGone(owner) if any(t.owner == owner for t, _ in self.model.leases):
                self.reached["owner gone with leases"] += 1
            case SetReadiness(readiness) if readiness.generation < self.model.generation:
                self.reached["readiness out of date"] += 1
            case Reconfigure(members):
                held = {member for _, member in self.model.leases}
                if held - set(members):
                    self.reached["removed a member with leases"] += 1

    def _count_schedule(self, schedule: Schedule) -> None:
        shares = [Fraction(s.local_numerator, s.local_denominator) for s in schedule.scores]
        if shares:
            self.reached["ranked by capacity"] += 1
        if shares.count(min(shares, default=Fraction(0))) > 1:
            pressures = {(s.upstream_unknown, s.upstream_pressure_ppm) for s in schedule.scores}
            self.reached["told apart by pressure"] += len(pressures) > 1
        if schedule.is_affinity_hit is not None:
            self.reached["session at home" if schedule.is_affinity_hit else "session away"] += 1


class WatchedDoor:
    """The front door's real state, and a plain count of who is inside."""

    def __init__(
        self,
        state: AdmissionState,
        limit: int,
        budgets: Mapping[ClientId, int],
        reached: Reached,
    ) -> None:
        self.state = state
        self.limit = limit
        self.budgets = budgets
        self.reached = reached
        self.inside: dict[Ticket, ClientId] = {}
        self.failure: Exception | None = None

    def handle(self, message: AdmissionMessage) -> Sequence[tuple[Ticket, AdmissionReply]]:
        """What the state answers, once it was found right."""
        try:
            return self._check(message)
        except Exception as failure:
            self.failure = failure
            raise

    def _check(self, message: AdmissionMessage) -> Sequence[tuple[Ticket, AdmissionReply]]:
        replies = self.state.handle(message)
        match message:
            case Enter(ticket, client_id):
                ((_, reply),) = replies
                assert reply == self._expected(client_id)
                if isinstance(reply, Admitted):
                    self.inside[ticket] = client_id
                word = reply.reason.value if isinstance(reply, Refused) else "entered"
                self.reached[word] += 1
            case Release(ticket):
                del self.inside[ticket]
            case Inspect():
                clients = list(self.inside.values())
                ((_, seen),) = replies
                assert isinstance(seen, AdmissionSnapshot)
                assert seen.active_by_client == {c: clients.count(c) for c in clients}
        seen = self.state.snapshot()
        assert seen.active == len(self.inside) == sum(seen.active_by_client.values())
        assert all(seen.active_by_client.get(c, 0) <= n for c, n in self.budgets.items())
        return replies

    def _expected(self, client_id: ClientId) -> AdmissionReply:
        """A client's own budget is asked first; who has none is bounded by the house alone."""
        if list(self.inside.values()).count(client_id) == self.budgets.get(client_id):
            return Refused(RefusalReason.CLIENT_BUSY)
        if len(self.inside) == self.limit:
            return Refused(RefusalReason.SERVER_BUSY)
        return Admitted()
