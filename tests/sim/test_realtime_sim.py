"""The simulation and the cancel sweep over realtime sessions."""

import os
from functools import partial

import pytest

from tests.sim import realtime_scenario, realtime_sweep
from tests.support.sim import explore, regressions, seed_blocks, sweep

SHARE = 10
"""One world of sessions for so many actor seeds: a whole world costs more."""

BLOCK = 500
"""So many worlds reach every rare state."""


def _blocks() -> list[range]:
    if "SEED" in os.environ:
        return seed_blocks()
    blocks = seed_blocks()
    seeds = max(BLOCK, blocks[-1].stop // SHARE)
    count = max(1, min(len(blocks), seeds // BLOCK))
    return [range(seeds * n // count, seeds * (n + 1) // count) for n in range(count)]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seeds", _blocks(), ids=lambda seeds: f"from-{seeds.start}")
def test_sessions_of_every_seed(seeds, record_property):
    """R009: whatever ends either side, one record, at most one attempt, nothing held or lost."""
    known = regressions("realtime_sim")
    reached = explore(
        "realtime_sim", realtime_scenario.scenario, [*known, *seeds], realtime_scenario.RARE
    )
    record_property("seeds", len(seeds))
    record_property("reached", {str(state): times for state, times in reached.items()})


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("end", realtime_sweep.ENDS)
@pytest.mark.parametrize("kind", realtime_sweep.KINDS)
def test_a_sessions_end_at_any_step_loses_nothing(kind, end, record_property):
    """R009: at whichever step it is ended, one record, at most one attempt, nothing held."""
    scenario = partial(realtime_sweep.scenario, kind=kind, end=end)
    seeds = [seed for block in seed_blocks() for seed in block][:1]
    points = [sweep(seed, scenario, "realtime_sweep") for seed in seeds]
    record_property("cancel points", sum(points))
    assert min(points) > 10
