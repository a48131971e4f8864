"""The front door's pure state."""

import pytest

from anvil_trio.actors.messages import (
    Inspect,
    OwnerGone,
    RefusalReason,
    Refused,
    Release,
    Ticket,
    Withdraw,
)
from anvil_trio.admission.messages import AdmissionSnapshot, Admitted, Enter
from anvil_trio.admission.state import AdmissionState, FencedAdmission
from anvil_trio.names import ClientId, OwnerId

BUSY = Refused(RefusalReason.SERVER_BUSY)
EXHAUSTED = Refused(RefusalReason.CLIENT_BUSY)


def ticket(number: int, owner: int = 1) -> Ticket:
    """The n-th ticket of an owner."""
    return Ticket(OwnerId(owner), number)


def enter(state: AdmissionState, number: int, client: str = "c", owner: int = 1) -> object:
    """The answer to one `Enter`, which always comes in its own step."""
    ((answered, reply),) = state.handle(Enter(ticket(number, owner), ClientId(client)))
    assert answered == ticket(number, owner)
    return reply


def test_the_limit_is_answered_at_once():
    """Above `max_concurrency` a request is refused in its own step; nobody waits."""
    state = AdmissionState(2)
    assert [enter(state, number) for number in range(3)] == [Admitted(), Admitted(), BUSY]


def test_a_permit_given_back_admits_the_next():
    """A released place is free again, and only one place."""
    state = AdmissionState(1)
    enter(state, 1)
    assert state.handle(Release(ticket(1))) == ()
    assert [enter(state, 2), enter(state, 3)] == [Admitted(), BUSY]


def test_clients_are_counted():
    """A snapshot says how many requests are inside and whose; nobody is listed with zero."""
    state = AdmissionState(5)
    for number, client in enumerate("aab"):
        enter(state, number, client)
    a, b = ClientId("a"), ClientId("b")
    assert state.snapshot() == AdmissionSnapshot(3, 5, {a: 2, b: 1})
    state.handle(Release(ticket(2)))
    assert state.handle(Inspect(ticket(9))) == [(ticket(9), AdmissionSnapshot(2, 5, {a: 2}))]


def test_a_budget_bounds_its_client_alone():
    """A client at its budget is refused at once; another, with a budget or without, is not."""
    state = AdmissionState(10, {ClientId("a"): 2, ClientId("b"): 1})
    asked = ["a", "a", "a", "b", "b", "free", "free", "free"]
    answers = [enter(state, number, client) for number, client in enumerate(asked)]
    yes = Admitted()
    assert answers == [yes, yes, EXHAUSTED, yes, EXHAUSTED, yes, yes, yes]


def test_a_place_of_a_budget_is_free_as_soon_as_it_is_given_back():
    """A refusal counts nothing; the next release lets exactly one in again."""
    state = AdmissionState(10, {ClientId("a"): 1})
    assert [enter(state, number, "a") for number in range(3)] == [Admitted(), EXHAUSTED, EXHAUSTED]
    assert state.handle(Release(ticket(0))) == ()
    assert [enter(state, number, "a") for number in (3, 4)] == [Admitted(), EXHAUSTED]


def test_a_budget_is_told_of_before_the_house():
    """With both at their limit the client hears of its own budget, however full the house is."""
    state = AdmissionState(1, {ClientId("a"): 1})
    assert [enter(state, number, who) for number, who in enumerate("aab")] == [
        Admitted(),
        EXHAUSTED,
        BUSY,
    ]


def test_a_budget_reserves_nothing():
    """Below its budget a client is refused all the same when others have filled the house."""
    state = AdmissionState(2, {ClientId("a"): 2})
    assert [enter(state, number, who) for number, who in enumerate("bba")] == [
        Admitted(),
        Admitted(),
        BUSY,
    ]


def test_a_budget_may_be_larger_than_the_house():
    """Then it never bounds anybody."""
    state = AdmissionState(1, {ClientId("a"): 5})
    assert [enter(state, number, "a") for number in range(2)] == [Admitted(), BUSY]


def test_one_budget_holds_over_all_owners():
    """A client is one, whoever asks for it; a gone owner gives its part back."""
    state = AdmissionState(10, {ClientId("a"): 2})
    answers = [enter(state, 1, "a", owner) for owner in (1, 2, 3)]
    assert answers == [Admitted(), Admitted(), EXHAUSTED]
    state.handle(OwnerGone(OwnerId(2)))
    assert [enter(state, number, "a") for number in (2, 3)] == [Admitted(), EXHAUSTED]


def test_a_gone_owner_gives_back_all_it_held():
    """`OwnerGone` frees an owner's permits; what it still says is ignored."""
    state = AdmissionState(2)
    enter(state, 1, owner=2)
    enter(state, 1, owner=1)
    assert state.handle(OwnerGone(OwnerId(2))) == ()
    assert state.snapshot().active == 1
    assert state.handle(Release(ticket(1, owner=2))) == ()
    assert state.handle(Enter(ticket(2, owner=2), ClientId("c"))) == ()
    assert state.snapshot().active == 1


def test_a_withdrawal_changes_nothing():
    """A permit that met nobody is given back by its handle, not by a `Withdraw`."""
    state = AdmissionState(1)
    enter(state, 1)
    assert state.handle(Withdraw(ticket(1))) == ()
    assert state.snapshot().active == 1


def test_an_unknown_permit_of_a_live_owner_is_a_bug():
    """Two releases of one permit are not shrugged at, and change nothing."""
    state = AdmissionState(1)
    with pytest.raises(AssertionError, match="given back twice"):
        state.handle(Release(ticket(1)))
    assert state.snapshot().active == 0


@pytest.mark.parametrize(("limit", "budget"), [(0, 1), (1, 0), (-1, 1)])
def test_a_door_that_admits_nobody_cannot_be_made(limit, budget):
    """A limit of zero never means "no limit"; it is a bug."""
    with pytest.raises(AssertionError, match="positive"):
        AdmissionState(limit, {ClientId("a"): budget})


def test_a_ticket_enters_once():
    """A ticket that holds a permit cannot ask again."""
    state = AdmissionState(2)
    enter(state, 1)
    with pytest.raises(AssertionError, match="asks once"):
        enter(state, 1)
    assert state.snapshot().active_by_client == {"c": 1}


def test_a_fenced_front_door_lets_nobody_in():
    """A failed front door refuses each `Enter`, swallows releases, and shows that it failed."""
    fenced = FencedAdmission(AdmissionSnapshot(3, 5, {ClientId("c"): 3}))
    no = Refused(RefusalReason.ADMISSION_FAILED)
    assert fenced.handle(Enter(ticket(1), ClientId("c"))) == [(ticket(1), no)]
    assert fenced.handle(Release(ticket(1))) == ()
    shown = AdmissionSnapshot(0, 5, {}, is_failed=True)
    assert fenced.handle(Inspect(ticket(2))) == [(ticket(2), shown)]
