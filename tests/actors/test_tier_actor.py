"""The tier as its callers meet it: handles and tasks around the real actor."""

from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from anvil_trio.actors.caller import ActorStopped, Caller
from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.actors.supervise import Actors, open_actors
from anvil_trio.config.model import Tier
from anvil_trio.facts import Readiness, TierPhase
from anvil_trio.names import DIRECT_MEMBER, ClientId, MemberId, OwnerId, TierId
from anvil_trio.tiers.actor import TierActor, TierHandle, open_tier
from anvil_trio.tiers.lease import Lease
from anvil_trio.tiers.messages import Acquire, Drained, Granted, TierMessage, TierReply
from anvil_trio.tiers.state import TierState

CLIENT = ClientId("c")
A, B = MemberId("a"), MemberId("b")
QUIESCED = Refused(RefusalReason.QUIESCED)
TIER_FAILED = Refused(RefusalReason.TIER_FAILED)


def fail_on_crash(name: str) -> None:
    """No actor may crash here."""
    raise AssertionError(name)


def start(actors: Actors, name: str = "t", ceiling: int | None = None) -> TierActor:
    """A tier of a and b, both ready, whose actor runs."""
    actor = TierActor(TierId(name), {A: None, B: None}, ceiling)
    actors.start(actor)
    return actor


@asynccontextmanager
async def one_tier(ceiling: int | None = None):
    """A ready tier, in which at the end nothing may be held and nobody may wait."""
    async with open_actors(fail_on_crash) as actors:
        actor = start(actors, ceiling=ceiling)
        tier = actor.handle(OwnerId(1))
        tier.set_readiness(Readiness(1, frozenset({A, B})))
        yield tier
        seen = await tier.inspect()
        assert (seen.active, seen.waiting) == (0, 0)
        assert not actor.mailbox.withdrawn


async def lease(tier: TierHandle) -> Lease:
    """A lease that must be had now."""
    with trio.fail_after(1):
        got = await tier.acquire(CLIENT)
    assert isinstance(got, Lease)
    return got


class Broken:
    """A state with a bug in it."""

    def handle(self, message: object) -> tuple[()]:
        raise ZeroDivisionError("a secret that no event may carry")


class Waiter:
    """A caller in a task of its own; it keeps its lease until told to let go."""

    def __init__(self, tier: TierHandle, client: str = "c") -> None:
        self.tier = tier
        self.client = ClientId(client)
        self.got: Lease | Refused | None = None
        self.scope = trio.CancelScope()
        self.let_go = trio.Event()

    def is_answered(self) -> bool:
        return self.got is not None

    async def run(self) -> None:
        with self.scope:
            got = await self.tier.acquire(self.client)
            self.got = got
            if isinstance(got, Refused):
                return
            with got:
                await self.let_go.wait()


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


async def test_a_gone_owner_gives_back_its_leases_and_is_answered():
    """`owner_gone` frees what another owner held; nobody who asks for it is left waiting."""
    async with open_actors(fail_on_crash) as actors:
        actor = start(actors, ceiling=1)
        ours, theirs = actor.handle(OwnerId(1)), actor.handle(OwnerId(2))
        ours.set_readiness(Readiness(1, frozenset({A, B})))

        async def ask_in_vain() -> None:
            with pytest.raises(ActorStopped):
                await theirs.acquire(CLIENT)

        with await lease(theirs):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask_in_vain)
                await trio.testing.wait_all_tasks_blocked()
                ours.owner_gone(OwnerId(2))
                ours.owner_gone(OwnerId(3))
            with await lease(ours):
                pass
        await ask_in_vain()
        assert (await ours.inspect()).active == 0


async def test_a_grant_that_meets_nobody_is_given_back():
    """Where the hint comes too late, the handle returns the lease that no one takes."""
    async with open_actors(fail_on_crash) as actors:
        actor = start(actors)
        tier = actor.handle(OwnerId(1))
        tier.set_readiness(Readiness(1, frozenset({A, B})))
        seen = await tier.inspect()
        actor.mailbox.post(Acquire(tier._caller.next_ticket(), CLIENT))
        seen = await tier.inspect()
        assert seen.active == 1
        assert (await tier.inspect()).active == 0


async def test_a_release_after_the_actor_has_stopped_is_quiet():
    """Whoever outlives the actors may still leave its block; asking is a late mistake."""
    async with open_actors(fail_on_crash) as actors:
        tier = start(actors).handle(OwnerId(1))
        tier.set_readiness(Readiness(1, frozenset({A, B})))
        held = await lease(tier)
    with held:
        tier.set_quiesced(True)
    with pytest.raises(ActorStopped):
        await tier.acquire(CLIENT)


