"""Looks for bugs in the exchange and the upstream client, in the world of one seed."""

from collections import Counter
from functools import partial

from anvil_trio.config.model import TierDialect
from tests.sim import exchange_lapses, exchange_scenario, exchange_sweep
from tests.support.sim import run_seeded, sweep

__all__ = ["hunt"]

SWEPT = (
    exchange_sweep.Swept("stream"),
    exchange_sweep.Swept("unary", "responses", TierDialect.ANTHROPIC),
    exchange_sweep.Swept("queued", "messages", is_leaving=True),
)


def hunt(seed: int) -> None:
    """One whole world, and now and then one sweep."""
    run_seeded(seed, lambda rng: exchange_scenario.scenario(rng, Counter()))
    if seed % 100 == 0:
        for kind in exchange_lapses.KINDS:
            sweep(seed, partial(exchange_lapses.scenario, kind=kind), "exchange_lapses")
        for swept in SWEPT:
            sweep(seed, partial(exchange_sweep.scenario, swept=swept), "exchange_sweep")
