"""Looks for bugs in tier, front door and what they stand on, in the world of one seed."""

from collections import Counter

from tests.sim import tier_scenario, tier_sweep
from tests.support.sim import run_seeded, sweep

__all__ = ["hunt"]


def hunt(seed: int) -> None:
    """One whole world, and now and then one sweep."""
    run_seeded(seed, lambda rng: tier_scenario.scenario(rng, Counter()))
    if seed % 50 == 0:
        sweep(seed, tier_sweep.scenario, "tier_sweep")
