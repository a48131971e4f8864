"""One request through door and tier, cancelled wherever it may be: afterwards nothing is held."""

from random import Random

import trio

from anvil_trio.actors.messages import Refused
from anvil_trio.actors.supervise import open_actors
from anvil_trio.admission.actor import AdmissionActor, AdmissionHandle
from anvil_trio.facts import Readiness
from anvil_trio.names import ClientId, MemberId, OwnerId, TierId
from anvil_trio.tiers.actor import TierActor, TierHandle
from tests.support.sim import CancelAt

__all__ = ["scenario"]

MEMBER = MemberId("a")
OWNER = OwnerId(1)


async def request(door: AdmissionHandle, tier: TierHandle, client: str, work_s: float) -> None:
    """A permit, a lease, some work; in every order in which they may be cut short."""
    permit = await door.enter(ClientId(client))
    assert not isinstance(permit, Refused)
    with permit:
        got = await tier.acquire(ClientId(client))
        assert not isinstance(got, Refused)
        with got as lease:
            assert lease.member_id == MEMBER
            await trio.sleep(work_s)
        await trio.lowlevel.checkpoint()


async def scenario(rng: Random, cancel_at: CancelAt) -> None:
    """Somebody is served, the request waits behind, somebody else waits behind the request."""
    crashed: list[str] = []
    async with open_actors(lambda name, _: crashed.append(name)) as actors:
        tier_actor, door_actor = TierActor(TierId("t"), {MEMBER: 1}, None), AdmissionActor(5)
        actors.start(tier_actor)
        actors.start(door_actor)
        tier, door = tier_actor.handle(OWNER), door_actor.handle(OWNER)
        tier.set_readiness(Readiness(1, frozenset({MEMBER})))
        async with trio.open_nursery() as nursery:
            for client in ("before", "behind"):
                nursery.start_soon(request, door, tier, client, rng.choice((0, 0.001, 1)))
            with trio.CancelScope() as scope:
                cancel_at.arm(scope)
                await request(door, tier, "swept", rng.choice((0, 0.001, 1)))
            cancel_at.disarm()
        seen = await tier.inspect()
        assert (seen.active, seen.waiting) == (0, 0), "a lease was lost"
        assert (await door.inspect()).active == 0, "a permit was lost"
    assert crashed == []
