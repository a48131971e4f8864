"""How a tier ends: stopped, crashed, or left by one of its owners."""

import pytest
import trio
import trio.testing

from anvil_trio.actors.caller import ActorStopped
from anvil_trio.actors.messages import Refused
from anvil_trio.actors.supervise import open_actors
from anvil_trio.facts import Readiness, TierPhase
from anvil_trio.names import OwnerId
from anvil_trio.tiers.messages import Acquire, Drained
from anvil_trio.tiers.state import TierState
from tests.actors.stage import (
    CLIENT,
    TIER_FAILED,
    A,
    B,
    Broken,
    Waiter,
    fail_on_crash,
    lease,
    start,
)


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
        actor.mailbox.post(Acquire(next(tier._caller.tickets), CLIENT))
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
    async with (
        open_actors(lambda name, _: crashed.append(name)) as actors,
        trio.open_nursery() as nursery,
    ):
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
    async with open_actors(lambda name, _: crashed.append(name)) as actors:
        actor = start(actors)
        tier = actor.handle(OwnerId(1))
        actor.machine = Broken()
        assert await tier.acquire(CLIENT) == TIER_FAILED
        assert await tier.acquire(CLIENT) == TIER_FAILED
    assert crashed == ["t"]


async def test_one_owner_is_one_handle():
    """An owner that has a handle gets no second one."""
    async with open_actors(fail_on_crash) as actors:
        actor = start(actors)
        actor.handle(OwnerId(1))
        with pytest.raises(AssertionError, match="one handle"):
            actor.handle(OwnerId(1))


async def test_a_fenced_tier_does_not_answer_an_owner_that_has_gone():
    """A late question of a gone owner ends nothing, although a fenced tier knows no owners."""
    crashed: list[str] = []
    async with open_actors(lambda name, _: crashed.append(name)) as actors:
        actor = start(actors)
        ours, theirs = actor.handle(OwnerId(1)), actor.handle(OwnerId(2))
        actor.machine = Broken()
        assert await ours.acquire(CLIENT) == TIER_FAILED
        ours.owner_gone(OwnerId(2))
        actor.mailbox.post(Acquire(next(theirs._caller.tickets), CLIENT))
        assert await ours.acquire(CLIENT) == TIER_FAILED
    assert crashed == ["t"]
