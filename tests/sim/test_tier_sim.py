"""The tier, its front door and everybody around them, in many small worlds."""

import pytest

from tests.sim import tier_scenario
from tests.support.sim import explore, regressions, seed_blocks


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", seed_blocks(), ids=lambda seeds: f"from-{seeds.start}")
def test_nothing_is_lost_in_any_world(seeds, record_property):
    """R009, R011: whatever is cancelled, quiesced, drained or changed, every answer is right."""
    reached = explore("tier_sim", tier_scenario.scenario, seeds, tier_scenario.RARE)
    record_property("seeds", len(seeds))
    record_property("reached", {state: reached[state] for state in tier_scenario.RARE})


def test_what_once_failed_passes():
    """The seeds that found something before."""
    explore("tier_sim", tier_scenario.scenario, regressions("tier_sim"), ())
