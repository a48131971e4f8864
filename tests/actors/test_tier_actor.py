"""The tier as its callers meet it: handles and tasks around the real actor."""

import trio
import trio.testing

from anvil_trio.actors.caller import Caller
from anvil_trio.actors.messages import Refused
from anvil_trio.actors.supervise import open_actors
from anvil_trio.config.model import Tier
from anvil_trio.facts import Readiness, TierPhase
from anvil_trio.names import DIRECT_MEMBER, MemberId, OwnerId, TierId
from anvil_trio.tiers.actor import TierHandle
from anvil_trio.tiers.lease import Lease
from anvil_trio.tiers.messages import Drained, Granted, TierMessage, TierReply
from anvil_trio.tiers.registry import Tiers
from tests.actors.stage import (
    CLIENT,
    QUIESCED,
    A,
    B,
    Waiter,
    fail_on_crash,
    lease,
    one_tier,
    start,
)


async def test_members_take_turns():
    """R008: sequential requests meet a, b, a, b."""
    async with one_tier() as tier:
        members = []
        for _ in range(4):
            got = await tier.acquire(CLIENT)
            assert isinstance(got, Lease)
            with got:
                members.append(got.member_id)
        assert members == [A, B, A, B]


async def test_concurrent_requests_rotate_fairly():
    """T004: many at once are spread evenly over the ready members."""
    async with one_tier() as tier, trio.open_nursery() as nursery:
        waiters = [Waiter(tier) for _ in range(10)]
        for waiter in waiters:
            nursery.start_soon(waiter.run)
        await trio.testing.wait_all_tasks_blocked()
        members = [waiter.got.member_id for waiter in waiters if isinstance(waiter.got, Lease)]
        assert (members.count(A), members.count(B)) == (5, 5)
        for waiter in waiters:
            waiter.let_go.set()


async def test_a_full_tier_makes_callers_wait_for_a_release():
    """At the ceiling a caller waits, and the release of a lease wakes it."""
    async with one_tier(ceiling=1) as tier, trio.open_nursery() as nursery:
        waiter = Waiter(tier)
        with await lease(tier):
            nursery.start_soon(waiter.run)
            await trio.testing.wait_all_tasks_blocked()
            assert not waiter.is_answered()
            assert (await tier.inspect()).waiting == 1
        await trio.testing.wait_all_tasks_blocked()
        assert isinstance(waiter.got, Lease)
        waiter.let_go.set()


async def test_an_expired_wait_reserves_nothing(autojump_clock):
    """R009: a wait that reaches its deadline holds nothing and turns no cursor."""
    async with one_tier(ceiling=1) as tier:
        with await lease(tier):
            with trio.move_on_after(30) as waiting:
                await tier.acquire(CLIENT)
            assert waiting.cancelled_caught
            assert (await tier.inspect()).waiting == 0
        with await lease(tier) as held:
            assert held.member_id == B


async def test_a_caller_that_leaves_before_it_is_read_reserves_nothing():
    """R009: a request cancelled before the actor read it leaves the cursor alone."""
    async with one_tier() as tier:
        with trio.CancelScope() as scope:
            scope.cancel()
            await tier.acquire(CLIENT)
        with await lease(tier) as held:
            assert held.member_id == A


async def test_a_grant_wins_over_a_cancel_that_comes_after_it():
    """Once granted the lease is returned although cancelled, and the block gives it back."""
    waiter_scope = trio.CancelScope()

    class CancelsOnDelivery(Caller[TierMessage, TierReply]):
        def deliver(self, ticket, reply):
            super().deliver(ticket, reply)
            waiter_scope.cancel()

    async with open_actors(fail_on_crash) as actors:
        actor = start(actors)
        caller = CancelsOnDelivery(OwnerId(2), actor.mailbox.post, Granted)
        actor.connect(OwnerId(2), caller)
        ours = actor.handle(OwnerId(1))
        ours.set_readiness(Readiness(1, frozenset({A, B})))
        waiter = Waiter(TierHandle(TierId("t"), caller))
        waiter.scope = waiter_scope
        await waiter.run()
        assert isinstance(waiter.got, Lease)
        assert waiter.scope.cancelled_caught
        assert (await ours.inspect()).active == 0


