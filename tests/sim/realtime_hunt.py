"""Looks for bugs in realtime sessions: the directed tests, then the world of one seed."""

from collections import Counter
from functools import partial

from structlog.testing import capture_logs

from tests.realtime import test_opening, test_patience, test_sessions
from tests.sim import realtime_scenario, realtime_sweep
from tests.support.directed import directed
from tests.support.sim import run_seeded, sweep

__all__ = ["hunt"]

SWEPT = (("talk", "cancelled"), ("talk", "goodbye"), ("stalled", "left"), ("broken", "shut down"))


def hunt(seed: int) -> None:
    """One whole world; before the first the directed tests, and now and then some sweeps."""
    if seed == 0:
        for name, test in directed(test_sessions, test_opening, test_patience):
            try:
                with capture_logs():
                    run_seeded(seed, lambda _rng: test())  # noqa: B023
            except Exception as found:
                raise AssertionError(name) from found
    run_seeded(seed, lambda rng: realtime_scenario.scenario(rng, Counter()))
    if seed % 100 == 30:
        for kind, end in SWEPT:
            sweep(seed, partial(realtime_sweep.scenario, kind=kind, end=end), "realtime_sweep")
