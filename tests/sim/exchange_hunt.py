"""Looks for bugs in the exchange and the upstream client, in the world of one seed."""

from collections import Counter
from functools import partial

from tests.sim import exchange_lapses, exchange_scenario, exchange_sweep
from tests.support.sim import run_seeded, sweep

__all__ = ["hunt"]


def hunt(seed: int) -> None:
    """One whole world, and now and then one sweep."""
    run_seeded(seed, lambda rng: exchange_scenario.scenario(rng, Counter()))
    if seed % 100 == 0:
        for kind in exchange_lapses.KINDS:
            sweep(seed, partial(exchange_lapses.scenario, kind=kind), "exchange_lapses")
        for kind in ("stream", "queued"):
            scenario = partial(exchange_sweep.scenario, kind=kind, is_leaving=kind == "queued")
            sweep(seed, scenario, "exchange_sweep")
