"""What a diagnosis says, from literal replies."""

import io
import json

import pytest
from rich.console import Console

from anvil_trio.cli.diagnosis import (
    LIMITATIONS,
    diagnose_active,
    diagnose_request,
    diagnose_session,
)
from anvil_trio.cli.diagnosis_text import render_diagnosis
from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.findings import FINDINGS
from anvil_trio.cli.replies import (
    ActivePage,
    HistoryPage,
    RequestPage,
    StatusPage,
    plain_text,
    read_page,
)
from anvil_trio.decisions.words import AttemptReason, WorkloadOutcome
from tests.unit.cli.pages import (
    ACTIVE,
    GATEWAY_ID,
    RECORD,
    SHA,
    STATUS,
    active_page,
    history_page,
    request_page,
)

CANARY = "canary-5417"
NOW = read_page(STATUS, StatusPage)


def read(diagnosis):
    """What a program reads of a diagnosis."""
    return json.loads(json.dumps(diagnosis))


def diagnosed(status=NOW, **changed):
    """The diagnosis of one request, some of its record changed."""
    return read(diagnose_request(read_page(request_page(**changed), RequestPage), status))


def observed(**changed):
    """The codes of what is observed of one request."""
    return [one["code"] for one in diagnosed(**changed)["request"]["observations"]]


def codes(diagnosis):
    """The codes of its limitations."""
    return [one["code"] for one in diagnosis["limitations"]]


def attempt(reason, outcome="error"):
    """The one attempt."""
    return [{"tier_id": "primary", "succeeded": False, "reason": reason, "outcome": outcome}]


def test_one_request_key_by_key():
    """The whole view, as the schema says."""
    assert diagnosed() == {
        "schema": "anvil-router-diagnosis/v1",
        "scope": "current_decision_log_buffer",
        "request": {
            "gateway_request_id": GATEWAY_ID,
            "request_id": "caller-1",
            "session_id": "session-1",
            "client_id": "_legacy",
            "workbench_run_id": None,
            "task_id": None,
            "kind": "chat",
            "route": "llm.primary",
            "requested_tier": "primary",
            "served_tier": "primary",
            "replica_member_id": "member-a",
            "replica_selection": "identity_passed",
            "config_sha256": SHA,
            "router_version": "0.1.0",
            "outcome": "success",
            "upstream_outcome": "success",
            "delivery_outcome": "delivered",
            "finish_reason": "stop",
            "timing": {
                "latency_ms": 1500,
                "readiness_check_ms": 0,
                "admission_wait_ms": 5,
                "upstream_duration_ms": 1400,
                "time_to_first_content_ms": 300,
            },
            "usage": {
                "prompt_tokens": 12,
                "completion_tokens": 34,
                "prompt_source": "upstream",
                "completion_source": "upstream",
                "cache_read_input_tokens": None,
            },
            "output_limit": {"requested": 64, "applied": 64, "clamped": False},
            "active": {
                "state": None,
                "phase": None,
                "elapsed_ms": None,
                "last_activity_ms": None,
                "estimated_input_tokens": None,
                "context_limit_tokens": None,
            },
            "observations": [{"code": "served", "message": "The request was served whole."}],
            "next_checks": [],
        },
        "current_router": {
            "status": "available",
            "metadata": {
                "package_version": "0.1.0",
                "started_at": "2023-11-14T22:13:20Z",
                "uptime_seconds": 60,
                "config_sha256": SHA,
                "tiers_configured": 1,
                "tiers_enabled": 1,
            },
        },
        "limitations": [
            {"code": code, "message": LIMITATIONS[code]}
            for code in ("metadata_only", "never_replayed", "current_is_now")
        ],
    }


def test_a_status_page_that_is_not_ours_to_see():
    """The request is diagnosed all the same, and the lack is said."""
    found = diagnosed(status=None)
    assert found["current_router"] == {"status": "unavailable", "metadata": None}
    assert codes(found) == ["metadata_only", "never_replayed", "current_is_now", "current_unknown"]


