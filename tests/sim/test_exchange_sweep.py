"""The cancel sweep over whole exchanges, unary, streamed, queued and draining, in every dialect."""

from functools import partial

import pytest

from anvil_trio.config.model import TierDialect
from tests.sim import exchange_lapses, exchange_sweep
from tests.sim.exchange_sweep import Swept
from tests.support.sim import seed_blocks, sweep

SEEDS = 10
FEW = 3
"""For the other dialects: what differs there is words, and not what is held."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("swept", exchange_sweep.EVERY, ids=str)
def test_an_end_at_any_step_loses_nothing(swept: Swept, record_property):
    """R009, T009: at whichever step it is cut, one record, at most one attempt, nothing held."""
    is_first = swept.spoken == "chat" and swept.engine is TierDialect.OPENAI
    seeds = [seed for block in seed_blocks() for seed in block][: SEEDS if is_first else FEW]
    scenario = partial(exchange_sweep.scenario, swept=swept)
    points = [sweep(seed, scenario, "exchange_sweep") for seed in seeds]
    record_property("cancel points", sum(points))
    assert min(points) > 5


@pytest.mark.parametrize("kind", exchange_lapses.KINDS)
def test_a_lapse_at_any_step_loses_nothing(kind, record_property):
    """A lapse that fires in the very step in which something came costs no byte of it."""
    points = [
        sweep(seed, partial(exchange_lapses.scenario, kind=kind), "exchange_lapses")
        for seed in range(10)
    ]
    record_property("cancel points", sum(points))
