"""An operator's order, cancelled wherever it may be: file, memory and tier agree afterwards."""

from random import Random

import trio
from structlog.testing import capture_logs

from anvil_trio.errors import Problem
from anvil_trio.facts import TierPhase
from anvil_trio.intent.intents import Intents
from anvil_trio.intent.keeper import IntentKeeper
from anvil_trio.names import MemberId
from anvil_trio.transition.desk import carry_out
from anvil_trio.transition.order import Action, Order
from tests.sim.disk import Disk
from tests.sim.draws import SERVER
from tests.sim.operator import Engine, agreed
from tests.support.chunks import good_reply
from tests.support.sim import CancelAt
from tests.support.small_house import (
    TIER,
    SmallHouse,
    config_of,
    open_small_house,
    replica_tier,
)

__all__ = ["KINDS", "scenario"]

KINDS = (Action.QUIESCE, Action.READMIT, Action.DRAIN)
MEMBER = MemberId("a")


async def scenario(rng: Random, cancel_at: CancelAt, *, action: Action) -> None:
    """One order is cut at one step, while somebody is served and another order is tried."""
    disk, member = Disk(), rng.choice((None, MEMBER))
    keeper = IntentKeeper(Intents(), disk.save)
    with capture_logs():
        async with open_small_house(
            config_of(replica_tier(), server=SERVER), make_engine=Engine, intents=keeper
        ) as small:
            for engine in small.engines.values():
                engine.chat_default = good_reply()
            if action is not Action.QUIESCE:
                await _order(small, Action.QUIESCE, member)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(small.chat)
                nursery.start_soon(_order, small, Action.QUIESCE, MemberId("b"))
                with trio.CancelScope() as scope:
                    cancel_at.arm(scope)
                    await _order(small, action, member)
                cancel_at.disarm()
            await agreed(small, disk)
            for each in (None, MEMBER, MemberId("b")):
                answer = await _order(small, Action.READMIT, each)
                assert not isinstance(answer, Problem), "the desk goes on"
            await agreed(small, disk)
            after = await small.chat()
            assert after.status == 200, (after.status, "the house goes on")
            await small.assert_at_rest()


async def _order(small: SmallHouse, action: Action, member: MemberId | None) -> object:
    order = Order(action, TIER, member, "sweep", timeout_s=1.0)
    answer = await carry_out(small.house, small.generation, order)
    if not isinstance(answer, Problem) and action is Action.QUIESCE:
        snapshot = await small.snapshot()
        closed = {one.member_id for one in snapshot.members if one.is_quiesced}
        is_closed = snapshot.phase is TierPhase.QUIESCED if member is None else member in closed
        assert is_closed, "answered before it was true"
    return answer
