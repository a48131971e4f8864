"""A drain is told from its begin to its end, whichever end it has."""

from functools import partial

import pytest
import trio

from anvil_trio.decisions.events import DrainChanged, DrainPhase
from anvil_trio.names import MemberId
from tests.support.operated import open_operated
from tests.support.small_house import TIER

A = MemberId("a")
STARTED, DRAINED, ABANDONED = DrainPhase


@pytest.fixture
async def operated():
    """A house of two ready replicas."""
    async with open_operated() as operated:
        yield operated


async def heard(feed) -> list[tuple[object, DrainPhase]]:
    """The targets and phases of the drains so far; other events are passed over."""
    found: list[tuple[object, DrainPhase]] = []
    with trio.move_on_after(0.01):
        while True:
            event = await feed.receive()
            if isinstance(event, DrainChanged):
                assert event.tier_id == TIER
                found.append((event.member_id, event.phase))
    return found


@pytest.mark.parametrize("member", [None, "a"])
async def test_a_drain_begins_and_ends(member, operated, autojump_clock):
    """For a tier and for a member, in this order."""
    await operated.order("quiesce", member)
    with operated.house.bus.subscribe(8) as feed:
        assert (await operated.order("drain", member)).status == 200
        assert await heard(feed) == [(member, STARTED), (member, DRAINED)]


async def test_a_drain_that_runs_out_of_time_is_abandoned(operated, autojump_clock):
    """Its end is told too: the tier drains no more."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(operated.stream)
        await trio.sleep(1)
        await operated.order("quiesce")
        with operated.house.bus.subscribe(8) as feed:
            await operated.order("drain", timeout=2.5)
            assert await heard(feed) == [(None, STARTED), (None, ABANDONED)]


async def test_a_readmission_abandons_a_drain(operated, autojump_clock):
    """And so does whoever leaves; each drain ends once."""
    async with trio.open_nursery() as nursery:
        for _ in range(2):  # one on each member
            nursery.start_soon(operated.stream)
        await trio.sleep(1)
        await operated.order("quiesce", "a")
        with operated.house.bus.subscribe(64) as feed:
            nursery.start_soon(partial(operated.order, "drain", "a", timeout=60))
            await trio.sleep(1)
            assert (await operated.order("readmit", "a")).json["result"]["readmitted"]
            assert await heard(feed) == [(A, STARTED), (A, ABANDONED)]


async def test_a_drain_that_is_refused_is_not_told(operated, autojump_clock):
    """What takes work does not drain, not even for a moment."""
    with operated.house.bus.subscribe(8) as feed:
        assert (await operated.order("drain")).status == 400
        assert await heard(feed) == []