async def test_everyone_who_waits_is_answered_at_the_end():
    """Actors that end leave nobody behind: waiters, drains, and questions still unread."""
    answered: list[str] = []

    async def expect_stop(name: str, ask) -> None:
        with pytest.raises(ActorStopped):
            await ask()
        answered.append(name)

    async with trio.open_nursery() as nursery:
        async with open_actors(fail_on_crash) as actors:
            tier = start(actors, ceiling=1).handle(OwnerId(1))
            tier.set_readiness(Readiness(1, frozenset({A, B})))
            held = await lease(tier)
            nursery.start_soon(expect_stop, "waiter", lambda: tier.acquire(CLIENT))
            await trio.testing.wait_all_tasks_blocked()
            tier.set_quiesced(True, member_id=A)
            nursery.start_soon(expect_stop, "drain", lambda: tier.drain(A))
            await trio.testing.wait_all_tasks_blocked()
        held.release()
    assert sorted(answered) == ["drain", "waiter"]


async def test_actors_outlive_a_cancelled_block():
    """Releases made while everything is cancelled are still heard: the actor is shielded."""
    with trio.CancelScope() as scope:
        async with open_actors(fail_on_crash) as actors:
            actor = start(actors)
            tier = actor.handle(OwnerId(1))
            tier.set_readiness(Readiness(1, frozenset({A, B})))
            with await lease(tier), await lease(tier):
                scope.cancel()
                await trio.sleep_forever()
    assert scope.cancelled_caught
    assert actor.mailbox.unread == 0
    assert isinstance(actor.machine, TierState)
    assert actor.machine.snapshot().active == 0


async def test_a_crashed_tier_is_fenced_and_the_others_serve():
    """A bug in one tier: waiters get tier_failed, leases end, others serve, status shows it."""
    crashed: list[str] = []
    async with open_actors(crashed.append) as actors, trio.open_nursery() as nursery:
        actor = start(actors, "broken", ceiling=3)
        tier, other = actor.handle(OwnerId(1)), start(actors, "other").handle(OwnerId(2))
        for handle in (tier, other):
            handle.set_readiness(Readiness(1, frozenset({A, B})))
        leases = [await lease(tier) for _ in range(3)]
        waiters = [Waiter(tier), Waiter(tier)]
        drained: list[Drained | Refused] = []

        async def drain() -> None:
            drained.append(await tier.drain(A))

        for waiter in waiters:
            nursery.start_soon(waiter.run)
        tier.set_quiesced(True, member_id=A)
        nursery.start_soon(drain)
        await trio.testing.wait_all_tasks_blocked()
        assert (await tier.inspect()).waiting == 2

        actor.machine = Broken()
        tier.set_quiesced(False, member_id=A)
        late = await tier.acquire(CLIENT)

        await trio.testing.wait_all_tasks_blocked()
        assert [waiter.got for waiter in waiters] == [TIER_FAILED, TIER_FAILED]
        assert drained == [TIER_FAILED]
        assert late == TIER_FAILED
        assert crashed == ["broken"]
        for held in leases:
            with held:
                pass
        seen = await tier.inspect()
        assert (seen.phase, seen.active) == (TierPhase.FAILED, 0)
        assert await tier.drain() == TIER_FAILED
        with await lease(other):
            assert (await other.inspect()).active == 1


async def test_a_caller_whose_question_crashed_the_tier_is_refused():
    """The very question on which the state raised is answered too."""
    crashed: list[str] = []
    async with open_actors(crashed.append) as actors:
        actor = start(actors)
        tier = actor.handle(OwnerId(1))
        actor.machine = Broken()
        assert await tier.acquire(CLIENT) == TIER_FAILED
        assert await tier.acquire(CLIENT) == TIER_FAILED
    assert crashed == ["t"]


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
    """`open_tier` gives a tier of configuration an actor; a direct tier has one member."""
    tier = Tier(id="direct", auth_env="KEY", base_url="http://127.0.0.1:1", max_concurrency=2)
    async with open_actors(fail_on_crash) as actors:
        handle = open_tier(actors, tier, OwnerId(1))
        assert handle.tier_id == "direct"
        handle.set_readiness(Readiness(1, frozenset({DIRECT_MEMBER})))
        with await lease(handle) as held:
            assert held.member_id == DIRECT_MEMBER
        assert (await handle.inspect()).max_concurrency == 2


async def test_one_owner_is_one_handle():
    """An owner that has a handle gets no second one."""
    async with open_actors(fail_on_crash) as actors:
        actor = start(actors)
        actor.handle(OwnerId(1))
        with pytest.raises(AssertionError, match="one handle"):
            actor.handle(OwnerId(1))
