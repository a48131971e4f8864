import json
import re
import secrets

import pytest
from msgspec.structs import replace
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from anvil_trio.decisions.builder import CallerIds
from anvil_trio.decisions.otlp import ATTRIBUTES, render_spans
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.words import AttemptReason, Ending, RequestKind, WorkloadOutcome
from anvil_trio.dialects.ir import FinishReason, Prompt, Usage
from anvil_trio.names import MemberId
from tests.support.otlp import SeenSpan, decode
from tests.unit.decisions.samples import (
    BACKEND_ERROR,
    LEFT,
    REJECTED,
    SERVED,
    builder,
    direct_tier,
    finished,
    record,
    replica_tier,
)


def full(ending: Ending = SERVED) -> DecisionRecord:
    """A record that lacks nothing: an engine counted, a session was named, a wait was had."""
    made = builder(replica_tier(), caller=CallerIds(session_id="session-1", request_id="caller-1"))
    made.asked_at, made.attempted_at = 10.25, 10.5
    made.selected(MemberId("member-a"), 10.5)
    made.usage = Usage(prompt_tokens=7, completion_tokens=5, cached_tokens=3)
    made.finish_reason = FinishReason.STOP
    return finished(made, ending)


def seen(*records: DecisionRecord) -> list[SeenSpan]:
    """The spans that a collector makes of these records."""
    return decode(render_spans(records, "0.1.0", secrets.token_hex))


def attributes(of: DecisionRecord) -> dict[str, object]:
    """The attributes of one record's span."""
    [span] = seen(of)
    return dict(span.attributes)


def test_a_whole_record_has_every_attribute_but_the_error():
    """Ours and OpenTelemetry's names, texts as text and numbers as numbers."""
    found = attributes(full())
    assert found == {
        "anvil.router.route": "llm.primary",
        "anvil.router.kind": "chat",
        "anvil.router.requested_tier": "primary",
        "anvil.router.served_tier": "primary",
        "anvil.router.session_id": "session-1",
        "anvil.router.client_id": "_legacy",
        "anvil.router.config_sha256": "c" * 64,
        "anvil.router.router_version": "0.1.0",
        "anvil.router.gateway_request_id": "req_0123456789abcdef0123456789abcdef",
        "anvil.router.total_prompt_tokens": 7,
        "anvil.router.total_completion_tokens": 5,
        "anvil.router.cache_read_input_tokens": 3,
        "anvil.router.admission_wait_ms": 250,
        "anvil.router.latency_ms": 2000,
        "anvil.router.outcome": "success",
        "anvil.router.upstream_outcome": "success",
        "anvil.router.trace_mode": "standalone",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anvil-serving",
        "gen_ai.request.model": "llm.primary",
        "gen_ai.conversation.id": "session-1",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 3,
    }
    assert list(found) == [name for name in ATTRIBUTES if name != "error.type"]


def test_a_span_says_when_and_what_kind():
    """Its end is the record's moment, its start the latency before, both exact nanoseconds."""
    [found] = seen(full())
    span = found.span
    assert (span.name, span.kind) == ("anvil.router.request", Span.SPAN_KIND_SERVER)
    assert span.end_time_unix_nano == 1_002_000_000_000
    assert span.start_time_unix_nano == 1_000_000_000_000
    assert span.status.code == Status.STATUS_CODE_UNSET
    assert found.resource == {"service.name": "anvil-serving", "service.version": "0.1.0"}
    assert found.scope == "anvil-serving.router"


def test_a_moment_of_today_keeps_its_milliseconds():
    """Seconds as a float have no whole nanoseconds; the record's milliseconds are exact."""
    [found] = seen(replace(record(), unix_ts=1_796_024_169.123, latency_ms=457))
    assert found.span.end_time_unix_nano == 1_796_024_169_123_000_000
    assert found.span.start_time_unix_nano == 1_796_024_168_666_000_000


