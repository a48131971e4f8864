"""`GET /v1/models/capabilities`."""

from anvil_trio.names import Alias
from anvil_trio.views.capabilities import project_capabilities
from anvil_trio.views.replica import show_tier
from tests.unit.views.samples import DOWN, canary, config, direct_tier, read, verdicts
from tests.unit.views.samples import replica_tier as replicas

SAID = {
    "note": canary("note"),
    "modalities": ["text", "image"],
    "thinking": {
        "supported": True,
        "default": "auto",
        "caller_override": False,
        "max_tokens": 64,
        "note": canary("thinking"),
    },
    "compat": {
        "supportsUsageInStreaming": True,
        "supportsStrictMode": False,
        "supportedReasoningEfforts": ["low", "high"],
        "note": canary("compat"),
    },
    "images_per_request": 2,
    "video_per_request": 0,
}


def rows(tier, verdict_of, only=None):
    """The rows where the direct tier is `tier`."""
    planted = config().model_copy(update={"tiers": (replicas(), tier)})
    return read(project_capabilities(planted, verdict_of, only=only))["data"]


def test_a_direct_row_shows_what_is_declared():
    """Every documented key, and of the open table of `params` nothing else."""
    verdict_of, _ = verdicts()
    tier = direct_tier().model_copy(update={"params": {"capabilities": SAID}})
    assert rows(tier, verdict_of)[1] == {
        "object": "model_capabilities",
        "id": "direct",
        "aliases": ["chat"],
        "model": "other-model",
        "context_limit_tokens": 4096,
        "tools": {"supported": True},
        "modalities": ["text", "image"],
        "thinking": {
            "supported": True,
            "default": "auto",
            "caller_override": False,
            "max_tokens": 64,
        },
        "compat": {
            "supportsUsageInStreaming": True,
            "supportsStrictMode": False,
            "supportedReasoningEfforts": ["low", "high"],
        },
        "limits": {"max_output_tokens": None, "images_per_request": 2, "video_per_request": 0},
        "readiness": {"loaded": True, "state": "ready", "reason": "availability_not_configured"},
    }


def test_what_is_not_declared_is_null():
    """Nothing is inferred."""
    verdict_of, _ = verdicts()
    tier = direct_tier().model_copy(update={"params": {}, "tool_support": False})
    row = rows(tier, verdict_of)[1]
    assert row["modalities"] is None
    assert row["tools"] == {"supported": False}
    for block in ("thinking", "compat", "limits"):
        assert set(row[block].values()) == {None}


def test_thinking_may_be_on_by_default():
    """The default is a word, true or false."""
    verdict_of, _ = verdicts()
    said = {"capabilities": {"thinking": {"default": False}}}
    row = rows(direct_tier().model_copy(update={"params": said}), verdict_of)[1]
    assert row["thinking"]["default"] is False


def test_a_replica_row_adds_exactly_the_shared_projection():
    """T005.1, T010: one row for all aliases, asked about once; unavailable members stay."""
    verdict_of, asked = verdicts(a=DOWN, b=DOWN)
    row = rows(direct_tier(), verdict_of)[0]
    assert len(asked) == len(set(asked)) == 3
    assert row["aliases"] == ["llm.again", "llm.primary"]
    assert row["readiness"]["reason"] == "replicas_unavailable"
    projection = read(show_tier(replicas(), verdict_of).projection)
    assert {key: row[key] for key in projection} == projection


def test_one_alias_can_be_asked_for():
    """A filter leaves the row of that alias's tier."""
    verdict_of, _ = verdicts()
    assert [row["id"] for row in rows(direct_tier(), verdict_of, Alias("chat"))] == ["direct"]
