"""Any sequence of messages to the front door, against a plain list of who is inside."""

from collections import Counter

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

from anvil_trio.actors.messages import (
    OwnerGone,
    RefusalReason,
    Refused,
    Release,
    Ticket,
    Withdraw,
)
from anvil_trio.admission.messages import AdmissionSnapshot, Admitted, Enter
from anvil_trio.admission.state import AdmissionState
from anvil_trio.names import ClientId, OwnerId

OWNERS = st.sampled_from([OwnerId(1), OwnerId(2), OwnerId(3)])
CLIENTS = st.sampled_from([ClientId("p"), ClientId("q"), ClientId("unlisted")])
BUDGETS = st.dictionaries(st.sampled_from([ClientId("p"), ClientId("q")]), st.integers(1, 3))


class DoorMachine(RuleBasedStateMachine):
    """Enters, leaves, withdraws and vanishes in any order."""

    @initialize(limit=st.integers(1, 4), budgets=BUDGETS)
    def open(self, limit, budgets):
        self.limit = limit
        self.budgets = budgets
        self.state = AdmissionState(limit, budgets)
        self.inside: dict[Ticket, ClientId] = {}
        self.gone: set[OwnerId] = set()
        self.number = 0

    @rule(owner=OWNERS, client=CLIENTS)
    def enter(self, owner, client):
        self.number += 1
        ticket = Ticket(owner, self.number)
        replies = self.state.handle(Enter(ticket, client))
        mine = list(self.inside.values()).count(client)
        if owner in self.gone:
            assert replies == ()
        elif mine == self.budgets.get(client):
            assert replies == [(ticket, Refused(RefusalReason.CLIENT_BUSY))]
        elif len(self.inside) < self.limit:
            assert replies == [(ticket, Admitted())]
            self.inside[ticket] = client
        else:
            assert replies == [(ticket, Refused(RefusalReason.SERVER_BUSY))]

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def leave(self, data):
        ticket = data.draw(st.sampled_from(list(self.inside)))
        del self.inside[ticket]
        assert self.state.handle(Release(ticket)) == ()

    @precondition(lambda self: self.inside)
    @rule(data=st.data())
    def withdraw_too_late(self, data):
        ticket = data.draw(st.sampled_from(list(self.inside)))
        assert self.state.handle(Withdraw(ticket)) == ()

    @precondition(lambda self: len(self.gone) < 2)
    @rule(owner=OWNERS)
    def vanish(self, owner):
        late = [ticket for ticket in self.inside if ticket.owner == owner]
        self.inside = {t: client for t, client in self.inside.items() if t.owner != owner}
        self.gone.add(owner)
        assert self.state.handle(OwnerGone(owner)) == ()
        for ticket in late:
            assert self.state.handle(Release(ticket)) == ()

    @invariant()
    def the_counts_are_those_inside(self):
        expected = AdmissionSnapshot(len(self.inside), self.limit, Counter(self.inside.values()))
        assert self.state.snapshot() == expected

    @invariant()
    def the_budgets_sum_to_the_permits(self):
        seen = self.state.snapshot()
        assert sum(seen.active_by_client.values()) == seen.active <= self.limit
        assert all(seen.active_by_client.get(c, 0) <= n for c, n in self.budgets.items())


def test_no_sequence_of_messages_miscounts():
    """Permits are those admitted and not given back, in total and by client, within all limits."""
    run_state_machine_as_test(
        DoorMachine, settings=settings(max_examples=100, stateful_step_count=30, deadline=None)
    )
