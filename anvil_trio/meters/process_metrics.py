"""What the process says of its own book-keeping. Pure."""

from anvil_trio.meters.metric import Kind, Metric

__all__ = ["ALL", "DECISION_LOG_FAILURES", "PROCESS_START", "SPANS_DROPPED", "SPANS_EXPORTED"]

DECISION_LOG_FAILURES = Metric(
    "anvil_router_decision_log_write_failures_total",
    Kind.COUNTER,
    (),
    "Records that could not be written to the decision log.",
)
SPANS_EXPORTED = Metric(
    "anvil_router_trace_spans_exported_total",
    Kind.COUNTER,
    (),
    "Spans that the trace collector took.",
)
SPANS_DROPPED = Metric(
    "anvil_router_trace_spans_dropped_total",
    Kind.COUNTER,
    ("reason",),
    "Spans that the trace collector did not get, or did not take.",
)
PROCESS_START = Metric(
    "anvil_router_process_start_time_seconds",
    Kind.GAUGE,
    (),
    "When this process opened its house, in seconds since 1970.",
)


ALL = (DECISION_LOG_FAILURES, SPANS_EXPORTED, SPANS_DROPPED, PROCESS_START)
"""In the order in which they are exposed."""
