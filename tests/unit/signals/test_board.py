"""Whose turn it is, what is told, and when something ends by age."""

import math

from anvil_trio.facts import Freshness, Pressure
from anvil_trio.names import MemberId, TierId
from anvil_trio.signals.board import Board
from anvil_trio.signals.engines import Fault, Observation, SignalState
from anvil_trio.signals.freshness import UNWATCHED

TIER = TierId("t")
A, B, C = (TIER, MemberId("a")), (TIER, MemberId("b")), (TierId("direct"), MemberId(""))
BUSY = Observation(requests_running=4, requests_waiting=0, requests_state=SignalState.VALID)
UNKNOWN = Pressure(Freshness.UNKNOWN)


def board() -> Board:
    """Two members of a ranked tier, and a direct one."""
    return Board({A: 8, B: 4, C: None}, [TIER], 0.0)


def read(board: Board, key, found, at: float) -> None:
    """One reading that takes a tenth of a second."""
    board.begin(key)
    board.settle(key, found, began_at=at, now=at + 0.1)


def test_the_earliest_due_is_next_and_never_while_it_is_read():
    """One reading per engine at a time; the others go first after it."""
    due = board()
    assert due.next_due()[0] == C
    due.begin(C)
    assert due.next_due()[0] == A
    read(due, A, BUSY, 0.0)
    assert due.next_due() == (B, 0.0)
    read(due, B, Fault.HTTP, 0.0)
    assert due.next_due() == (A, 1.1)
    read(due, A, BUSY, 1.5)
    assert due.next_due() == (B, 2.1)


def test_a_tier_is_told_what_changed_once():
    """News names the tiers whose pressures differ from what they were told."""
    told = board()
    assert told.news(0.0) == [(TIER, {"a": UNKNOWN, "b": UNKNOWN})]
    read(told, A, BUSY, 0.0)
    read(told, C, BUSY, 0.0)
    fresh = Pressure(Freshness.FRESH, 500_000)
    assert told.news(0.1) == [(TIER, {"a": fresh, "b": UNKNOWN})]
    assert told.news(0.2) == []
    assert told.news(5.1) == [(TIER, {"a": Pressure(Freshness.STALE), "b": UNKNOWN})]


def test_the_next_expiry_is_when_something_ends_by_age():
    """The soonest end that is still to come, or never."""
    aging = board()
    assert aging.next_expiry(6.0) == math.inf
    read(aging, A, BUSY, 10.0)
    read(aging, B, BUSY, 12.0)
    assert aging.next_expiry(12.0) == math.nextafter(15.0, math.inf)
    assert aging.next_expiry(16.0) == math.nextafter(17.0, math.inf)


def test_an_engine_that_nobody_reads_has_no_numbers():
    """A member that is not watched is unknown, for that reason."""
    assert board().signal((TIER, MemberId("z")), 0.0) is UNWATCHED
