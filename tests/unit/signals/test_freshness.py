"""Ages, faults and pressures, without a clock."""

import math

import pytest

from anvil_trio.facts import Freshness, Pressure
from anvil_trio.signals.engines import Fault, Observation, SignalState
from anvil_trio.signals.freshness import Signal, Standing, look, next_read_s, settle

IDLE = Observation(requests_running=0, requests_waiting=0, requests_state=SignalState.VALID)
FRESH = Freshness.FRESH


def seen(**values) -> Observation:
    """An observation whose states follow from its values."""
    states = {
        "requests_state": SignalState.VALID if "requests_running" in values else "missing",
        "kv_state": SignalState.VALID if "kv_cache_usage_fraction" in values else "missing",
    }
    return Observation(**{**values, **{key: SignalState(state) for key, state in states.items()}})


@pytest.mark.parametrize(
    ("age", "freshness"),
    [(0.0, "fresh"), (5.0, "fresh"), (math.nextafter(105.0, math.inf) - 100, "stale")],
)
def test_a_reading_is_fresh_for_five_seconds(age, freshness):
    """Five seconds old is fresh; a hair more is stale, and its pressure is gone."""
    signal = look(Standing(IDLE, observed_at=100.0), 8, 100.0 + age)
    assert signal.pressure.freshness == freshness
    assert (signal.pressure.ppm is None) == (freshness != "fresh")
    assert signal.reason == (None if freshness == "fresh" else "metrics_stale")


def test_before_the_first_reading_nothing_is_known():
    """An engine that was never read is unknown, and the reason says that it is to come."""
    signal = look(Standing(), 8, 0.0)
    assert signal == Signal(Pressure(Freshness.UNKNOWN), None, "metrics_pending")


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.TIMED_OUT])
def test_a_bad_answer_ends_what_was_known_at_once(fault):
    """An engine that answers badly is no longer what it was."""
    standing = settle(Standing(IDLE, 100.0), fault, 101.0)
    assert look(standing, 8, 101.0) == Signal(Pressure(Freshness.FAILED), None, fault.value)


def test_a_silence_leaves_what_was_known_to_grow_old():
    """A hung engine's last reading counts until it is five seconds old, and then it has failed."""
    standing = settle(Standing(IDLE, 100.0), Fault.TIMED_OUT, 101.0)
    assert look(standing, 8, 105.0) == Signal(Pressure(FRESH, 0), IDLE)
    late = look(standing, 8, 105.1)
    assert late == Signal(Pressure(Freshness.FAILED), None, "metrics_transport")


def test_an_engine_is_left_in_peace_for_longer_with_each_fault():
    """One second, then two, four and eight; a good reading brings back the second."""
    standing = Standing()
    waits = []
    for _ in range(5):
        waits.append(next_read_s(standing))
        standing = settle(standing, Fault.HTTP, 0.0)
    assert waits == [1, 2, 4, 8, 8]
    assert next_read_s(settle(standing, IDLE, 9.0)) == 1


@pytest.mark.parametrize(
    ("values", "ceiling", "ppm"),
    [
        ({"requests_running": 1, "requests_waiting": 0}, 3, 333_334),
        ({"requests_running": 2, "requests_waiting": 4}, 3, 2_000_000),
        ({"kv_cache_usage_fraction": 0.25}, 3, 250_000),
        ({"kv_cache_usage_fraction": 0.1}, 3, 100_000),
        ({"kv_cache_usage_fraction": 0.0014649331624244644}, 3, 1465),
        (
            {"requests_running": 0, "requests_waiting": 0, "kv_cache_usage_fraction": 0.5},
            3,
            500_000,
        ),
        (
            {"requests_running": 3, "requests_waiting": 0, "kv_cache_usage_fraction": 0.5},
            3,
            1_000_000,
        ),
        ({"requests_running": 3, "requests_waiting": 0, "kv_cache_usage_fraction": 0.5}, None, 5e5),
    ],
)
def test_pressure_is_the_larger_share_rounded_up(values, ceiling, ppm):
    """Requests by the ceiling, or the cache's use, whichever is more, in whole ppm."""
    assert look(Standing(seen(**values)), ceiling, 0.0).pressure == Pressure(FRESH, ppm)


@pytest.mark.parametrize(
    ("observation", "ceiling"),
    [
        (Observation(), 8),
        (IDLE, None),
        (
            Observation(
                kv_cache_usage_fraction=0.5,
                kv_state=SignalState.VALID,
                requests_state=SignalState.INVALID,
            ),
            8,
        ),
        (
            Observation(
                requests_running=1,
                requests_waiting=1,
                requests_state=SignalState.VALID,
                kv_state=SignalState.INVALID,
            ),
            8,
        ),
    ],
)
def test_without_a_number_to_trust_the_pressure_is_unknown(observation, ceiling):
    """Nothing usable, or one odd number, and the engine is not ranked by what is left."""
    signal = look(Standing(observation), ceiling, 1.0)
    assert signal == Signal(Pressure(Freshness.UNKNOWN), observation)
