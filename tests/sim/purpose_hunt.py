"""Looks for bugs in services beside chat: the directed tests, then sweeps, a kind for each seed."""

from functools import partial

from structlog.testing import capture_logs

from tests.purpose import test_endings, test_refusals, test_services
from tests.sim import service_sweep
from tests.support.directed import directed
from tests.support.sim import run_seeded, sweep

__all__ = ["hunt"]


def hunt(seed: int) -> None:
    """Before the first sweep the directed tests; each sweep is of one kind of request."""
    if seed == 0:
        for name, test in directed(test_services, test_endings, test_refusals):
            try:
                with capture_logs():
                    run_seeded(seed, lambda _rng: test())  # noqa: B023
            except Exception as found:
                raise AssertionError(name) from found
    kind = service_sweep.KINDS[seed % len(service_sweep.KINDS)]
    is_leaving = seed // len(service_sweep.KINDS) % 2 == 1
    scenario = partial(service_sweep.scenario, kind=kind, is_leaving=is_leaving)
    sweep(seed, scenario, "service_sweep")
