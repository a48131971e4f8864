"""Literal replies of a router, as its pages are documented."""

from typing import Any

GATEWAY_ID = "req_0123456789abcdef0123456789abcdef"
SHA = "a" * 64

RECORD: dict[str, Any] = {
    "route": "llm.primary",
    "kind": "chat",
    "requested_tier": "primary",
    "served_tier": "primary",
    "attempts": [
        {
            "tier_id": "primary",
            "succeeded": True,
            "reason": "served",
            "outcome": "served",
            "prompt_tokens": 12,
            "completion_tokens": 34,
        }
    ],
    "total_prompt_tokens": 12,
    "total_completion_tokens": 34,
    "request_bytes": 100,
    "response_bytes": 200,
    "latency_ms": 1500,
    "measurements": {
        "readiness_check_ms": 0,
        "upstream_duration_ms": 1400,
        "time_to_first_content_ms": 300,
        "finish_reason": "stop",
        "finish_reason_missing": False,
    },
    "usage": {
        "prompt_tokens": 12,
        "completion_tokens": 34,
        "prompt_source": "upstream",
        "completion_source": "upstream",
    },
    "output_limit": {"requested": 64, "applied": 64, "clamped": False},
    "dropped_fields": [],
    "request_id": "caller-1",
    "gateway_request_id": GATEWAY_ID,
    "workbench_run_id": "-",
    "task_id": "-",
    "session_id": "session-1",
    "client_id": "_legacy",
    "cache_read_input_tokens": None,
    "admission_wait_ms": 5,
    "config_sha256": SHA,
    "router_version": "0.1.0",
    "workload_outcome": "success",
    "replica_member_id": "member-a",
    "replica_selection": "identity_passed",
}

ACTIVE: dict[str, Any] = {
    "gateway_request_id": GATEWAY_ID,
    "state": "running",
    "phase": "streaming",
    "created_at": 1700000000.5,
    "session_id": None,
    "client_id": "_legacy",
    "route": "llm.primary",
    "elapsed_ms": 2500,
    "last_activity_ms": 20,
    "admission_wait_ms": 3,
    "estimated_input_tokens": 10,
    "input_tokens": None,
    "output_tokens": None,
    "cache_read_input_tokens": None,
    "context_limit_tokens": 8192,
}

STATUS: dict[str, Any] = {
    "object": "router_status",
    "package_version": "0.1.0",
    "started_at": "2023-11-14T22:13:20Z",
    "uptime_seconds": 60,
    "model_aliases": ["llm.primary"],
    "tier_counts": {"configured": 1, "enabled": 1},
    "config_sha256": SHA,
    "tiers": [{"id": "primary", "state": "admitting", "active_requests": 3, "waiting_requests": 4}],
}


def request_page(**changed: object) -> dict[str, Any]:
    """`GET /v1/requests/{id}`, with some of the record changed."""
    record = {**RECORD, **changed}
    return {"object": "router_request", "scope": "current_decision_log_buffer", "record": record}


def history_page(*records: dict[str, Any], **changed: object) -> dict[str, Any]:
    """`GET /v1/requests?session_id=...&history=1`."""
    return {
        "object": "router_request_history",
        "session_id": "session-1",
        "scope": "decision_log_jsonl",
        "records": list(records),
        "truncated": False,
        "available": True,
        **changed,
    }


def active_page(*rows: dict[str, Any], **changed: object) -> dict[str, Any]:
    """`GET /v1/requests?active=1`."""
    return {
        "object": "router_request_history",
        "session_id": None,
        "scope": "active_workload_buffer",
        "records": list(rows),
        "truncated": False,
        "available": True,
        **changed,
    }
