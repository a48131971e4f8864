"""The cancel sweep over requests to services beside chat."""

from functools import partial

import pytest

from tests.sim import service_sweep
from tests.support.sim import seed_blocks, sweep


@pytest.mark.timeout(900)
@pytest.mark.parametrize("is_leaving", [False, True], ids=["cancelled", "left"])
@pytest.mark.parametrize("kind", service_sweep.KINDS)
def test_a_services_end_at_any_step_loses_nothing(kind, is_leaving, record_property):
    """R009: at whichever step it is cut, one record, at most one attempt, nothing held."""
    scenario = partial(service_sweep.scenario, kind=kind, is_leaving=is_leaving)
    seeds = [seed for block in seed_blocks() for seed in block][:5]
    points = [sweep(seed, scenario, "service_sweep") for seed in seeds]
    record_property("cancel points", sum(points))
    assert min(points) > 10
