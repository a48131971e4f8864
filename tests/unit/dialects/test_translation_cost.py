"""The cost of an event does not grow with the length of its stream."""

import pytest

from anvil_trio.dialects.ir import ClientDialect
from benchmarks.translation import EVENTS, KINDS, REQUESTS, measure


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", REQUESTS, ids=lambda dialect: dialect.name)
def test_late_events_cost_what_early_ones_do(dialect: ClientDialect, kind: str):
    """Over 50,000 events; a loose bound, as others may use the machine, that no quadratic meets."""
    assert EVENTS == 50_000
    costs = measure(dialect, kind)
    assert min(costs[-3:]) < 4 * min(costs[:3])
