"""The pure tier state: readiness, quiesce and drain."""

from anvil_trio.facts import TierPhase
from tests.unit.tiers.desk import Desk


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
