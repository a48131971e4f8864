"""The nearest-rank percentile."""

import math
from collections.abc import Sequence

__all__ = ["percentile"]


def percentile(ordered: Sequence[float], share: float) -> float:
    """The least of `ordered`, which is sorted, that `share` of them do not exceed; 0 if empty."""
    if not ordered:
        return 0.0
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]
