"""The cancel sweep over an operator's orders."""

from functools import partial

import pytest

from tests.sim import order_sweep
from tests.support.sim import seed_blocks, sweep


@pytest.mark.timeout(600)
@pytest.mark.parametrize("action", order_sweep.KINDS)
def test_a_cancel_at_any_step_parts_nothing(action, record_property):
    """R011: file, memory and tier agree at whichever step an order is cut, and no place is lost."""
    seeds = [seed for block in seed_blocks() for seed in block][:20]
    scenario = partial(order_sweep.scenario, action=action)
    points = [sweep(seed, scenario, "order_sweep") for seed in seeds]
    record_property("cancel points", sum(points))
    assert min(points) > 5
