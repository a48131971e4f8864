"""The closed list of what `GET /metrics` exposes. Pure.

Projection, documentation, dashboard and tests all read it. A number that is not known has no
sample: it is never 0.
"""

from anvil_trio.meters import buffer_metrics, process_metrics, request_metrics, state_metrics
from anvil_trio.meters.metric import Metric

__all__ = ["CATALOG"]

CATALOG: tuple[Metric, ...] = (
    *request_metrics.ALL,
    *state_metrics.ALL,
    *buffer_metrics.ALL,
    *process_metrics.ALL,
)
"""All of them, in the order in which they are exposed."""
