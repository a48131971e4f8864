"""The pure tier state: other members, other ceilings, other owners, other tiers."""

import pytest

from anvil_trio.actors.messages import Release, Ticket, Withdraw
from anvil_trio.names import ClientId, MemberId, OwnerId, TierId
from anvil_trio.tiers.messages import Acquire, Reconfigure
from anvil_trio.tiers.state import TierState
from tests.unit.tiers.desk import Desk


class TestReconfigure:
    def test_the_cursor_keeps_its_meaning_by_name(self):
        """After members come and go the next turn is that of the first name after the last."""
        tier = Desk("bd")
        assert tier.took() == "b"
        tier.reconfigure(a=None, c=None, d=None)
        tier.ready("acd")
        assert [tier.took() for _ in range(4)] == ["c", "d", "a", "c"]

    def test_live_leases_stay_and_count(self):
        """A lowered ceiling ends no lease and grants nothing until there is room under it."""
        tier = Desk("a", ceiling=3)
        leases = [tier.acquire() for _ in range(3)]
        tier.reconfigure(1, a=None)
        waiter = tier.acquire()
        assert tier.release(leases[0]) == tier.release(leases[1]) == []
        assert tier.release(leases[2]) == [waiter]

    def test_a_raised_ceiling_serves_the_line_at_once(self):
        """Places that a new configuration brings are granted in that step."""
        tier = Desk("a", ceiling=1)
        tier.acquire()
        waiters = [tier.acquire(), tier.acquire()]
        assert tier.reconfigure(2, a=None) == waiters[:1]
        assert tier.reconfigure(None, a=3) == waiters[1:]

    def test_a_removed_member_disappears_with_its_last_lease(self):
        """A member left out takes no new lease, still counts, and goes when it is empty."""
        tier = Desk("ab")
        on_a, on_b = tier.acquire(), tier.acquire()
        tier.reconfigure(a=None)
        assert [tier.took(), tier.took()] == ["a", "a"]
        assert tier.member("b").active == 1
        assert not tier.member("b").is_eligible
        tier.release(on_b)
        assert [member.member_id for member in tier.look().members] == ["a"]
        tier.release(on_a)

    def test_a_removed_member_without_leases_goes_at_once(self):
        """Nothing is kept of a member that held nothing."""
        tier = Desk("ab")
        tier.reconfigure(a=None)
        assert [member.member_id for member in tier.look().members] == ["a"]

    def test_a_returning_member_is_unknown_until_probed(self):
        """What was found about a member before its removal says nothing about its successor."""
        tier = Desk("ab")
        tier.reconfigure(a=None)
        tier.reconfigure(a=None, b=None)
        assert [tier.took(), tier.took()] == ["a", "a"]
        tier.ready("ab")
        assert tier.took() == "b"

    def test_a_member_that_returns_before_it_is_empty_keeps_its_leases(self):
        """Counters and intent of a member that comes back go on where they were."""
        tier = Desk("ab")
        on_a, on_b = tier.acquire(), tier.acquire()
        tier.quiesce("b")
        tier.reconfigure(a=None)
        drain = tier.drain("b")
        tier.reconfigure(a=None, b=4)
        assert tier.member("b").active == 1
        assert tier.member("b").is_quiesced
        assert tier.release(on_b) == [drain]
        tier.release(on_a)

    def test_a_removed_member_may_be_drained(self):
        """The drain of a removed member ends in the step in which the member disappears."""
        tier = Desk("ab")
        _on_a, on_b = tier.acquire(), tier.acquire()
        tier.reconfigure(a=None)
        drain = tier.drain("b")
        assert tier.release(on_b) == [drain]
        assert tier.answers[drain] == "drained"

    def test_an_impossible_configuration_cannot_be_sent(self):
        """A tier without members or with a ceiling of zero fails in its sender's hands."""
        with pytest.raises(AssertionError, match="has a member"):
            Reconfigure({}, None)
        with pytest.raises(AssertionError, match="positive"):
            Reconfigure({MemberId("a"): 0}, None)
        with pytest.raises(AssertionError, match="positive"):
            Reconfigure({MemberId("a"): None}, 0)


class TestOwners:
    def test_a_gone_owner_gives_back_all_it_held(self):
        """`OwnerGone` frees an owner's leases and serves others with them in the same step."""
        tier = Desk("ab", ceiling=2)
        tier.acquire(owner=2)
        tier.acquire(owner=2)
        tier.acquire(owner=2)
        waiters = [tier.acquire(), tier.acquire()]
        assert tier.owner_gone(2) == waiters
        assert tier.look().waiting == 0

    def test_a_gone_owner_s_drains_are_forgotten(self):
        """Nobody is answered for an owner that has gone, and other drains end with its leases."""
        tier = Desk()
        tier.acquire(owner=2)
        tier.quiesce()
        tier.drain(owner=2)
        ours = tier.drain(owner=1)
        assert tier.owner_gone(2) == [ours]

    def test_late_messages_of_a_gone_owner_are_ignored(self):
        """After `OwnerGone` an owner's releases, withdrawals and questions change nothing."""
        tier = Desk("ab")
        lease = tier.acquire(owner=2)
        tier.owner_gone(2)
        assert tier.release(lease, owner=2) == tier.withdraw(lease, owner=2) == []
        assert tier.took(owner=2) == "waits"
        assert (tier.look().active, tier.look().waiting) == (0, 0)

    def test_an_unknown_lease_of_a_live_owner_is_a_bug(self):
        """Two releases of one lease are not shrugged at, and change nothing."""
        tier = Desk("ab")
        lease = tier.acquire()
        tier.release(lease)
        before = tier.look()
        with pytest.raises(AssertionError, match="given back twice"):
            tier.release(lease)
        assert tier.look() == before

    def test_a_ticket_asks_once(self):
        """A ticket that holds a lease or a place in line cannot ask again."""
        tier = Desk("ab", ceiling=1)
        lease, waiter = tier.acquire(), tier.acquire()
        for number in (lease, waiter):
            with pytest.raises(AssertionError, match="asks once"):
                tier.say(Acquire(tier.ticket(number), ClientId("c")))


class TestNamed:
    def test_quiesce_between_readiness_and_selection_refuses(self):
        """RACE-07, R009: quiesce after the readiness snapshot wins; the drain then sees 0."""
        tier = Desk("ab")
        tier.ready("ab")
        tier.quiesce()
        assert tier.took() == "quiesced"
        assert tier.look().active == 0
        assert tier.answers[tier.drain()] == "drained"

    def test_equal_member_names_in_two_tiers_share_nothing(self):
        """T004: cursor, counters and intent belong to one tier only."""
        one, two = Desk("ab"), Desk("ab")
        assert one.took() == "a"
        one.quiesce()
        one.ready("")
        assert [two.took(), two.took()] == ["a", "b"]
        assert (one.look().active, two.look().active) == (1, 2)

    def test_owners_may_use_equal_numbers(self):
        """A ticket is an owner and a number; two owners never meet in one ticket."""
        state = TierState(TierId("t"), {MemberId("a"): None}, None)
        for owner in (1, 2):
            state.handle(Acquire(Ticket(OwnerId(owner), 1), ClientId("c")))
        state.handle(Withdraw(Ticket(OwnerId(1), 1)))
        assert state.snapshot().waiting == 1
        with pytest.raises(AssertionError):
            state.handle(Release(Ticket(OwnerId(1), 1)))
