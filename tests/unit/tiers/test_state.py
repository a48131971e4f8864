"""The pure tier state, one fact at a time."""

import pytest

from anvil_trio.actors.messages import Release, Ticket, Withdraw
from anvil_trio.facts import TierPhase
from anvil_trio.names import ClientId, MemberId, OwnerId, TierId
from anvil_trio.tiers.messages import Acquire, Reconfigure
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


class TestReadiness:
    def test_waiters_are_judged_by_the_newest_readiness(self):
        """R011: time in line cannot select a member that has since gone."""
        tier = Desk({"a": 1, "b": 1})
        on_a, on_b, waiter = tier.acquire(), tier.acquire(), tier.acquire()
        tier.ready("b")
        assert tier.release(on_a) == []
        assert tier.release(on_b) == [waiter]
        assert tier.answers[waiter] == "b"

    def test_losing_the_last_ready_member_refuses_all_who_wait(self):
        """When nobody is ready any more, waiters are refused in that step."""
        tier = Desk(ceiling=1)
        lease, first, second = tier.acquire(), tier.acquire(), tier.acquire()
        assert tier.ready("") == [first, second]
        assert tier.answers[first] == tier.answers[second] == "no_ready_member"
        assert tier.look().active == 1
        tier.release(lease)

    def test_a_member_that_becomes_ready_serves_the_line_at_once(self):
        """Readiness that frees places grants waiters in that step."""
        tier = Desk({"a": 1, "b": 1}, ready="a")
        tier.acquire()
        waiter = tier.acquire()
        assert tier.ready("ab") == [waiter]
        assert tier.answers[waiter] == "b"

    def test_an_older_generation_is_ignored(self):
        """A probe result from before an invalidation changes nothing."""
        tier = Desk("ab")
        tier.ready("b", generation=7)
        tier.ready("a", generation=6)
        assert tier.took() == "b"

    def test_readiness_never_touches_a_lease(self):
        """R011: losing readiness leaves running requests alone."""
        tier = Desk("a")
        lease = tier.acquire()
        tier.ready("")
        assert tier.member("a").active == 1
        assert not tier.member("a").is_eligible
        tier.release(lease)
        assert tier.look().active == 0


class TestQuiesce:
    def test_quiesce_stops_the_whole_tier(self):
        """R011: a quiesced tier refuses who waits and who comes, and keeps its leases."""
        tier = Desk(ceiling=1)
        lease, waiter = tier.acquire(), tier.acquire()
        assert tier.quiesce() == [waiter]
        assert tier.answers[waiter] == "quiesced"
        assert tier.took() == "quiesced"
        assert (tier.look().phase, tier.look().active) == (TierPhase.QUIESCED, 1)
        tier.release(lease)

    def test_readmission_opens_the_tier_again(self):
        """After `SetQuiesced(False)` a replica tier grants as before, cursor kept."""
        tier = Desk("ab")
        tier.acquire()
        tier.quiesce()
        tier.readmit()
        assert tier.look().phase is TierPhase.ADMITTING
        assert tier.took() == "b"

    def test_a_quiesced_member_takes_no_new_lease(self):
        """Quiescing one member leaves the others serving, and its own leases alive."""
        tier = Desk("ab")
        tier.acquire()
        tier.quiesce("a")
        assert [tier.took(), tier.took()] == ["b", "b"]
        assert tier.member("a").is_quiesced
        assert tier.member("a").active == 1

    def test_quiescing_the_last_open_member_refuses_all_who_wait(self):
        """Nobody waits where no ready member admits."""
        tier = Desk({"a": 1, "b": 1}, ready="a")
        tier.acquire()
        waiter = tier.acquire()
        assert tier.quiesce("a") == [waiter]
        assert tier.answers[waiter] == "no_ready_member"

    def test_readmitting_a_member_serves_the_line_at_once(self):
        """A readmitted member with room grants those who wait, in that step."""
        tier = Desk({"a": 1, "b": 1})
        tier.quiesce("b")
        tier.acquire()
        waiter = tier.acquire()
        assert tier.readmit("b") == [waiter]

    def test_an_unknown_member_is_ignored(self):
        """An intent for a member the tier lacks changes nothing."""
        tier = Desk("a")
        assert tier.quiesce("z") == []
        assert tier.took() == "a"


class TestDrain:
    def test_a_drain_ends_with_the_last_lease(self):
        """R011: a tier is drained when no member holds a lease."""
        tier = Desk("ab")
        first, second = tier.acquire(), tier.acquire()
        tier.quiesce()
        drain = tier.drain()
        assert tier.look().is_draining
        assert tier.release(first) == []
        assert tier.release(second) == [drain]
        assert tier.answers[drain] == "drained"
        assert not tier.look().is_draining

    def test_an_empty_tier_is_drained_at_once(self):
        """A drain of a quiesced tier without leases does not wait."""
        tier = Desk()
        tier.quiesce()
        assert tier.answers[tier.drain()] == "drained"

    def test_a_drain_needs_a_quiesced_tier(self):
        """An open tier is not drained: it would fill again."""
        tier = Desk()
        assert tier.answers[tier.drain()] == "not_quiesced"
        assert tier.answers[tier.drain("a")] == "not_quiesced"

    def test_many_may_wait_for_one_drain(self):
        """Every drain of a tier is answered in the same step."""
        tier = Desk()
        lease = tier.acquire()
        tier.quiesce()
        drains = [tier.drain(), tier.drain()]
        assert tier.release(lease) == drains

    def test_a_withdrawn_drain_is_forgotten(self):
        """Who gave up a drain is not answered, and the tier stays quiesced."""
        tier = Desk()
        lease = tier.acquire()
        tier.quiesce()
        tier.withdraw(tier.drain())
        assert not tier.look().is_draining
        assert tier.release(lease) == []
        assert tier.took() == "quiesced"

    def test_readmission_ends_a_drain(self):
        """A drain of what is open again is refused in that step, not left to wait for ever."""
        tier = Desk()
        lease = tier.acquire()
        tier.quiesce()
        drain = tier.drain()
        assert tier.readmit() == [drain]
        assert tier.answers[drain] == "not_quiesced"
        tier.release(lease)

    def test_a_member_is_drained_by_itself(self):
        """A member's drain ends with its own last lease and looks at no other."""
        tier = Desk("ab")
        on_a, _on_b = tier.acquire(), tier.acquire()
        tier.quiesce("a")
        drain = tier.drain("a")
        assert tier.member("a").is_draining
        assert tier.release(on_a) == [drain]
        assert tier.answers[drain] == "drained"

    def test_a_member_needs_its_own_quiesce(self):
        """The tier's intent and a member's are independent."""
        tier = Desk("ab")
        tier.quiesce()
        assert tier.answers[tier.drain("a")] == "not_quiesced"

    def test_an_unknown_member_cannot_be_drained(self):
        """A drain names a member that the tier has, or is refused."""
        tier = Desk()
        assert tier.answers[tier.drain("z")] == "unknown_member"


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
