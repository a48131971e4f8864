"""What is summed up over the newest decision records. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from anvil_trio.meters.metric import Kind, Metric

__all__ = [
    "ALL",
    "BUFFER_CAPACITY",
    "BUFFER_COMPLETION_TOKENS",
    "BUFFER_PROMPT_TOKENS",
    "BUFFER_REQUESTS",
    "BUFFER_REQUEST_BYTES",
    "BUFFER_RESPONSE_BYTES",
    "BUFFER_SPANS",
    "SpanMetrics",
]

BUFFER_CAPACITY = Metric(
    "anvil_router_decision_buffer_capacity",
    Kind.GAUGE,
    (),
    "Records that the decision buffer keeps.",
)
BUFFER_REQUESTS = Metric(
    "anvil_router_decision_buffer_requests",
    Kind.GAUGE,
    ("model", "outcome"),
    "Records in the buffer; without a model: of all.",
)
BUFFER_PROMPT_TOKENS = Metric(
    "anvil_router_decision_buffer_prompt_tokens",
    Kind.GAUGE,
    ("model",),
    "Known prompt tokens of the records in the buffer.",
)
BUFFER_COMPLETION_TOKENS = Metric(
    "anvil_router_decision_buffer_completion_tokens",
    Kind.GAUGE,
    ("model",),
    "Known tokens of the answers in the buffer.",
)
BUFFER_REQUEST_BYTES = Metric(
    "anvil_router_decision_buffer_request_bytes",
    Kind.GAUGE,
    ("model",),
    "Bytes of the request bodies in the buffer.",
)
BUFFER_RESPONSE_BYTES = Metric(
    "anvil_router_decision_buffer_response_bytes",
    Kind.GAUGE,
    ("model",),
    "Bytes of the answers in the buffer.",
)


@dataclass(frozen=True, slots=True)
class SpanMetrics:
    """What is said of one duration of the records in the buffer."""

    samples: Metric
    average: Metric
    p50: Metric
    p95: Metric

    @property
    def all(self) -> tuple[Metric, ...]:
        """In the order in which they are shown."""
        return (self.samples, self.average, self.p50, self.p95)


def _span(stem: str, what: str) -> SpanMetrics:
    def gauge(end: str, text: str) -> Metric:
        name = f"anvil_router_decision_buffer_{stem}_{end}"
        return Metric(name, Kind.GAUGE, ("model",), f"{text} {what}.")

    return SpanMetrics(
        samples=gauge("samples", "Records in the buffer that know"),
        average=gauge("ms_average", "Average over the buffer, in milliseconds, of"),
        p50=gauge("ms_p50", "Median over the buffer, in milliseconds, of"),
        p95=gauge("ms_p95", "95th percentile over the buffer, in milliseconds, of"),
    )


BUFFER_SPANS: Mapping[str, SpanMetrics] = MappingProxyType({
    "latency_ms": _span("latency", "how long the request took"),
    "readiness_check_ms": _span("readiness_check", "how long a probe was waited for"),
    "upstream_duration_ms": _span("upstream_duration", "how long the engine took"),
    "time_to_first_content_ms": _span("time_to_first_content", "how long the first content took"),
})
"""By the field of the decision record."""


ALL = (
    BUFFER_CAPACITY,
    BUFFER_REQUESTS,
    BUFFER_PROMPT_TOKENS,
    BUFFER_COMPLETION_TOKENS,
    BUFFER_REQUEST_BYTES,
    BUFFER_RESPONSE_BYTES,
    *(metric for span in BUFFER_SPANS.values() for metric in span.all),
)
"""In the order in which they are exposed."""
