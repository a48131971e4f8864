"""One of every page, made from a configuration and facts with a canary in every private place."""

from dataclasses import replace

import msgspec

from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.words import TokenSource
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.facts import ActiveRequest, Phase, TierPhase, Verdict
from anvil_trio.intent.intents import Intents
from anvil_trio.media.agent_card import show_card
from anvil_trio.names import Alias, ClientId, RequestId
from anvil_trio.views.activation import project_activation
from anvil_trio.views.anthropic_models import list_models, show_model
from anvil_trio.views.capabilities import project_capabilities
from anvil_trio.views.capacity import CapacityQuery, project_capacity
from anvil_trio.views.decisions import project_decisions
from anvil_trio.views.fingerprints import project_fingerprints
from anvil_trio.views.health import project_health
from anvil_trio.views.models import project_model, project_models
from anvil_trio.views.requests import project_active, project_history, project_request
from anvil_trio.views.scenario import Sizes
from anvil_trio.views.shape import Shape
from anvil_trio.views.stats import Tally, project_stats
from anvil_trio.views.status import project_status
from anvil_trio.views.transition import (
    Drained,
    DrainResult,
    DryRun,
    Quiesced,
    ReadmitResult,
    Readmitted,
    TransitionStatus,
    project_row,
    project_snapshot,
)
from anvil_trio.views.workloads import WorkloadsQuery, project_workloads
from tests.support.fake_operations import FILM, PAINT
from tests.unit.decisions.samples import ranked_record
from tests.unit.views.samples import (
    DIRECT,
    DOWN,
    OPEN,
    PASSED,
    REPLICA,
    A,
    B,
    busy_engine,
    canary,
    capacity_config,
    config,
    direct_snapshot,
    direct_tier,
    member_snapshot,
    ranked_engines,
    replica_snapshot,
    replica_tier,
    verdicts,
)

__all__ = ["KEY", "leaking_verdicts", "pages", "running"]

KEY = "sk-kanarie-0123456789"
"""What a caller sent as an id by mistake."""

CHAT = Alias("chat")
_OBJECT = {
    "modalities": ["text", "image"],
    "thinking": {"supported": True, "default": "auto", "note": canary("thinking")},
    "compat": {"supportsUsageInStreaming": True, "note": canary("compat")},
    "images_per_request": 2,
}
_CAPACITY = {
    "gpu_role": "primary",
    "gpu_name": "Card",
    "gpu_memory_total_mib": 24_576,
    "kv_cache_capacity_tokens": 40_000,
    "scheduler_max_num_seqs": 64,
    "model_memory_gib": 14.5,
    "image_limit": 2,
    "video_limit": 0,
    "note": canary("capacity"),
}
_PRINT = {"model_revision": "rev-7", "engine_version": "0.9.1", "note": canary("print")}


def planted():
    """The sample configuration, whose direct tier declares all that can be shown, and more."""
    tier = direct_tier().model_copy(
        update={
            "engine": "vllm",
            "quantization": "fp8",
            "max_concurrency": 8,
            "params": {
                "note": canary("params"),
                "capabilities": _OBJECT,
                "capacity": _CAPACITY,
                "fingerprint": _PRINT,
            },
            "extra_body": {"extra": canary("extra")},
        }
    )
    capacity = capacity_config().tiers[0]
    return config().model_copy(update={"tiers": (capacity, tier)})


def leaking_verdicts():
    """Probes that found what no page may repeat."""
    odd = Verdict(is_ready=False, reason=canary("reason"), observed_model=canary("observed"))
    return verdicts(a=odd, b=odd, direct=odd)[0]


def usual_verdicts():
    """Member a is ready, member b is down."""
    passed = replace(PASSED, checked_at=9.5, took_s=0.012)
    return verdicts(a=passed, b=replace(DOWN, checked_at=8.25, took_s=1.0), direct=OPEN)[0]


def engines(tier_id, member_id):
    """The direct tier's engine is busy; of the replicas' one hangs."""
    return (busy_engine if tier_id == DIRECT else ranked_engines)(tier_id, member_id)


