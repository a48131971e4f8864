"""What a collector makes of an export: decoded by OpenTelemetry's own messages."""

import base64
import json
from dataclasses import dataclass

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

__all__ = ["SeenSpan", "decode"]

Plain = str | int | list[str]


@dataclass(frozen=True)
class SeenSpan:
    """One span as the collector has it, and its attributes as plain values."""

    span: Span
    attributes: dict[str, Plain]
    resource: dict[str, Plain]
    scope: str


def decode(body: bytes) -> list[SeenSpan]:
    """Every span of one body. Anything that is no OTLP in JSON raises.

    OTLP's JSON has hexadecimal ids where protobuf's own has base64; all else is protobuf's.
    """
    tree = json.loads(body)
    for resource in tree["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId"):
                    assert span[name] == span[name].lower()
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    message = ParseDict(tree, ExportTraceServiceRequest(), ignore_unknown_fields=False)
    return [
        SeenSpan(
            span,
            {one.key: _plain(one.value) for one in span.attributes},
            {one.key: _plain(one.value) for one in resource.resource.attributes},
            scope.scope.name,
        )
        for resource in message.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _plain(value: AnyValue) -> Plain:
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "int_value":
            return value.int_value
        case "array_value":
            return [one.string_value for one in value.array_value.values]
        case other:
            raise AssertionError(f"no attribute is {other}")
