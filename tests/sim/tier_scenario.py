"""One small world: a tier, its front door, and everybody who has to do with them, from one seed."""

import math
from collections.abc import Awaitable, Callable
from random import Random

import trio

from anvil_trio.actors.caller import ActorStopped
from anvil_trio.actors.messages import RefusalReason, Refused
from anvil_trio.actors.supervise import Actors, open_actors
from anvil_trio.admission.actor import AdmissionActor
from anvil_trio.admission.state import AdmissionState
from anvil_trio.facts import Freshness, Pressure, Readiness, TierPhase
from anvil_trio.names import ClientId, MemberId, OwnerId, SessionId, TierId
from anvil_trio.tiers.actor import TierActor, TierHandle
from anvil_trio.tiers.lease import Lease
from anvil_trio.tiers.ranking import Strategy
from anvil_trio.tiers.state import TierState
from tests.sim.link import Link
from tests.sim.watch import Boom, WatchedDoor, WatchedTier
from tests.support.sim import Reached
from tests.unit.tiers.model import TierModel

__all__ = ["RARE", "scenario"]

RARE = (
    "Granted at once",
    "Granted waiting",
    "ranked by capacity",
    "told apart by pressure",
    "session at home",
    "session away",
    "quiesced at once",
    "quiesced waiting",
    "no_ready_member at once",
    "no_ready_member waiting",
    "Drained at once",
    "Drained waiting",
    "not_quiesced at once",
    "not_quiesced waiting",
    "unknown_member at once",
    "Release answered a waiter with Granted",
    "SetReadiness answered a waiter with Granted",
    "SetReadiness answered a waiter with no_ready_member",
    "SetQuiesced answered a waiter with Granted",
    "SetQuiesced answered a waiter with quiesced",
    "Reconfigure answered a waiter with Granted",
    "OwnerGone answered a waiter with Granted",
    "withdrawn while waiting",
    "drain withdrawn",
    "withdrawal overtaken by a grant",
    "left before it was read",
    "late Acquire of a gone owner",
    "late Release of a gone owner",
    "owner gone with leases",
    "readiness out of date",
    "removed a member with leases",
    "released early",
    "failed inside the block",
    "everything cancelled",
    "users cancelled",
    "outlived by its users",
    "crashed",
    "refused by a fenced tier",
    "entered",
    "server_busy",
    "client_concurrency_exhausted",
)

MEMBERS = [MemberId(name) for name in "abc"]
MEMBER_CEILINGS = (None, 1, 1, 1, 2, 3)
TIER_CEILINGS = (None, None, None, 1, 2, 3)
PAUSES_S = (0, 0.001, 0.001, 0.3, 0.7)
PATIENCE_S = (0, 0.001, 0.5, 1, 100, 100, math.inf)
CLIENTS = [ClientId(name) for name in "pqr"]
SESSIONS = (None, None, SessionId("x"), SessionId("y"), SessionId("z"))
PRESSURES = (
    Pressure(Freshness.FRESH, 0),
    Pressure(Freshness.FRESH, 250_000),
    Pressure(Freshness.STALE),
    Pressure(Freshness.FAILED),
)
NEAR, ALSO_NEAR, FAR = OwnerId(1), OwnerId(2), OwnerId(3)


async def scenario(rng: Random, reached: Reached) -> None:
    """Everything in one life of a tier; raises if anything was lost, doubled or left waiting."""
    world = World(rng, reached)
    end = rng.choices(["calm", "users cancelled", "everything cancelled", "outlived"], [6, 2, 2, 1])
    if end == ["outlived"]:
        await world.live_longer_than_the_actors()
    else:
        await world.live(end[0])
        world.check_that_nothing_is_left()
    world.check_that_nothing_went_wrong()


