"""The front door as its callers meet it."""

import pytest
import trio

from anvil_trio.actors.caller import ActorStopped
from anvil_trio.actors.messages import RefusalReason, Refused, Ticket, Withdraw
from anvil_trio.actors.supervise import open_actors
from anvil_trio.admission.actor import AdmissionActor, open_admission
from anvil_trio.admission.messages import AdmissionSnapshot
from anvil_trio.admission.permit import Permit
from anvil_trio.names import ClientId, OwnerId
from tests.actors.stage import CLIENT, Broken, fail_on_crash


async def test_a_full_house_refuses_without_waiting():
    """At `max_concurrency` the answer is `server_busy`, at once; a place given back is free."""
    async with open_actors(fail_on_crash) as actors:
        door = open_admission(actors, 1, OwnerId(1))
        got = await door.enter(CLIENT)
        assert isinstance(got, Permit)
        with got:
            assert await door.enter(CLIENT) == Refused(RefusalReason.SERVER_BUSY)
            assert await door.inspect() == AdmissionSnapshot(1, 1, {CLIENT: 1})
        again = await door.enter(CLIENT)
        assert isinstance(again, Permit)
        with again:
            pass
        assert await door.inspect() == AdmissionSnapshot(0, 1)


async def test_a_client_at_its_budget_is_refused_without_waiting():
    """The answer comes at once and is never a place in another line; others are let in."""
    async with open_actors(fail_on_crash) as actors:
        door = open_admission(actors, 9, OwnerId(1), {CLIENT: 1})
        got = await door.enter(CLIENT)
        assert isinstance(got, Permit)
        with got:
            assert await door.enter(CLIENT) == Refused(RefusalReason.CLIENT_BUSY)
            other = await door.enter(ClientId("other"))
            assert isinstance(other, Permit)
            with other:
                assert (await door.inspect()).active == 2
        again = await door.enter(CLIENT)
        assert isinstance(again, Permit)
        with again:
            pass


async def test_a_permit_that_nobody_takes_goes_back():
    """Who is cancelled before the answer holds nothing: while the door has something to read."""
    async with open_actors(fail_on_crash) as actors:
        actor = AdmissionActor(1)
        actors.start(actor)
        door = actor.handle(OwnerId(1))
        actor.mailbox.post(Withdraw(Ticket(OwnerId(1), 99)))
        with trio.CancelScope() as scope:
            scope.cancel()
            await door.enter(CLIENT)
        assert scope.cancelled_caught
        await door.inspect()
        assert (await door.inspect()).active == 0


async def test_a_door_with_nothing_to_read_answers_at_once():
    """Who asks it has the answer in the same step, whatever scope they are in; so has a release."""
    async with open_actors(fail_on_crash) as actors:
        actor = AdmissionActor(1)
        actors.start(actor)
        door = actor.handle(OwnerId(1))
        with trio.CancelScope() as scope:
            scope.cancel()
            for _ in range(2):
                got = await door.enter(CLIENT)
                assert isinstance(got, Permit)
                with got:
                    assert await door.enter(CLIENT) == Refused(RefusalReason.SERVER_BUSY)
        assert not scope.cancelled_caught
        assert actor.mailbox.unread == 0


async def test_nobody_overtakes_what_is_unread():
    """While a release lies unread, so does whatever comes after it; the order stays."""
    async with open_actors(fail_on_crash) as actors:
        actor = AdmissionActor(1)
        actors.start(actor)
        door = actor.handle(OwnerId(1))
        held = await door.enter(CLIENT)
        assert isinstance(held, Permit)
        with held:
            actor.mailbox.post(Withdraw(Ticket(OwnerId(1), 99)))
        assert actor.mailbox.unread == 2
        again = await door.enter(CLIENT)
        assert isinstance(again, Permit)
        with again:
            assert actor.mailbox.unread == 0


async def test_a_crashed_front_door_lets_nobody_in():
    """A bug at the front door refuses everyone, keeps nobody waiting, and is told by name."""
    crashed: list[str] = []
    async with open_actors(lambda name, _: crashed.append(name)) as actors:
        actor = AdmissionActor(5)
        actors.start(actor)
        door = actor.handle(OwnerId(1))
        held = await door.enter(CLIENT)
        assert isinstance(held, Permit)
        with held:
            actor.machine = Broken()
            assert await door.enter(CLIENT) == Refused(RefusalReason.ADMISSION_FAILED)
        assert await door.inspect() == AdmissionSnapshot(0, 5, {}, is_failed=True)
    assert crashed == ["admission"]


async def test_asking_after_the_end_is_a_late_mistake():
    """A front door that has been closed answers nobody."""
    async with open_actors(fail_on_crash) as actors:
        door = open_admission(actors, 1, OwnerId(1))
    with pytest.raises(ActorStopped):
        await door.enter(CLIENT)
