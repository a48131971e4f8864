"""Any sequence of messages: the tier state against the plain model, and its promises alone."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from anvil_trio.actors.messages import Inspect, OwnerGone, Refused, Release, Ticket, Withdraw
from anvil_trio.facts import Freshness, Pressure, Readiness, TierPhase
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
from tests.unit.tiers.model import TierModel

MEMBERS = st.sampled_from([MemberId(name) for name in "abcd"])
CEILINGS = st.one_of(st.none(), st.integers(1, 3))
CONFIGURATIONS = st.dictionaries(MEMBERS, CEILINGS, min_size=1)
CLIENTS = st.sampled_from([ClientId(name) for name in "pqr"])
OWNERS = st.sampled_from([OwnerId(1), OwnerId(2), OwnerId(3)])
STRATEGIES = st.sampled_from(Strategy)
SESSIONS = st.none() | st.sampled_from([SessionId(name) for name in "xyz"])
PRESSURES = st.one_of(
    st.integers(0, 3).map(lambda ppm: Pressure(Freshness.FRESH, ppm)),
    st.sampled_from([Freshness.STALE, Freshness.FAILED, Freshness.UNKNOWN]).map(Pressure),
)
INSPECTOR = Ticket(OwnerId(0), 0)


class TierMachine(RuleBasedStateMachine):
    """Says everything that can be said to a tier, in any order."""

    @initialize(members=CONFIGURATIONS, ceiling=CEILINGS, strategy=STRATEGIES)
    def open(self, members, ceiling, strategy):
        self.withdrawn: set[Ticket] = set()
        self.state = TierState(TierId("t"), members, ceiling, self.withdrawn, strategy)
        self.model = TierModel(TierId("t"), dict(members), ceiling, self.withdrawn)
        self.model.strategy = strategy
        self.numbers = 0
        self.generation = 0
        self.waiting: dict[Ticket, ClientId] = {}
        self.leases: list[Ticket] = []
        self.drains: list[Ticket] = []
        self.gone: set[OwnerId] = set()
        self.patience: dict[ClientId, int] = {}

    def ticket(self, owner: OwnerId) -> Ticket:
        self.numbers += 1
        return Ticket(owner, self.numbers)

    def say(self, message: TierMessage) -> None:
        """Both must answer alike; what callers would then know is noted."""
        replies = list(self.state.handle(message))
        assert replies == self.model.handle(message)
        for ticket, reply in replies:
            assert ticket.owner not in self.gone
            match reply:
                case Granted():
                    assert ticket not in self.withdrawn
                    self.note_turn(self.waiting.pop(ticket))
                    self.leases.append(ticket)
                case Refused() if ticket in self.waiting:
                    del self.waiting[ticket]
                case Refused() | Drained() if ticket in self.drains:
                    self.drains.remove(ticket)
        self.note_clients()

    def note_turn(self, served: ClientId) -> None:
        """Fairness: every other client that waits has one grant less to be patient for."""
        for client in self.patience:
            if client != served:
                self.patience[client] -= 1
                assert self.patience[client] >= 0, "a client was passed over too often"
        self.patience.pop(served, None)

    def note_clients(self) -> None:
        """A client's first waiter is granted within k grants while k clients stand in line."""
        clients = {client for ticket, client in self.waiting.items() if not self.has_left(ticket)}
        standing = len(self.state.snapshot().waiting_by_client)
        self.patience = {c: left for c, left in self.patience.items() if c in clients}
        for client in clients:
            self.patience.setdefault(client, standing - 1)

    def has_left(self, ticket: Ticket) -> bool:
        return ticket in self.withdrawn

    @rule(owner=OWNERS, client=CLIENTS, session=SESSIONS)
    def acquire(self, owner, client, session):
        ticket = self.ticket(owner)
        if owner not in self.gone:
            self.waiting[ticket] = client
        self.say(Acquire(ticket, client, session))

    @rule(owner=OWNERS, client=CLIENTS)
    def acquire_and_leave_before_it_is_read(self, owner, client):
        ticket = self.ticket(owner)
        self.withdrawn.add(ticket)
        self.say(Acquire(ticket, client))
        self.say(Withdraw(ticket))
        self.withdrawn.discard(ticket)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def release(self, data):
        ticket = data.draw(st.sampled_from(self.leases))
        self.leases.remove(ticket)
        self.say(Release(ticket))

    @precondition(lambda self: self.waiting or self.drains or self.leases)
    @rule(data=st.data())
    def withdraw(self, data):
        """Also of what was granted meanwhile, which the state ignores."""
        everyone = [*self.waiting, *self.drains, *self.leases]
        ticket = data.draw(st.sampled_from(everyone))
        self.waiting.pop(ticket, None)
        self.withdrawn.discard(ticket)
        if ticket in self.drains:
            self.drains.remove(ticket)
        self.say(Withdraw(ticket))

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def leave_and_be_read_later(self, data):
        ticket = data.draw(st.sampled_from(list(self.waiting)))
        self.withdrawn.add(ticket)
        self.note_clients()

    @precondition(lambda self: self.withdrawn)
    @rule(data=st.data())
    def read_the_late_withdrawal(self, data):
        ticket = data.draw(st.sampled_from(sorted(self.withdrawn, key=lambda one: one.number)))
        self.withdrawn.discard(ticket)
        self.waiting.pop(ticket, None)
        self.say(Withdraw(ticket))

    @rule(eligible=st.frozensets(MEMBERS), age=st.integers(-1, 2))
    def set_readiness(self, eligible, age):
        """Sometimes older than what is known, which is ignored."""
        self.generation += age
        self.say(SetReadiness(Readiness(self.generation, eligible)))

    @rule(pressures=st.dictionaries(MEMBERS, PRESSURES))
    def set_signals(self, pressures):
        self.say(SetSignals(pressures))

    @rule(is_quiesced=st.booleans(), member=st.none() | MEMBERS)
    def set_quiesced(self, is_quiesced, member):
        self.say(SetQuiesced(is_quiesced, member))

    @rule(owner=OWNERS, member=st.none() | MEMBERS)
    def drain(self, owner, member):
        ticket = self.ticket(owner)
        if owner not in self.gone:
            self.drains.append(ticket)
        self.say(Drain(ticket, member))

    @rule(
        members=CONFIGURATIONS,
        ceiling=CEILINGS,
        strategy=st.none() | STRATEGIES,
        eligible=st.none() | st.frozensets(MEMBERS),
    )
    def reconfigure(self, members, ceiling, strategy, eligible):
        """Now and then with what is ready of the new members."""
        readiness = None if eligible is None else Readiness(self.generation, eligible)
        self.say(Reconfigure(members, ceiling, strategy, readiness))

    @precondition(lambda self: len(self.gone) < 2)
    @rule(owner=OWNERS)
    def owner_gone(self, owner):
        late = [ticket for ticket in self.leases if ticket.owner == owner]
        self.gone.add(owner)
        self.leases = [ticket for ticket in self.leases if ticket.owner != owner]
        self.waiting = {t: client for t, client in self.waiting.items() if t.owner != owner}
        self.drains = [ticket for ticket in self.drains if ticket.owner != owner]
        self.note_clients()
        self.say(OwnerGone(owner))
        for ticket in late:
            self.say(Release(ticket))

    @invariant()
    def nothing_is_lost(self):
        """Leases are those granted and not given back; nobody else is counted."""
        ((_, seen),) = self.state.handle(Inspect(INSPECTOR))
        assert seen == self.state.snapshot() == self.model.snapshot()
        assert seen.active == len(self.leases) == sum(m.active for m in seen.members)
        assert seen.waiting >= len([t for t in self.waiting if not self.has_left(t)])
        assert not (seen.phase is TierPhase.QUIESCED and seen.waiting)
        assert not (seen.is_draining and seen.phase is not TierPhase.QUIESCED)


def test_no_sequence_of_messages_tells_the_state_from_the_model():
    """The tier state answers every sequence as the plain model does, and keeps every promise."""
    run_state_machine_as_test(
        TierMachine, settings=settings(max_examples=200, stateful_step_count=40, deadline=None)
    )
