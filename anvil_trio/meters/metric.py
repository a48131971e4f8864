"""What a metric is: a name, a kind, labels, and what it says. Pure."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["Kind", "Metric"]


class Kind(Enum):
    """What Prometheus may do with a number."""

    COUNTER = "counter"  # rises, and begins anew with the process
    GAUGE = "gauge"  # stands for the moment
    HISTOGRAM = "histogram"  # durations in seconds


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: every sample of it has exactly these labels.

    `tier` and `member` are ids of the configuration, `alias` and `model` its aliases or a fixed
    word in their place, `workflow` an id of the workflow registry; the words of every other label
    are closed (R012).
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    text: str
