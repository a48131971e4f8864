"""The cost of an event does not grow with the length of its stream."""

import pytest

from anvil_trio.config.model import TierDialect
from anvil_trio.dialects.ir import ClientDialect
from benchmarks.translation import CHAT_KINDS, ENGINES, EVENTS, REQUESTS, measure


@pytest.mark.parametrize("kind", CHAT_KINDS)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dialect", REQUESTS, ids=lambda dialect: dialect.name)
def test_late_events_cost_what_early_ones_do(
    dialect: ClientDialect, engine: TierDialect, kind: str
):
    """Over 50,000 events; a loose bound, as others may use the machine, that no quadratic meets."""
    assert EVENTS == 50_000
    costs = measure(dialect, engine, kind)
    assert min(costs[-3:]) < 4 * min(costs[:3])