def served(**more) -> DecisionRecord:
    """A request that a ranked member served."""
    return msgspec.structs.replace(
        ranked_record(),
        request_bytes=312,
        response_bytes=940,
        session_id="session-1",
        request_id="call-1",
        finish_reason=FinishReason.STOP,
        total_prompt_tokens=21,
        total_completion_tokens=40,
        prompt_tokens_source=TokenSource.UPSTREAM,
        completion_tokens_source=TokenSource.UPSTREAM,
        upstream_duration_ms=1400,
        time_to_first_content_ms=180,
        **more,
    )


def running(session_id: str = "session-1") -> ActiveRequest:
    """A request that streams."""
    return ActiveRequest(
        gateway_request_id=RequestId("req_" + "1" * 32),
        phase=Phase.STREAMING,
        created_unix=1001.25,
        session_id=session_id,
        client_id=ClientId("desktop"),
        route="llm.primary",
        elapsed_ms=1750,
        last_activity_ms=40,
        admission_wait_ms=12,
        estimated_input_tokens=19,
        input_tokens=None,
        output_tokens=None,
        cache_read_input_tokens=None,
        context_limit_tokens=8192,
    )


def pages(verdict_of=None, session_id: str = "session-1") -> dict[str, Shape]:
    """Every page by its name, as of 1003 seconds after 1970."""
    found = verdict_of or usual_verdicts()
    record = served()
    if session_id != "session-1":
        names = ("session_id", "request_id", "task_id", "workbench_run_id")
        record = msgspec.structs.replace(record, **dict.fromkeys(names, session_id))
    return {
        **_tier_pages(found),
        **_record_pages(record, running(session_id), session_id),
        **_transitions(found),
        "activation": project_activation(config(), planted(), is_applied=True),
        "agent card": show_card([PAINT, FILM], "https://media.test", "0.1.0"),
    }


def _tier_pages(found) -> dict[str, Shape]:
    made, snapshots = planted(), {REPLICA: replica_snapshot(2, 1, waiting=4), DIRECT: None}
    snapshots[DIRECT] = direct_snapshot(5)
    sizes = Sizes(images=1, image_tokens=600, input_tokens=2000, output_tokens=500)
    return {
        "models": project_models(made, found),
        "model": project_model(made, found, CHAT),
        "models in Anthropic's shape": list_models(made, found),
        "model in Anthropic's shape": show_model(CHAT, made.tier(DIRECT), found),
        "capacity": project_capacity(made, found, snapshots, engines, CapacityQuery(sizes=sizes)),
        "capabilities": project_capabilities(made, found),
        "fingerprints": project_fingerprints(made, found),
        "status": project_status(
            made, snapshots, package_version="0.1.0", started_unix=1.7e9, now_unix=1.7e9 + 60
        ),
        "health_tiers": project_health(made, found, now=10.0, now_unix=1003.0),
    }


def _record_pages(record, active, session_id) -> dict[str, Shape]:
    tally = Tally()
    tally.add(record)
    return {
        "stats": project_stats(
            tally, {record.route: tally}, available=1, matching=1, limit=100, model=None
        ),
        "request": project_request(record, "current_decision_log_buffer"),
        "requests": project_history(
            session_id,
            [record],
            limit=50,
            scope="decision_log_jsonl",
            may_be_more=False,
            is_available=True,
        ),
        "active requests": project_active([active], session_id=None, limit=200),
        "decisions": project_decisions([record], available=1, limit=20),
        "workloads": project_workloads(
            "node-1", [active], [record], WorkloadsQuery(), now_unix=1003.0
        ),
    }


def _transitions(found) -> dict[str, Shape]:
    intents = Intents().quiesced(REPLICA, None, "upgrade").quiesced(REPLICA, B, "disk")
    members = (member_snapshot(A, 1), member_snapshot(B, is_quiesced=True))
    snapshot = replica_snapshot(1, phase=TierPhase.QUIESCED, is_draining=True, members=members)
    shown = project_snapshot(replica_tier(), None, snapshot, intents)
    rows = [project_row(replica_tier(), one, snapshot, intents, found) for one in (None, A)]
    status = TransitionStatus(tiers=rows)
    return {
        "transition": status,
        "quiesced": Quiesced(result=shown),
        "drained": Drained(result=DrainResult(drained=True, timed_out=False, snapshot=shown)),
        "readmitted": Readmitted(
            result=ReadmitResult(readmitted=True, reason="readiness_passed", status=status)
        ),
        "dry run": DryRun(action="quiesce", tier_id=REPLICA, member_id=B),
    }