async def test_quiesce_refuses_who_waits_and_who_comes():
    """R011: quiescing stops new leases in that step and cancels no running request."""
    async with one_tier(ceiling=1) as tier, trio.open_nursery() as nursery:
        waiter = Waiter(tier)
        with await lease(tier):
            nursery.start_soon(waiter.run)
            await trio.testing.wait_all_tasks_blocked()
            tier.set_quiesced(True)
            assert await tier.acquire(CLIENT) == QUIESCED
            await trio.testing.wait_all_tasks_blocked()
            assert waiter.got == QUIESCED
            assert (await tier.inspect()).active == 1
        tier.set_quiesced(False)
        with await lease(tier):
            pass


async def test_quiesce_between_readiness_and_selection_refuses():
    """RACE-07, R009: a request that saw a ready tier is refused by a quiesce; drain sees 0."""
    async with one_tier() as tier:
        seen = await tier.inspect()
        assert seen.phase is TierPhase.ADMITTING
        assert all(member.is_eligible for member in seen.members)
        tier.set_quiesced(True)
        assert await tier.acquire(CLIENT) == QUIESCED
        assert await tier.drain() == Drained()
        assert (await tier.inspect()).active == 0


async def test_drain_waits_for_the_last_lease():
    """R011: a drain returns when the last member's lease is back, and not before."""
    async with one_tier() as tier, trio.open_nursery() as nursery:
        drained: list[Drained | Refused] = []

        async def drain() -> None:
            drained.append(await tier.drain())

        with await lease(tier):
            with await lease(tier):
                tier.set_quiesced(True)
                nursery.start_soon(drain)
                await trio.testing.wait_all_tasks_blocked()
            await trio.testing.wait_all_tasks_blocked()
            assert drained == []
        await trio.testing.wait_all_tasks_blocked()
        assert drained == [Drained()]


async def test_a_cancelled_drain_leaves_the_tier_quiesced(autojump_clock):
    """Giving up a drain ends only the waiting."""
    async with one_tier() as tier:
        with await lease(tier):
            tier.set_quiesced(True)
            with trio.move_on_after(30) as waiting:
                await tier.drain()
            assert waiting.cancelled_caught
            seen = await tier.inspect()
            assert (seen.phase, seen.is_draining) == (TierPhase.QUIESCED, False)


async def test_one_member_is_quiesced_and_drained_by_itself():
    """A member's drain ends with its own last lease while the tier goes on serving."""
    async with one_tier() as tier:
        with await lease(tier) as on_a, await lease(tier):
            tier.set_quiesced(True, member_id=A)
            on_a.release()
            assert await tier.drain(A) == Drained()
            with await lease(tier) as again:
                assert again.member_id == B


async def test_a_reconfigured_tier_serves_its_new_members():
    """Members and ceilings change under live leases, which stay and count."""
    async with one_tier() as tier, trio.open_nursery() as nursery:
        waiter = Waiter(tier)
        members: dict[MemberId, int | None] = {B: None}
        with await lease(tier):
            tier.reconfigure(members, 1)
            members.clear()
            nursery.start_soon(waiter.run)
            await trio.testing.wait_all_tasks_blocked()
            assert not waiter.is_answered()
        await trio.testing.wait_all_tasks_blocked()
        assert isinstance(waiter.got, Lease)
        assert waiter.got.member_id == B
        waiter.let_go.set()


async def test_the_mailbox_is_bounded_by_the_live_requests():
    """Nobody leaves more than three messages unread, though the mailbox has no limit."""
    callers = 50
    async with open_actors(fail_on_crash) as actors:
        actor = start(actors, ceiling=3)
        tier = actor.handle(OwnerId(1))
        tier.set_readiness(Readiness(1, frozenset({A, B})))
        longest = 0

        async def caller() -> None:
            nonlocal longest
            with trio.move_on_after(0.5):
                got = await tier.acquire(CLIENT)
                assert isinstance(got, Lease)
                with got:
                    longest = max(longest, actor.mailbox.unread)
            longest = max(longest, actor.mailbox.unread)

        async with trio.open_nursery() as nursery:
            for _ in range(callers):
                nursery.start_soon(caller)
        assert 0 < longest <= 3 * callers


async def test_a_configured_tier_opens_with_its_members_and_ceilings():
    """A registry gives a tier of configuration an actor; a direct tier has one member."""
    tier = Tier(id="direct", auth_env="KEY", base_url="http://127.0.0.1:1", max_concurrency=2)
    async with open_actors(fail_on_crash) as actors:
        handle = Tiers(actors, OwnerId(1)).open(tier)
        assert handle.tier_id == "direct"
        handle.set_readiness(Readiness(1, frozenset({DIRECT_MEMBER})))
        with await lease(handle) as held:
            assert held.member_id == DIRECT_MEMBER
        assert (await handle.inspect()).max_concurrency == 2
