"""Decision records as OTLP's JSON: one span for each, with the attributes of this list. Pure.

Ids are hexadecimal, as OTLP's own rules for JSON want them, 64-bit numbers are text, and what is
not known is left out. The second column of the table has the names of OpenTelemetry's conventions
for generative AI where there is one for the same fact.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.words import (
    AttemptOutcome,
    AttemptReason,
    RequestKind,
    TokenSource,
    WorkloadOutcome,
)

__all__ = ["ATTRIBUTES", "MakeId", "render_spans"]

MakeId = Callable[[int], str]
"""So many random bytes, in hexadecimal."""

SERVICE = "anvil-serving"
_SCOPE = "anvil-serving.router"
_NAME = "anvil.router.request"
_SERVER = 2  # the kind of a span that answers somebody
_FAILED = 2  # the status code of one that did not end well
_NS_IN_MS = 1_000_000

_OPERATIONS: Mapping[RequestKind, str] = MappingProxyType({
    RequestKind.CHAT: "chat",
    RequestKind.EMBEDDING: "embeddings",
})

_Attribute = str | int | list[str] | None
_Reader = Callable[[DecisionRecord], _Attribute]


def _upstream_outcome(record: DecisionRecord) -> str:
    """What came of the engine's part; a client that left says nothing about the engine."""
    for attempt in record.attempts:
        if attempt.outcome is AttemptOutcome.SERVED:
            return "success"
        if attempt.reason is AttemptReason.BACKEND_ERROR:
            return "error"
    return "unknown"


def _model(record: DecisionRecord) -> str | None:
    """The alias; nothing for a model that is not configured, whose name is not kept."""
    return None if record.requested_tier is None else record.route


def _error(record: DecisionRecord) -> str | None:
    is_success = record.workload_outcome is WorkloadOutcome.SUCCESS
    return None if is_success else record.workload_outcome.value


def _finish_reasons(record: DecisionRecord) -> list[str] | None:
    """One reply has one reason; one that was begun and broke off ended by `error`."""
    if record.finish_reason is not None:
        return [record.finish_reason]
    is_broken = any(attempt.outcome is AttemptOutcome.ERROR for attempt in record.attempts)
    return ["error"] if is_broken else None


def _counted(tokens: int | None, source: TokenSource) -> int | None:
    """Only what the engine counted: our estimates are not its usage."""
    return tokens if source is TokenSource.UPSTREAM else None


ATTRIBUTES: Mapping[str, _Reader] = MappingProxyType({
    "anvil.router.route": lambda record: record.route,
    "anvil.router.kind": lambda record: record.kind.value,
    "anvil.router.requested_tier": lambda record: record.requested_tier,
    "anvil.router.served_tier": lambda record: record.served_tier,
    "anvil.router.session_id": lambda record: record.session_id,
    "anvil.router.client_id": lambda record: record.client_id,
    "anvil.router.config_sha256": lambda record: record.config_sha256,
    "anvil.router.router_version": lambda record: record.router_version,
    "anvil.router.gateway_request_id": lambda record: record.gateway_request_id,
    "anvil.router.total_prompt_tokens": lambda record: record.total_prompt_tokens,
    "anvil.router.total_completion_tokens": lambda record: record.total_completion_tokens,
    "anvil.router.cache_read_input_tokens": lambda record: record.cache_read_input_tokens,
    "anvil.router.admission_wait_ms": lambda record: record.admission_wait_ms,
    "anvil.router.latency_ms": lambda record: record.latency_ms,
    "anvil.router.outcome": lambda record: record.workload_outcome.value,
    "anvil.router.upstream_outcome": _upstream_outcome,
    "anvil.router.trace_mode": lambda _record: "standalone",
    "gen_ai.operation.name": lambda record: _OPERATIONS.get(record.kind),
    "gen_ai.provider.name": lambda _record: SERVICE,
    "gen_ai.request.model": _model,
    "gen_ai.conversation.id": lambda record: record.session_id,
    "gen_ai.response.finish_reasons": _finish_reasons,
    "gen_ai.usage.input_tokens": lambda record: _counted(
        record.total_prompt_tokens, record.prompt_tokens_source
    ),
    "gen_ai.usage.output_tokens": lambda record: _counted(
        record.total_completion_tokens, record.completion_tokens_source
    ),
    "gen_ai.usage.cache_read.input_tokens": lambda record: record.cache_read_input_tokens,
    "error.type": _error,
})
"""Every attribute that a span may have, and where it comes from."""


def render_spans(records: Iterable[DecisionRecord], version: str, make_id: MakeId) -> bytes:
    """The body of one export: each record is a trace of its own, of one span."""
    resource = {"service.name": SERVICE, "service.version": version}
    body = {
        "resourceSpans": [
            {
                "resource": {"attributes": list(_attributes(resource.items()))},
                "scopeSpans": [
                    {
                        "scope": {"name": _SCOPE, "version": version},
                        "spans": [_span(record, make_id) for record in records],
                    }
                ],
            }
        ]
    }
    return msgspec.json.encode(body)


def _span(record: DecisionRecord, make_id: MakeId) -> Mapping[str, object]:
    """The end is the record's moment and the start its latency before; both are whole ms."""
    end_ms = round(record.unix_ts * 1000)
    values = ((name, read(record)) for name, read in ATTRIBUTES.items())
    is_success = record.workload_outcome is WorkloadOutcome.SUCCESS
    return {
        "traceId": make_id(16),
        "spanId": make_id(8),
        "name": _NAME,
        "kind": _SERVER,
        "startTimeUnixNano": str((end_ms - record.latency_ms) * _NS_IN_MS),
        "endTimeUnixNano": str(end_ms * _NS_IN_MS),
        "attributes": list(_attributes(values)),
        "status": {} if is_success else {"code": _FAILED},
    }


def _attributes(values: Iterable[tuple[str, _Attribute]]) -> Iterator[Mapping[str, object]]:
    for key, value in values:
        if value is not None:
            yield {"key": key, "value": _value(value)}


def _value(value: str | int | list[str]) -> Mapping[str, object]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [{"stringValue": one} for one in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}