class World:
    """A tier with three owners, one of them far away, its front door, and all who use them."""

    def __init__(self, rng: Random, reached: Reached) -> None:
        self.rng = rng
        self.reached = reached
        self.crashed: list[str] = []
        self.whole_tier = rng.choice((0, 0.3, 1))
        members = self.draw_members()
        ceiling, strategy = rng.choice(TIER_CEILINGS), rng.choice(tuple(Strategy))
        self.actor = TierActor(TierId("t"), members, ceiling, strategy)
        handles = {owner: self.actor.handle(owner) for owner in (NEAR, ALSO_NEAR)}
        assert isinstance(self.actor.machine, TierState)
        self.tier = WatchedTier(
            self.actor.machine,
            TierModel(
                TierId("t"), members, ceiling, self.actor.mailbox.withdrawn, strategy=strategy
            ),
            {owner: handle._caller for owner, handle in handles.items()},
            reached,
        )
        self.actor.machine = self.tier
        self.link = Link(self.actor, FAR, rng)
        self.ours = handles[NEAR]
        self.handles = [self.ours, handles[ALSO_NEAR], self.link.handle]

        limit, budgets = rng.choice((3, 20, 20)), self.draw_budgets()
        self.door_actor = AdmissionActor(limit, budgets)
        self.door = self.door_actor.handle(NEAR)
        assert isinstance(self.door_actor.machine, AdmissionState)
        self.watched_door = WatchedDoor(self.door_actor.machine, limit, budgets, reached)
        self.door_actor.machine = self.watched_door

    # The ways in which it may end.

    def crash(self, name: str, _bug: Exception) -> None:
        """An actor was fenced."""
        self.crashed.append(name)

    async def live(self, end: str) -> None:
        """Users come and go, or are cancelled; the actors end after them."""
        with trio.CancelScope() as everything:
            async with open_actors(self.crash) as actors, trio.open_nursery() as links:
                self.start(actors, links)
                try:
                    async with trio.open_nursery() as users:
                        self.start_users(users)
                        if end != "calm":
                            await self.pause()
                            self.reached[end] += 1
                            what = users.cancel_scope if end == "users cancelled" else everything
                            what.cancel()
                    await self.link.idle()
                    await self.check_at_rest()
                finally:
                    if everything.cancel_called:
                        self.ours.owner_gone(FAR)  # the line to it was cut
                    links.cancel_scope.cancel()

    async def live_longer_than_the_actors(self) -> None:
        """The wrong order of stopping: nobody may be left waiting all the same."""
        self.reached["outlived by its users"] += 1
        async with trio.open_nursery() as users:
            async with open_actors(self.crash) as actors, trio.open_nursery() as links:
                self.start(actors, links)
                self.start_users(users)
                await self.pause()
                links.cancel_scope.cancel()

    def start(self, actors: Actors, links: trio.Nursery) -> None:
        """What outlives the users."""
        actors.start(self.actor)
        actors.start(self.door_actor)
        links.start_soon(self.link.run)

    def start_users(self, users: trio.Nursery) -> None:
        """Everybody who has to do with the tier."""
        for _ in range(self.rng.randint(2, 16)):
            users.start_soon(self.quietly, self.caller)
        users.start_soon(self.prober)
        for task, often in (
            (self.sampler, 0.7),
            (self.operator, 0.7),
            (self.operator, 0.5),
            (self.meddler, 0.5),
            (self.administrator, 0.5),
            (self.reaper, 0.6),
            (self.saboteur, 0.1),
        ):
            if self.rng.random() < often:
                users.start_soon(self.quietly, task)

    # Those who use it.

    async def quietly(self, task: Callable[[], Awaitable[None]]) -> None:
        """An actor that has stopped answers so, and the user goes home."""
        try:
            await task()
        except ActorStopped:
            self.reached["told that the actor had stopped"] += 1

    async def caller(self) -> None:
        """A client with a few requests, each with its own patience."""
        handle, client = self.rng.choice(self.handles), self.rng.choice(CLIENTS)
        await self.pause()
        for _ in range(self.rng.randint(1, 3)):
            with trio.move_on_after(self.rng.choice(PATIENCE_S)):
                try:
                    await self.request(handle, client)
                except Boom:
                    self.reached["failed inside the block"] += 1

    async def request(self, handle: TierHandle, client: ClientId) -> None:
        """One request, as the exchange makes it."""
        permit = await self.door.enter(client)
        if isinstance(permit, Refused):
            assert permit.reason in {RefusalReason.SERVER_BUSY, RefusalReason.CLIENT_BUSY}
            return await self.pause()
        with permit:
            got = await handle.acquire(client, self.rng.choice(SESSIONS))
            if isinstance(got, Refused):
                if got.reason is RefusalReason.TIER_FAILED:
                    self.reached["refused by a fenced tier"] += 1
                return await self.pause()
            with got as lease:
                await self.use(lease)
        return None

    async def use(self, lease: Lease) -> None:
        """Work for a while, and end in one of the ways in which work ends."""
        assert lease.member_id in MEMBERS
        for _ in range(self.rng.randint(1, 4)):
            await self.pause()
        if self.rng.random() < 0.1:
            self.reached["released early"] += 1
            lease.release()
            await self.pause()
        if self.rng.random() < 0.1:
            raise Boom

    async def prober(self) -> None:
        """Publishes readiness at least once, sometimes out of date."""
        generation = 0
        for _ in range(self.rng.randint(1, 4)):
            await self.pause()
            generation += self.rng.choice((1, 1, 1, -1))
            self.ours.set_readiness(Readiness(generation, self.draw_eligible()))

    async def sampler(self) -> None:
        """Says what the members' engines say, of some of them, sometimes of strangers."""
        for _ in range(self.rng.randint(1, 4)):
            await self.pause()
            heard = self.rng.sample([*MEMBERS, MemberId("d")], self.rng.randint(0, 4))
            self.ours.set_signals({member: self.rng.choice(PRESSURES) for member in heard})

    async def operator(self) -> None:
        """Quiesces, drains and readmits the tier or one member."""
        handle = self.rng.choice(self.handles)
        for _ in range(self.rng.randint(1, 3)):
            await self.pause()
            member = self.draw_target()
            if self.rng.random() < 0.9:
                handle.set_quiesced(True, member_id=member)
            if self.rng.random() < 0.7:
                with trio.move_on_after(self.rng.choice(PATIENCE_S)):
                    await handle.drain(member)
            await self.pause()
            handle.set_quiesced(False, member_id=member)

    async def meddler(self) -> None:
        """Readmits what another operator has quiesced, while it is being drained."""
        for _ in range(self.rng.randint(2, 8)):
            await self.pause()
            self.ours.set_quiesced(False, member_id=self.draw_target())

    async def administrator(self) -> None:
        """Changes members, ceilings and now and then the strategy."""
        for _ in range(self.rng.randint(1, 2)):
            await self.pause()
            strategy = self.rng.choice((None, *Strategy))
            self.ours.reconfigure(
                self.draw_members(),
                self.rng.choice(TIER_CEILINGS),
                strategy,
                self.rng.choice((None, Readiness(self.rng.randint(0, 4), self.draw_eligible()))),
            )

    async def reaper(self) -> None:
        """Finds that another owner has gone."""
        for _ in range(self.rng.randint(1, 4)):
            await self.pause()
        self.ours.owner_gone(self.rng.choice((FAR, ALSO_NEAR)))

    async def saboteur(self) -> None:
        """Makes the state raise at the next message."""
        await self.pause()
        self.reached["crashed"] += 1
        self.tier.must_crash = True
        if self.rng.random() < 0.5:
            self.ours.set_quiesced(False, member_id=MEMBERS[0])
            self.ours.owner_gone(FAR)
        await self.ours.inspect()

    # What they draw.

    def draw_members(self) -> dict[MemberId, int | None]:
        """Some members and their ceilings."""
        members = self.rng.sample(MEMBERS, self.rng.randint(1, 3))
        return {member: self.rng.choice(MEMBER_CEILINGS) for member in members}

    def draw_eligible(self) -> frozenset[MemberId]:
        """Most members, in most worlds."""
        return frozenset(member for member in MEMBERS if self.rng.random() < 0.8)

    def draw_budgets(self) -> dict[ClientId, int]:
        """Budgets for some clients; in half of all worlds for none."""
        listed = self.rng.sample(CLIENTS, self.rng.choice((0, 0, 1, 2)))
        return {client: self.rng.choice((1, 2, 3)) for client in listed}

    def draw_target(self) -> MemberId | None:
        """The tier or a member; in one world mostly this, in another mostly that."""
        return None if self.rng.random() < self.whole_tier else self.rng.choice(MEMBERS)

    async def pause(self) -> None:
        """A while."""
        await trio.sleep(self.rng.choice(PAUSES_S))

    # What must be true.

    async def check_at_rest(self) -> None:
        """All users have gone and every message has arrived: nothing is held."""
        seen = await self.ours.inspect()
        assert (seen.active, seen.waiting, seen.is_draining) == (0, 0, False)
        assert (seen.phase is TierPhase.FAILED) == self.tier.must_crash
        assert (await self.door.inspect()).active == 0

    def check_that_nothing_is_left(self) -> None:
        """The actors have ended: what they counted is back, and everything said was heard."""
        for mailbox in (self.actor.mailbox, self.door_actor.mailbox):
            assert mailbox.unread == 0
            assert not mailbox.withdrawn
        assert not self.watched_door.inside
        if not self.crashed:
            seen = self.tier.state.snapshot()
            assert (seen.active, seen.waiting, seen.is_draining) == (0, 0, False)

    def check_that_nothing_went_wrong(self) -> None:
        """No answer was wrong on the way, and nothing crashed but what was made to."""
        for failure in (self.tier.failure, self.watched_door.failure):
            if failure is not None:
                raise failure
        assert self.crashed == (["t"] if self.tier.has_crashed else [])
