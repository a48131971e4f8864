from typing import Any

from anvil_trio.facts import TierPhase
from anvil_trio.names import Alias
from anvil_trio.views.capacity import CapacityQuery, project_capacity
from anvil_trio.views.replica import show_tier
from anvil_trio.views.signals import unwatched
from tests.unit.views.samples import (
    DIRECT,
    DOWN,
    REPLICA,
    config,
    direct_snapshot,
    read,
    replica_snapshot,
    replica_tier,
    verdicts,
)

NO_NUMBERS = {
    "status": "unavailable",
    **dict.fromkeys((
        "requests_running",
        "requests_waiting",
        "kv_cache_usage_fraction",
        "kv_cache_used_tokens_estimate",
        "kv_cache_remaining_tokens_estimate",
        "preemptions_total",
        "multimodal_cache_queries_total",
        "multimodal_cache_hits_total",
        "generation_tokens_total",
        "generation_throughput_tokens_per_second",
        "prefix_cache_queries_total",
        "prefix_cache_hits_total",
        "prefix_cache_hit_rate",
    )),
}
SNAPSHOTS = {REPLICA: replica_snapshot(2, 1, waiting=4), DIRECT: direct_snapshot(5)}

DIRECT_BLOCKS: dict[str, Any] = {
    "engine": {"name": None, "quantization": None},
    "gpu": {"role": None, "name": None, "memory_total_mib": None},
    "capacity": {
        "context_limit_tokens": 4096,
        "kv_cache_capacity_tokens": None,
        "full_context_concurrency": None,
        "configured_max_concurrency": None,
        "scheduler_max_num_seqs": None,
        "model_memory_gib": None,
    },
    "multimodal": {
        "admission_enabled": False,
        "image_limit": None,
        "video_limit": None,
        "image_tokens_estimate": None,
        "video_tokens_estimate": None,
    },
    "scenario": None,
}
REPLICA_BLOCKS: dict[str, Any] = {
    **DIRECT_BLOCKS,
    "capacity": {
        **DIRECT_BLOCKS["capacity"],
        "context_limit_tokens": 8192,
        "configured_max_concurrency": 6,
    },
    "multimodal": {**DIRECT_BLOCKS["multimodal"], "admission_enabled": True},
}


def page(verdict_of, snapshots=SNAPSHOTS, only=None):
    """The page over the sample configuration."""
    return read(project_capacity(config(), verdict_of, snapshots, unwatched, CapacityQuery(only)))


def test_a_direct_row_has_exactly_its_documented_keys():
    """A direct tier's row has its readiness and an admission block without members."""
    verdict_of, _ = verdicts()
    assert page(verdict_of)["data"][1] == {
        "object": "model_capacity",
        "id": "direct",
        "aliases": ["chat"],
        "model": "other-model",
        "loaded": True,
        "readiness": {"state": "ready", "reason": "availability_not_configured"},
        "admission": {
            "status": "available",
            "state": "admitting",
            "active_requests": 5,
            "waiting_requests": 0,
            "draining": False,
        },
        **DIRECT_BLOCKS,
        "live": {**NO_NUMBERS, "reason": "metrics_unsupported_engine"},
    }


def test_a_replica_row_adds_exactly_the_shared_projection():
    """T005.1: the tier's admission and its members' readiness stand side by side."""
    verdict_of, _ = verdicts(b=DOWN)
    row = page(verdict_of)["data"][0]
    assert row == {
        "object": "model_capacity",
        "id": "replicas",
        "aliases": ["llm.again", "llm.primary"],
        "model": "served-model",
        "loaded": True,
        "readiness": {"state": "ready", "reason": "replicas_partial"},
        **read(show_tier(replica_tier(), verdict_of).projection),
        "admission": {
            "status": "available",
            "state": "admitting",
            "active_requests": 3,
            "waiting_requests": 4,
            "draining": False,
            "member_active_requests": {"member-a": 2, "member-b": 1},
        },
        **REPLICA_BLOCKS,
        "live": {**NO_NUMBERS, "reason": "replica_metrics_not_aggregated"},
    }


