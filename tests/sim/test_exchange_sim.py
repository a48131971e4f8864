"""Whole exchanges: real actors, real relay, fake engines and callers, in many small worlds."""

import os

import pytest

from tests.sim import exchange_scenario
from tests.support.sim import explore, regressions, seed_blocks

SHARE = 10
"""One exchange seed for so many actor seeds: a whole world costs more."""

BLOCK = 1000
"""So many worlds reach every rare state."""


def _blocks() -> list[range]:
    if "SEED" in os.environ:
        return seed_blocks()
    blocks = seed_blocks()
    seeds = max(BLOCK, blocks[-1].stop // SHARE)
    count = max(1, min(len(blocks), seeds // BLOCK))
    return [range(seeds * n // count, seeds * (n + 1) // count) for n in range(count)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seeds", _blocks(), ids=lambda seeds: f"from-{seeds.start}")
def test_every_exchange_ends_once_and_gives_everything_back(seeds, record_property):
    """R009, R011, T009: whatever happens, one record, one attempt at most, one end, no leak."""
    reached = explore("exchange_sim", exchange_scenario.scenario, seeds, exchange_scenario.RARE)
    record_property("seeds", len(seeds))
    record_property("reached", {state: reached[state] for state in exchange_scenario.RARE})


def test_what_once_failed_passes():
    """The seeds that found something before."""
    explore("exchange_sim", exchange_scenario.scenario, regressions("exchange_sim"), ())
