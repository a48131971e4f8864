"""The cancel sweep over the way to a lease."""

import pytest

from tests.sim import tier_sweep
from tests.support.sim import seed_blocks, sweep


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", seed_blocks(), ids=lambda seeds: f"from-{seeds.start}")
def test_a_cancel_at_any_step_loses_nothing(seeds, record_property):
    """R009: permit and lease are back whichever scheduler step the request is cancelled at."""
    points = [sweep(seed, tier_sweep.scenario, "tier_sweep") for seed in seeds[:20]]
    record_property("cancel points", sum(points))
    assert min(points) > 6