def test_each_record_is_a_trace_of_its_own():
    """Ids are random, of the right length, and have no parent."""
    spans = [one.span for one in seen(*[record()] * 16)]
    assert len({span.trace_id for span in spans}) == len({span.span_id for span in spans}) == 16
    assert {(len(span.trace_id), len(span.span_id)) for span in spans} == {(16, 8)}
    assert {span.parent_span_id for span in spans} == {b""}


def test_ids_are_hexadecimal_and_large_numbers_are_text():
    """The two points in which OTLP's JSON is not what one would write by itself."""
    body = json.loads(render_spans([full()], "1", secrets.token_hex))
    [span] = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert re.fullmatch(r"[0-9a-f]{32}", span["traceId"])
    assert re.fullmatch(r"[0-9a-f]{16}", span["spanId"])
    assert (span["kind"], span["endTimeUnixNano"]) == (2, "1002000000000")
    numbers = [one["value"]["intValue"] for one in span["attributes"] if "intValue" in one["value"]]
    assert numbers == ["7", "5", "3", "250", "2000", "7", "5", "3"]


def test_what_is_not_known_is_left_out():
    """The least record has no tier, session, token or wait; an unknown model is no model."""
    unknown = builder()
    unknown.unknown_model()
    found = attributes(replace(finished(unknown, REJECTED), client_id=None, config_sha256=None))
    assert found == {
        "anvil.router.route": "unknown_model",
        "anvil.router.kind": "chat",
        "anvil.router.router_version": "0.1.0",
        "anvil.router.gateway_request_id": "req_0123456789abcdef0123456789abcdef",
        "anvil.router.latency_ms": 2000,
        "anvil.router.outcome": "rejected",
        "anvil.router.upstream_outcome": "unknown",
        "anvil.router.trace_mode": "standalone",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anvil-serving",
        "error.type": "rejected",
    }


def test_an_estimate_is_no_usage():
    """What the engine did not count is ours alone."""
    made = builder(direct_tier())
    made.prompt = Prompt(9)
    found = attributes(finished(made))
    assert found["anvil.router.total_prompt_tokens"] == 9
    assert "gen_ai.usage.input_tokens" not in found


@pytest.mark.parametrize(
    ("ending", "upstream", "error"),
    [
        (SERVED, "success", None),
        (BACKEND_ERROR, "error", "error"),
        (Ending(WorkloadOutcome.TIMEOUT, AttemptReason.BACKEND_ERROR), "error", "timeout"),
        (LEFT, "unknown", "disconnected"),
        (Ending(WorkloadOutcome.CANCELLED), "unknown", "cancelled"),
    ],
)
def test_the_outcome_of_the_engine_and_of_the_request_are_two(ending, upstream, error):
    """A client that left blames no engine; every end but a success is a failed span."""
    [found] = seen(full(ending))
    assert found.attributes["anvil.router.upstream_outcome"] == upstream
    assert found.attributes.get("error.type") == error
    assert (found.span.status.code == Status.STATUS_CODE_ERROR) == (error is not None)
    assert not found.span.status.message


def test_an_attempt_that_broke_off_has_a_finish_reason_of_its_own():
    """Where a reason was to come and did not, the convention's word is `error`."""
    broken = replace(full(BACKEND_ERROR), finish_reason=None)
    assert attributes(broken)["gen_ai.response.finish_reasons"] == ["error"]
    refused = finished(builder(direct_tier()), REJECTED)
    assert refused.attempts
    assert "gen_ai.response.finish_reasons" not in attributes(refused)


@pytest.mark.parametrize(
    ("kind", "operation"),
    [(RequestKind.EMBEDDING, "embeddings"), (RequestKind.RERANK, None), (RequestKind.STT, None)],
)
def test_an_operation_without_a_name_has_none(kind, operation):
    """Only what the convention names is named by it."""
    assert attributes(replace(record(), kind=kind)).get("gen_ai.operation.name") == operation


def test_no_member_and_no_callers_id_is_exported():
    """R012: which member served, what was dropped and the caller's own ids stay here."""
    made = full()
    assert made.replica_member_id == "member-a"
    body = render_spans([replace(made, dropped_fields=("canary",))], "1", secrets.token_hex)
    for private in (b"member-a", b"canary", b"caller-1"):
        assert private not in body
