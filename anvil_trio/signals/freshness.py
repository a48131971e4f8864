"""How long what an engine said may be used, and what it amounts to. Pure; times are trio's.

An answer that was no use ends what was known at once: the engine is not what it was. A silence
proves nothing, since a busy engine is slow to answer; what was known grows old and ends by age.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from anvil_trio.facts import Freshness, Pressure
from anvil_trio.signals.engines import Fault, Observation, SignalState

__all__ = [
    "FRESH_S",
    "INTERVAL_S",
    "UNWATCHED",
    "Signal",
    "Standing",
    "look",
    "next_read_s",
    "settle",
]

FRESH_S = 5.0
INTERVAL_S = 1.0
_LONGEST_S = 8.0
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one engine: the last good reading, and the faults in a row since.

    `observed_at` is when that reading began, so that an age is never too small.
    """

    observation: Observation | None = None
    observed_at: float = 0.0
    fault: Fault | None = None
    faults: int = 0

    @property
    def expires_at(self) -> float:
        """The first moment at which the reading is more than five seconds old."""
        return math.nextafter(self.observed_at + FRESH_S, math.inf)


@dataclass(frozen=True, slots=True)
class Signal:
    """What is known of one engine at one moment. `reason` says why there is no observation."""

    pressure: Pressure
    observation: Observation | None = None  # while at most five seconds old
    reason: str | None = None


UNWATCHED = Signal(Pressure(), reason="metrics_unsupported_engine")
"""Nobody reads this engine: its tier names none that is known."""


def settle(before: Standing, found: Observation | Fault, began_at: float) -> Standing:
    """What is known after one more reading."""
    if isinstance(found, Observation):
        return Standing(found, began_at)
    kept = before.observation if found is Fault.TIMED_OUT else None
    return Standing(kept, before.observed_at, found, before.faults + 1)


def next_read_s(standing: Standing) -> float:
    """How long to leave an engine in peace after a reading: a second, doubled with each fault."""
    return min(math.ldexp(INTERVAL_S, standing.faults), _LONGEST_S)


def look(standing: Standing, ceiling: int | None, now: float) -> Signal:
    """What may be ranked by and shown at `now`. An odd number spoils the pressure, not the rest.

    The pressure is the larger of the requests' share of `ceiling` and the cache's use, rounded up
    to a ppm. Without a ceiling only the cache counts. A missing term is left out: it is not zero.
    """
    seen = standing.observation
    if seen is not None and now < standing.expires_at:
        return Signal(_pressure(seen, ceiling), seen)
    if standing.fault is not None:
        is_silent = standing.fault is Fault.TIMED_OUT
        reason = Fault.TRANSPORT if is_silent else standing.fault
        return Signal(Pressure(Freshness.FAILED), reason=reason.value)
    if seen is not None:
        return Signal(Pressure(Freshness.STALE), reason="metrics_stale")
    return Signal(Pressure(Freshness.UNKNOWN), reason="metrics_pending")


def _pressure(seen: Observation, ceiling: int | None) -> Pressure:
    terms = [*_requests_term(seen, ceiling), *_cache_term(seen)]
    if not terms or SignalState.INVALID in {seen.requests_state, seen.kv_state}:
        return Pressure(Freshness.UNKNOWN)
    return Pressure(Freshness.FRESH, max(terms))


def _requests_term(seen: Observation, ceiling: int | None) -> list[int]:
    if ceiling is None or seen.requests_running is None or seen.requests_waiting is None:
        return []
    requests = seen.requests_running + seen.requests_waiting
    return [-(-requests * _MILLION // ceiling)]


def _cache_term(seen: Observation) -> list[int]:
    if seen.kv_cache_usage_fraction is None:
        return []
    # Through its shortest text, so that an engine's 0.1 is a tenth and not a hair more.
    exact = Fraction(repr(seen.kv_cache_usage_fraction)) * _MILLION
    return [-(-exact.numerator // exact.denominator)]
