"""A tier for tests of its actor: two ready members, and callers in tasks of their own."""

from contextlib import asynccontextmanager

import trio

from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.actors.supervise import Actors, open_actors
from anvil_trio.facts import Readiness
from anvil_trio.names import ClientId, MemberId, OwnerId, TierId
from anvil_trio.tiers.actor import TierActor, TierHandle
from anvil_trio.tiers.lease import Lease

CLIENT = ClientId("c")
A, B = MemberId("a"), MemberId("b")
QUIESCED = Refused(RefusalReason.QUIESCED)
TIER_FAILED = Refused(RefusalReason.TIER_FAILED)


def fail_on_crash(name: str, _bug: Exception) -> None:
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
