"""One record as the pages show it."""

import msgspec

from anvil_trio.decisions.builder import CallerIds
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.names import MemberId
from anvil_trio.views.decisions import project_decisions
from anvil_trio.views.summary import OMITTED, Summary, project_summary
from tests.unit.decisions.samples import (
    REJECTED,
    builder,
    direct_tier,
    finished,
    ranked_record,
    record,
    replica_tier,
)
from tests.unit.views.samples import read

MOVED = {
    "readiness_check_ms": "measurements",
    "upstream_duration_ms": "measurements",
    "time_to_first_content_ms": "measurements",
    "finish_reason": "measurements",
    "finish_reason_missing": "measurements",
    "prompt_tokens_source": "usage",
    "completion_tokens_source": "usage",
    "output_limit_requested": "output_limit",
    "output_limit_applied": "output_limit",
    "output_limit_clamped": "output_limit",
}


def test_the_least_record_has_every_key_that_is_always_there():
    """A text that there is not is `-`, a number null; replica keys are left out."""
    assert read(project_summary(record())) == {
        "route": "llm.primary",
        "kind": "chat",
        "requested_tier": "-",
        "served_tier": "-",
        "attempts": [],
        "total_prompt_tokens": None,
        "total_completion_tokens": None,
        "request_bytes": 0,
        "response_bytes": 0,
        "latency_ms": 2000,
        "measurements": {
            "readiness_check_ms": None,
            "upstream_duration_ms": None,
            "time_to_first_content_ms": None,
            "finish_reason": None,
            "finish_reason_missing": False,
        },
        "usage": {
            "prompt_tokens": None,
            "completion_tokens": None,
            "prompt_source": "unknown",
            "completion_source": "unknown",
        },
        "output_limit": {"requested": None, "applied": None, "clamped": False},
        "dropped_fields": [],
        "request_id": "-",
        "gateway_request_id": "req_0123456789abcdef0123456789abcdef",
        "workbench_run_id": "-",
        "task_id": "-",
        "session_id": "-",
        "client_id": "-",
        "cache_read_input_tokens": None,
        "admission_wait_ms": None,
        "config_sha256": "-",
        "router_version": "-",
        "workload_outcome": "success",
    }


def test_a_ranked_record_shows_its_member_and_evidence():
    """T011: the pair, the evidence and one attempt."""
    shown = read(project_summary(ranked_record(is_affinity_hit=True)))
    assert (shown["replica_member_id"], shown["replica_selection"]) == (
        "member-a",
        "identity_passed",
    )
    assert shown["replica_scheduler"]["selected_member_id"] == "member-a"
    assert shown["affinity_hit"] is True
    assert shown["attempts"] == [
        {
            "tier_id": "primary",
            "succeeded": True,
            "reason": "served",
            "outcome": "served",
            "prompt_tokens": None,
            "completion_tokens": None,
        }
    ]


def test_a_refused_replica_request_shows_how_it_was_refused():
    """T011: no member and no attempt."""
    made = builder(replica_tier())
    shown = read(project_summary(finished(made, REJECTED)))
    assert (shown["replica_selection"], shown["attempts"]) == ("request_rejected", [])
    assert "replica_member_id" not in shown


def test_a_direct_tier_has_no_replica_keys():
    """A direct tier's record names no member."""
    made = builder(direct_tier())
    made.selected(MemberId(""), 10.5)
    assert not {key for key in read(project_summary(finished(made))) if key.startswith("replica_")}


def test_a_session_that_did_not_hit_is_shown():
    """False is something else than absent."""
    assert read(project_summary(ranked_record(is_affinity_hit=False)))["affinity_hit"] is False
    assert "affinity_hit" not in read(project_summary(ranked_record()))


def test_every_field_of_a_record_is_shown_or_named_as_omitted():
    """A new field of the record must be put on the page, or on the list."""
    shown = set(Summary.__struct_fields__) | set(OMITTED) | set(MOVED)
    assert set(DecisionRecord.__struct_fields__) <= shown
    blocks = {field.name: field.type for field in msgspec.structs.fields(Summary)}
    assert set(MOVED.values()) <= set(blocks)
    assert not set(OMITTED) & set(Summary.__struct_fields__)


def test_an_id_that_looks_like_a_key_is_not_shown():
    """R012: whatever a caller sent as an id by mistake is not repeated."""
    key = "sk-kanarie-0123456789"
    made = builder(direct_tier(), caller=CallerIds(key, key, key, key))
    assert key not in str(read(project_summary(finished(made))))


def test_the_page_adds_up_what_it_shows():
    """Totals are those of the records of this page; what was not counted adds nothing."""
    served, refused = ranked_record(), finished(builder(replica_tier()), REJECTED)
    counted = msgspec.structs.replace(
        served, total_prompt_tokens=7, total_completion_tokens=3, request_bytes=10, response_bytes=5
    )
    page = read(project_decisions([counted, refused], available=9, limit=2))
    assert (page["count"], page["available"], page["limit"]) == (2, 9, 2)
    assert page["totals"] == {
        "requests": 2,
        "succeeded": 1,
        "failed": 1,
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "request_bytes": 10,
        "response_bytes": 5,
    }
    assert page["omitted_fields"] == list(OMITTED)
    assert [one["workload_outcome"] for one in page["records"]] == ["success", "rejected"]