@pytest.mark.parametrize("reason", AttemptReason)
def test_every_reason_of_an_attempt_is_an_observation(reason):
    """In the record's own word."""
    assert observed(attempts=attempt(reason.value))[0] == reason.value


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"attempts": [], "replica_selection": "not_admitted"}, ["not_admitted"]),
        ({"attempts": [], "replica_selection": "request_rejected"}, ["request_rejected"]),
        ({"attempts": [], "replica_selection": "identity_passed"}, []),
        ({"attempts": [], "route": "unknown_model"}, ["unknown_model"]),
        ({"attempts": [], "route": "unparsed"}, ["unparsed"]),
        ({"attempts": attempt(CANARY)}, []),
        ({"admission_wait_ms": 1000}, ["served"]),
        ({"admission_wait_ms": 1001}, ["served", "long_wait"]),
        ({"admission_wait_ms": None}, ["served"]),
        ({"config_sha256": "b" * 64}, ["served", "configuration_changed"]),
        ({"config_sha256": "b" * 64, "status": None}, ["served"]),
        ({"config_sha256": None}, ["served"]),
        ({"usage": {"prompt_source": "estimated"}}, ["served", "usage_estimated"]),
        ({"usage": {"completion_source": "estimated"}}, ["served", "usage_estimated"]),
        ({"usage": {"completion_source": "unknown"}}, ["served"]),
    ],
    ids=str,
)
def test_what_a_record_shows(changed, found):
    """Each rule at its border."""
    assert observed(**changed) == found


@pytest.mark.parametrize(
    ("changed", "waited_ms", "found"),
    [
        ({"time_to_first_content_ms": 10_900}, 900, []),
        ({"time_to_first_content_ms": 10_901}, 900, ["late_content"]),
        ({"time_to_first_content_ms": None}, 5, ["no_content"]),
        ({"time_to_first_content_ms": None, "upstream_duration_ms": None}, 5, []),
        ({"finish_reason": "length"}, 5, ["output_limit_reached"]),
        ({"finish_reason_missing": True}, 5, ["finish_reason_missing"]),
    ],
    ids=str,
)
def test_what_the_measurements_show(changed, waited_ms, found):
    """The wait for a place is not counted twice."""
    measurements = {**RECORD["measurements"], **changed}
    assert observed(measurements=measurements, admission_wait_ms=waited_ms) == ["served", *found]


@pytest.mark.parametrize(
    ("attempts", "upstream"),
    [
        (attempt("served", "served"), "success"),
        (attempt("served_output_clamped", "served"), "success"),
        (attempt("backend_error"), "error"),
        (attempt("client_disconnected"), "unknown"),
        (attempt("completion_error"), "unknown"),
        (attempt("over_context", "skipped"), "not_attempted"),
        ([], "not_attempted"),
    ],
    ids=str,
)
def test_what_became_of_the_engine(attempts, upstream):
    """A caller that left says nothing about it."""
    assert diagnosed(attempts=attempts)["request"]["upstream_outcome"] == upstream


@pytest.mark.parametrize(
    ("outcome", "delivery"),
    [
        ("success", "delivered"),
        ("disconnected", "client_left"),
        ("rejected", "refused"),
        ("error", "failed"),
        ("timeout", "failed"),
        ("cancelled", "failed"),
        (CANARY, "unknown"),
        (None, "unknown"),
    ],
)
def test_what_the_caller_got(outcome, delivery):
    """From the record's outcome; a word that is none of ours is unknown."""
    request = diagnosed(workload_outcome=outcome)["request"]
    assert request["delivery_outcome"] == delivery
    assert request["outcome"] == (outcome if outcome in set(WorkloadOutcome) else "unknown")


def test_what_a_replica_tier_does_not_tell_apart_is_said():
    """And the same check is named once."""
    found = diagnosed(attempts=[], replica_selection="not_admitted")
    assert codes(found)[-1] == "refusals_not_told_apart"
    request = diagnosed(attempts=attempt("backend_error"), measurements={"upstream_duration_ms": 1})
    assert [one["code"] for one in request["request"]["observations"]] == [
        "backend_error",
        "no_content",
    ]
    assert request["request"]["next_checks"] == [FINDINGS["backend_error"].next_check]


def test_a_session_is_its_records():
    """In the router's order, with what may be missing."""
    page = read_page(history_page(RECORD, RECORD, truncated=True), HistoryPage)
    found = read(diagnose_session("session-1", page))
    assert found.keys() == {
        *("schema", "scope", "session_id", "active", "requests", "truncated", "limitations")
    }
    assert (found["scope"], found["session_id"]) == ("decision_log_jsonl", "session-1")
    assert (found["active"], found["truncated"]) == (False, True)
    assert found["requests"] == [diagnosed()["request"]] * 2
    assert codes(found) == ["metadata_only", "never_replayed", "retained_only"]
    page = read_page(history_page(available=False), HistoryPage)
    assert codes(diagnose_session("session-1", page))[-1] == "file_unavailable"


