"""The pure tier state: who is granted what, and who waits for it."""

from anvil_trio.names import ClientId, MemberId, TierId
from anvil_trio.tiers.messages import Acquire
from anvil_trio.tiers.state import TierState
from tests.unit.tiers.desk import Desk


class TestSelection:
    def test_members_take_turns_from_the_smallest(self):
        """R008: the first lease goes to the lexically smallest member, then round."""
        tier = Desk({"c": None, "a": None, "b": None})
        assert [tier.took() for _ in range(5)] == ["a", "b", "c", "a", "b"]

    def test_an_unready_member_is_skipped_and_returns(self):
        """T004: a member without readiness is passed over and re-enters when it recovers."""
        tier = Desk("ab", ready="a")
        assert [tier.took() for _ in range(3)] == ["a", "a", "a"]
        tier.ready("ab")
        assert [tier.took() for _ in range(2)] == ["b", "a"]

    def test_only_a_reservation_turns_the_cursor(self):
        """R009: a refused or withdrawn request costs nobody a turn."""
        tier = Desk("ab", ceiling=1)
        first = tier.acquire()
        tier.withdraw(tier.acquire())
        tier.quiesce()
        assert tier.took() == "quiesced"
        tier.readmit()
        tier.release(first)
        assert tier.took() == "b"

    def test_a_full_member_is_passed_over(self):
        """A member at its own ceiling takes no more while another has room."""
        tier = Desk({"a": 1, "b": None})
        assert [tier.took() for _ in range(4)] == ["a", "b", "b", "b"]

    def test_a_direct_tier_is_a_tier_of_one_unnamed_member(self):
        """A direct tier grants its one unnamed member up to its ceiling."""
        tier = Desk({"": None}, ceiling=1)
        assert [tier.took(), tier.took()] == ["", "waits"]

    def test_nobody_ready_is_refused_at_once(self):
        """R008: with no eligible member the answer is exhaustion, and nothing is reserved."""
        tier = Desk(ready=())
        assert tier.took() == "no_ready_member"
        assert tier.look().active == 0


class TestCeilings:
    def test_the_tier_ceiling_bounds_the_sum(self):
        """The tier's ceiling holds whatever room its members have."""
        tier = Desk({"a": 5, "b": 5}, ceiling=3)
        assert [tier.took() for _ in range(4)] == ["a", "b", "a", "waits"]

    def test_member_ceilings_bound_each_member(self):
        """When every ready member is full callers wait, and the next place is granted in turn."""
        tier = Desk({"a": 1, "b": 1})
        first, second, third = tier.acquire(), tier.acquire(), tier.acquire()
        assert tier.answers == {first: "a", second: "b"}
        assert tier.release(second) == [third]
        assert tier.answers[third] == "b"

    def test_counts_reconcile(self):
        """T004: the tier's active count is the sum of its members' after every step."""
        tier = Desk("ab")
        leases = [tier.acquire() for _ in range(3)]
        assert (tier.member("a").active, tier.member("b").active) == (2, 1)
        for lease in leases:
            tier.release(lease)
        assert tier.look().active == 0


class TestWaiting:
    def test_at_start_callers_wait_until_readiness_is_known(self):
        """Before the first readiness nobody is granted or refused; then all are judged by it."""
        state = TierState(TierId("t"), {MemberId("a"): None}, None)
        assert state.handle(Acquire(Desk.ticket(1), ClientId("c"))) == ()
        assert state.snapshot().waiting == 1
        assert not state.snapshot().members[0].is_eligible

    def test_at_start_a_tier_without_an_open_member_refuses(self):
        """Unknown readiness is no reason to wait where every member is quiesced."""
        desk = Desk("a")
        desk.state = TierState(TierId("t"), {MemberId("a"): None}, None)
        waiting = desk.acquire()
        assert desk.quiesce("a") == [waiting]
        assert desk.took() == "no_ready_member"

    def test_the_first_readiness_grants_those_who_waited_for_it(self):
        """Callers who came before the first readiness are granted in the step that brings it."""
        desk = Desk("ab")
        desk.state = TierState(TierId("t"), {MemberId("a"): None, MemberId("b"): None}, 2)
        first, second, third = desk.acquire(), desk.acquire(), desk.acquire()
        assert desk.ready("ab") == [first, second]
        assert third not in desk.answers

    def test_a_client_waits_in_order(self):
        """Within one client who came first is served first."""
        tier = Desk(ceiling=1)
        lease, second, third = tier.acquire(), tier.acquire(), tier.acquire()
        assert tier.release(lease) == [second]
        assert tier.release(second) == [third]

    def test_clients_take_turns(self):
        """A client with one waiter is not behind all of another's."""
        tier = Desk(ceiling=1)
        lease = tier.acquire("a")
        a1, a2, b1 = tier.acquire("a"), tier.acquire("a"), tier.acquire("b")
        order = []
        for _ in range(3):
            (lease,) = tier.release(lease)
            order.append(lease)
        assert order == [a1, b1, a2]
        assert tier.look().waiting_by_client == {}

    def test_waiters_are_shown_by_client(self):
        """A snapshot says how many wait, and whose they are."""
        tier = Desk(ceiling=1)
        tier.acquire()
        for client in ("a", "a", "b"):
            tier.acquire(client)
        snapshot = tier.look()
        assert snapshot.waiting == 3
        assert snapshot.waiting_by_client == {"a": 2, "b": 1}

    def test_a_withdrawn_waiter_leaves_the_line(self):
        """R009: who gave up waiting is passed over, and the next in line is served."""
        tier = Desk(ceiling=1)
        lease, gone, patient = tier.acquire(), tier.acquire(), tier.acquire()
        assert tier.withdraw(gone) == []
        assert tier.release(lease) == [patient]

    def test_a_withdrawal_still_on_its_way_costs_nobody_a_turn(self):
        """A place freed before a `Withdraw` is read goes to the next in line all the same."""
        tier = Desk(ceiling=1)
        lease, gone, patient = tier.acquire(), tier.acquire("a"), tier.acquire("b")
        tier.withdrawn.add(tier.ticket(gone))
        assert tier.release(lease) == [patient]
        tier.withdraw(gone)
        assert tier.look().waiting == 0

    def test_a_place_stays_free_when_all_who_waited_have_left(self):
        """Nothing is reserved for callers who have left, and the cursor stands still."""
        tier = Desk(ceiling=1)
        lease, gone = tier.acquire(), tier.acquire()
        tier.withdrawn.add(tier.ticket(gone))
        assert tier.release(lease) == []
        assert tier.look().active == 0
        tier.withdrawn.clear()
        assert tier.took() == "b"

    def test_a_question_withdrawn_before_it_is_read_reserves_nothing(self):
        """R009: an `Acquire` whose caller has left by then is skipped, cursor and all."""
        tier = Desk("ab")
        tier.withdrawn.add(tier.ticket(1))
        assert tier.took() == "waits"
        assert (tier.look().active, tier.look().waiting) == (0, 0)
        assert tier.took() == "a"

    def test_a_withdrawal_after_the_grant_changes_nothing(self):
        """The handle gives back what nobody takes; the state ignores a late `Withdraw`."""
        tier = Desk("ab")
        lease = tier.acquire()
        assert tier.withdraw(lease) == []
        assert tier.look().active == 1
        tier.release(lease)
