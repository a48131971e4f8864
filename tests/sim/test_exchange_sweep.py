"""The cancel sweep over whole exchanges, unary, streamed, queued and draining."""

from functools import partial

import pytest

from tests.sim import exchange_lapses, exchange_sweep
from tests.support.sim import seed_blocks, sweep


@pytest.mark.timeout(900)
@pytest.mark.parametrize("is_leaving", [False, True], ids=["cancelled", "left"])
@pytest.mark.parametrize("kind", exchange_sweep.KINDS)
def test_an_end_at_any_step_loses_nothing(kind, is_leaving, record_property):
    """R009, T009: at whichever step it is cut, one record, at most one attempt, nothing held."""
    scenario = partial(exchange_sweep.scenario, kind=kind, is_leaving=is_leaving)
    seeds = [seed for block in seed_blocks() for seed in block][:10]
    points = [sweep(seed, scenario, "exchange_sweep") for seed in seeds]
    record_property("cancel points", sum(points))
    assert min(points) > 10


@pytest.mark.parametrize("kind", exchange_lapses.KINDS)
def test_a_lapse_at_any_step_loses_nothing(kind):
    """A lapse that fires in the very step in which something came costs no byte of it."""
    for seed in range(10):
        sweep(seed, partial(exchange_lapses.scenario, kind=kind), "exchange_lapses")
