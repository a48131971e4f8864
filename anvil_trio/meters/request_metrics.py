"""What requests add to: counters and durations. Pure."""

from anvil_trio.meters.metric import Kind, Metric

__all__ = [
    "ADMISSION_WAIT",
    "ALL",
    "ATTEMPTS",
    "CLIENT_DISCONNECTS",
    "FIRST_CONTENT",
    "PROBE_FAILURES",
    "REFUSALS",
    "REQUESTS",
    "STREAM_GAP",
    "UPSTREAM_DURATION",
]

REQUESTS = Metric(
    "anvil_router_requests_total",
    Kind.COUNTER,
    ("alias", "tier", "outcome"),
    "Chat requests that ended, by how they ended for their caller.",
)
REFUSALS = Metric(
    "anvil_router_refusals_total",
    Kind.COUNTER,
    ("alias", "tier", "reason"),
    "Requests that were refused before an engine was asked, by the gate that refused.",
)
CLIENT_DISCONNECTS = Metric(
    "anvil_router_client_disconnects_total",
    Kind.COUNTER,
    ("alias", "tier", "kind"),
    "Requests whose client left, or stopped reading, before the answer was whole.",
)
ATTEMPTS = Metric(
    "anvil_router_attempts_total",
    Kind.COUNTER,
    ("tier", "member", "outcome"),
    "Attempts on a member, by how they ended; a request has at most one.",
)
ADMISSION_WAIT = Metric(
    "anvil_router_admission_wait_seconds",
    Kind.HISTOGRAM,
    ("tier",),
    "From asking a tier for a member to its answer, refusals included.",
)
FIRST_CONTENT = Metric(
    "anvil_router_time_to_first_content_seconds",
    Kind.HISTOGRAM,
    ("tier", "member"),
    "From the start of a request to its first text, reasoning or tool argument.",
)
STREAM_GAP = Metric(
    "anvil_router_stream_gap_seconds",
    Kind.HISTOGRAM,
    ("tier", "member"),
    "How long an engine's events were apart: the mean of a stream, observed once at its end.",
)
UPSTREAM_DURATION = Metric(
    "anvil_router_upstream_duration_seconds",
    Kind.HISTOGRAM,
    ("tier", "member"),
    "From connecting to a member until its reply was read or given up.",
)
PROBE_FAILURES = Metric(
    "anvil_router_probe_failures_total",
    Kind.COUNTER,
    ("tier", "member"),
    "Probes that found a member not ready; each timeout counts.",
)


ALL = (
    REQUESTS,
    REFUSALS,
    CLIENT_DISCONNECTS,
    ATTEMPTS,
    ADMISSION_WAIT,
    FIRST_CONTENT,
    STREAM_GAP,
    UPSTREAM_DURATION,
    PROBE_FAILURES,
)
"""In the order in which they are exposed."""
