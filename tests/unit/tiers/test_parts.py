"""The parts of the tier state: ranking, the line, what is left of a failed tier."""

import pytest

from anvil_trio.actors.messages import Inspect, RefusalReason, Refused, Release
from anvil_trio.facts import MemberSnapshot, TierPhase, TierSnapshot
from anvil_trio.names import ClientId, MemberId, OwnerId
from anvil_trio.tiers.fenced import FencedTier
from anvil_trio.tiers.line import WaitingLine
from anvil_trio.tiers.messages import Acquire, Drain
from anvil_trio.tiers.ranking import round_robin
from tests.unit.tiers.desk import Desk

MEMBERS = [MemberId(name) for name in "bdf"]


def asked(number: int, client: str, owner: int = 1) -> Acquire:
    """One caller in line."""
    return Acquire(Desk.ticket(number, owner), ClientId(client))


@pytest.mark.parametrize(
    ("cursor", "order"),
    [(None, "bdf"), ("", "bdf"), ("b", "dfb"), ("c", "dfb"), ("f", "bdf"), ("z", "bdf")],
)
def test_the_order_begins_after_the_cursor(cursor, order):
    """R008: whether or not the member selected last still exists, its name says who is next."""
    assert "".join(round_robin(cursor, MEMBERS)) == order


def test_a_client_that_leaves_the_line_loses_its_turn():
    """A client whose last waiter left stands behind all others when it comes back."""
    line = WaitingLine(frozenset())
    line.join(asked(1, "a"))
    line.join(asked(2, "b"))
    line.leave(Desk.ticket(1))
    line.join(asked(3, "a"))
    assert [line.take(), line.take(), line.take()] == [asked(2, "b"), asked(3, "a"), None]


def test_one_of_several_waiters_may_leave():
    """A client keeps its turn while it has other waiters."""
    line = WaitingLine(frozenset())
    for number, client in enumerate("aab"):
        line.join(asked(number, client))
    line.leave(Desk.ticket(0))
    assert len(line.waiting) == 2
    assert line.take() == asked(1, "a")


def test_a_whole_owner_leaves_the_line():
    """All waiters of an owner leave together, and nobody else."""
    line = WaitingLine(frozenset())
    line.join(asked(1, "a", owner=1))
    line.join(asked(1, "a", owner=2))
    line.leave_all(OwnerId(1))
    assert line.clear() == [Desk.ticket(1, owner=2)]
    assert line.by_client() == {}


def test_a_fenced_tier_refuses_everyone_and_shows_that_it_failed():
    """A failed tier answers each question with `tier_failed`, and swallows what is told."""
    tier = Desk({"a": 2, "b": None}, ceiling=2)
    lease = tier.acquire()
    tier.quiesce("b")
    fenced = FencedTier(tier.look())
    no = Refused(RefusalReason.TIER_FAILED)
    ticket = Desk.ticket(77)
    assert fenced.handle(Acquire(ticket, ClientId("c"))) == [(ticket, no)]
    assert fenced.handle(Drain(ticket)) == [(ticket, no)]
    assert fenced.handle(Release(Desk.ticket(lease))) == ()
    ((_, shown),) = fenced.handle(Inspect(ticket))
    assert isinstance(shown, TierSnapshot)
    assert shown.phase is TierPhase.FAILED
    assert (shown.active, shown.waiting, shown.is_draining) == (0, 0, False)
    assert shown.members == (
        MemberSnapshot(MemberId("a"), 0, 2, False, False, False),
        MemberSnapshot(MemberId("b"), 0, None, True, False, False),
    )
