"""What one configuration after the other leaves behind: nothing that grows."""

import trio

from tests.support.activated import open_world, series, toml
from tests.support.fake_upstream import STALLED_CONNECT, FakeUpstream

ONE, TWO, THREE, FOUR = (f"http://127.0.0.1:{port}/v1" for port in (8101, 8102, 8103, 8104))
__all__ = ["open_world"]


async def test_fifty_in_a_row_leave_nothing_behind(open_world, autojump_clock):
    """Tasks, actors, ways and series are those of two configurations, and after each the same."""
    texts = [toml(chat=(ONE, TWO)), toml(chat=(TWO, THREE), more=(ONE, THREE))]
    async with open_world(texts[0]) as world:
        seen = []
        for number in range(50):
            answer = await world.activate(world.write(texts[(number + 1) % 2]))
            assert answer.status == 200
            assert (await world.chat("chat")).status == 200
            await trio.sleep(1)
            tasks = trio.lowlevel.current_statistics().tasks_living
            told = len((await series(world)).splitlines())
            seen.append((tasks, sorted(world.house.tiers), sorted(world.house.ways), told))
        assert len(world.generations._configs) == 1
        assert seen[2:4] * 24 == seen[2:]


async def test_series_begin_in_the_step_in_which_a_configuration_takes_over(
    open_world, autojump_clock
):
    """What is new in it is 0 before the first request, and there is nothing of it before."""
    async with open_world(toml(chat=(ONE, TWO))) as world:
        world.engines[THREE] = FakeUpstream(health=STALLED_CONNECT)
        digest = world.write(toml(chat=(ONE, TWO), more=(THREE, FOUR)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.activate, digest)
            await trio.sleep(1)
            assert "more" not in await series(world)
        lines = (await series(world)).splitlines()
        row = 'anvil_router_requests_total{alias="more",outcome="success",tier="more"} 0.0'
        assert row in lines
