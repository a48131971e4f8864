"""The two kinds of number that requests add to: a tally, and a spread of durations. Pure.

They are plain values of one thread: an addition is a few steps, and a reader needs no lock.
"""

from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["Spread", "Tally"]


class Tally:
    """How often something happened. It only rises: whoever counts adds to its `value`."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class Spread:
    """How long something took, in seconds: how many up to each bound, and the sum of all.

    `bounds` rise; whatever is above the last one is counted too.
    """

    __slots__ = ("_bounds", "_counts", "total_s")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total_s = 0.0

    def observe(self, seconds: float) -> None:
        """One more; one that equals a bound is within it."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self.total_s += seconds

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self._counts)

    def cumulative(self) -> list[tuple[str, float]]:
        """Each bound, as Prometheus writes it, with how many were not above it."""
        rows: list[tuple[str, float]] = []
        sum_so_far = 0
        names = [*map(repr, map(float, self._bounds)), "+Inf"]
        for name, number in zip(names, self._counts, strict=True):
            sum_so_far += number
            rows.append((name, sum_so_far))
        return rows