def test_one_row_stands_for_a_tier_however_many_aliases_it_has():
    """T005.1: several aliases are one tier, in the order of the file, asked about once."""
    verdict_of, asked = verdicts()
    found = page(verdict_of)
    assert found["object"] == "list"
    assert [row["id"] for row in found["data"]] == ["replicas", "direct"]
    assert len(asked) == len(set(asked)) == 3


def test_a_tier_that_did_not_answer_is_unavailable_and_the_others_are_not():
    """T005.1: an absent owner is never zero load, and costs no other row its counts."""
    verdict_of, _ = verdicts()
    replicas, direct = page(verdict_of, {DIRECT: direct_snapshot()})["data"]
    assert replicas["admission"]["status"] == "unavailable"
    assert replicas["admission"]["active_requests"] is None
    assert direct["admission"]["active_requests"] == 0


def test_a_quiesced_tier_is_still_ready():
    """Readiness and admission are two facts: what is quiesced may be healthy."""
    verdict_of, _ = verdicts()
    snapshots = {REPLICA: replica_snapshot(phase=TierPhase.QUIESCED)}
    row = page(verdict_of, snapshots)["data"][0]
    assert row["loaded"] is True
    assert row["admission"]["state"] == "quiesced"


def test_one_alias_can_be_asked_for():
    """A filter leaves the row of that alias's tier, all of its aliases named."""
    verdict_of, asked = verdicts()
    found = page(verdict_of, only=Alias("llm.again"))
    assert [row["id"] for row in found["data"]] == ["replicas"]
    assert found["data"][0]["aliases"] == ["llm.again", "llm.primary"]
    assert len(asked) == 2


DECLARED = {
    "gpu_role": "primary",
    "gpu_name": "Card",
    "gpu_memory_total_mib": 24_576,
    "kv_cache_capacity_tokens": 10_000,
    "scheduler_max_num_seqs": 64,
    "model_memory_gib": 14.5,
    "image_limit": 2,
    "note": "kanarie",
}


def declaring(*, gpu_role=None):
    """The page where both tiers declare the same."""
    verdict_of, _ = verdicts()
    tiers = tuple(
        tier.model_copy(update={"params": {"capacity": DECLARED}}) for tier in config().tiers
    )
    planted = config().model_copy(update={"tiers": tiers})
    asked = CapacityQuery(gpu_role=gpu_role)
    return read(project_capacity(planted, verdict_of, SNAPSHOTS, unwatched, asked))["data"]


def test_what_is_declared_is_shown():
    """Of the open table of `params` the documented keys; whole contexts are counted in whole."""
    _, direct = declaring()
    assert direct["gpu"] == {"role": "primary", "name": "Card", "memory_total_mib": 24_576}
    assert direct["capacity"]["kv_cache_capacity_tokens"] == 10_000
    assert direct["capacity"]["full_context_concurrency"] == 2
    assert direct["capacity"]["scheduler_max_num_seqs"] == 64
    assert direct["capacity"]["model_memory_gib"] == 14.5
    assert direct["multimodal"]["image_limit"] == 2


def test_one_device_is_not_several_members():
    """A replica tier's device and cache are null: they were declared for one engine."""
    replicas, _ = declaring()
    assert set(replicas["gpu"].values()) == {None}
    assert replicas["capacity"]["kv_cache_capacity_tokens"] is None
    assert replicas["capacity"]["full_context_concurrency"] is None


def test_a_gpu_role_can_be_asked_for():
    """Only tiers that declare it are shown; nobody declaring it is no error."""
    assert [row["id"] for row in declaring(gpu_role="primary")] == ["direct"]
    assert declaring(gpu_role="secondary") == []