def test_what_runs_is_shown_as_running():
    """With the keys of a finished request that a running one can have."""
    found = read(diagnose_active(read_page(active_page(ACTIVE), ActivePage)))
    assert (found["session_id"], found["active"]) == (None, True)
    [request] = found["requests"]
    assert request["outcome"] == "running"
    assert request["active"] == {
        "state": "running",
        "phase": "streaming",
        "elapsed_ms": 2500,
        "last_activity_ms": 20,
        "estimated_input_tokens": 10,
        "context_limit_tokens": 8192,
    }
    assert request["timing"]["admission_wait_ms"] == 3
    assert request["observations"] == [{"code": "streaming", "message": "The engine is answering."}]
    assert codes(found) == ["metadata_only", "never_replayed", "one_moment"]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"phase": phase}, [phase])
        for phase in ("checking", "queued", "admitted", "dispatched", "streaming")
    ]
    + [
        ({"phase": CANARY}, []),
        ({"phase": None}, []),
        ({"last_activity_ms": 15_000}, ["streaming"]),
        ({"last_activity_ms": 15_001}, ["streaming", "quiet"]),
        ({"last_activity_ms": None}, ["streaming"]),
    ],
    ids=str,
)
def test_what_a_running_request_shows(changed, found):
    """Its phase, and whether anything moves."""
    page = read_page(active_page({**ACTIVE, **changed}), ActivePage)
    [request] = read(diagnose_active(page))["requests"]
    assert [one["code"] for one in request["observations"]] == found


@pytest.mark.parametrize(
    ("page", "reply"),
    [
        (RequestPage, {}),
        (RequestPage, {"scope": "x", "record": {}}),
        (RequestPage, request_page(latency_ms="5")),
        (RequestPage, request_page(latency_ms=-1)),
        (RequestPage, request_page(latency_ms=True)),
        (RequestPage, request_page(attempts=None)),
        (HistoryPage, history_page(truncated=1)),
        (ActivePage, active_page({"gateway_request_id": 5})),
        (StatusPage, {**STATUS, "tier_counts": {}}),
    ],
    ids=str,
)
def test_what_is_no_page_is_refused(page, reply):
    """A reply of another shape is no answer of a router."""
    with pytest.raises(CommandFailed) as caught:
        read_page(reply, page)
    assert caught.value.failure.code == "router_response_invalid"


def test_what_the_router_adds_is_not_repeated():
    """R012: unknown keys, unknown words and texts that steer a terminal stay out."""
    page = request_page(
        note=CANARY,
        kind=CANARY,
        replica_selection=CANARY,
        measurements={"finish_reason": CANARY},
        usage={"prompt_source": CANARY},
        task_id=f"\x1b[2J{CANARY}",
        client_id=CANARY * 100,
    )
    page["scope"] = CANARY
    found = diagnose_request(read_page(page, RequestPage), NOW)
    assert CANARY not in json.dumps(found)
    row = {**ACTIVE, "state": CANARY, "phase": CANARY}
    assert CANARY not in json.dumps(diagnose_active(read_page(active_page(row), ActivePage)))


@pytest.mark.parametrize(
    ("text", "shown"), [(None, None), ("-", None), ("a b", "a b"), ("a\n", None), ("a" * 257, None)]
)
def test_a_text_is_shown_whole_or_not_at_all(text, shown):
    """A missing one is null, not a dash."""
    assert plain_text(text) == shown


def drawn(diagnosis):
    """What a person reads of a diagnosis."""
    console = Console(file=io.StringIO(), width=100, color_system=None, highlight=False)
    console.print(render_diagnosis(diagnosis))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_person_reads_one_request():
    """What is known, with units; what is not known takes no line."""
    text = drawn(diagnosed(attempts=attempt("backend_error"), workload_outcome="error"))
    for words in ("error", "latency", "1500 ms", "clamped", "no", "member-a", "60 s"):
        assert words in text
    assert "- Read the log of the member's engine at that time." in text
    assert "None" not in text
    console = Console(file=io.StringIO(), width=60, color_system=None)
    console.print(render_diagnosis(diagnosed()))
    assert isinstance(console.file, io.StringIO)
    assert SHA in "".join(console.file.getvalue().split())
    assert "task_id" not in text
    assert "router now" in drawn(diagnosed(status=None))


def test_a_person_reads_how_many():
    """A session and what runs end with their number."""
    page = read_page(history_page(RECORD, truncated=True), HistoryPage)
    assert "1 recorded, and more that are not shown" in drawn(diagnose_session("s", page))
    assert "0 running\n" in drawn(diagnose_active(read_page(active_page(), ActivePage)))
