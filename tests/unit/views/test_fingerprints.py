"""`GET /v1/models/fingerprints`."""

from hashlib import sha256

import pytest

from anvil_trio.facts import Served, Verdict
from anvil_trio.names import Alias
from anvil_trio.views.fingerprints import project_fingerprints
from anvil_trio.views.replica import show_tier
from tests.unit.views.samples import DOWN, canary, config, direct_tier, read, replica_tier, verdicts

SAID = {
    "capabilities": {"modalities": ["text"]},
    "fingerprint": {
        "model_revision": "rev-9",
        "engine_version": "9.9",
        "image_digest": "sha256:9",
        "config_fingerprint": "print",
        "note": canary("fingerprint"),
    },
}


def rows(verdict_of, tier=None, only=None):
    """The rows where the direct tier is `tier`."""
    tiers = (replica_tier(), tier or direct_tier())
    planted = config().model_copy(update={"tiers": tiers})
    return read(project_fingerprints(planted, verdict_of, only=only))["data"]


def test_a_direct_row_shows_what_is_declared():
    """Every documented key; of the endpoint no more than a digest."""
    verdict_of, _ = verdicts()
    tier = direct_tier().model_copy(
        update={"params": SAID, "engine": "vllm", "quantization": "fp8", "max_concurrency": 4}
    )
    assert rows(verdict_of, tier)[1] == {
        "object": "model_fingerprint",
        "id": "direct",
        "aliases": ["chat"],
        "model": "other-model",
        "fingerprint": {
            "model_revision": "rev-9",
            "engine_version": "9.9",
            "image_digest": "sha256:9",
            "config_fingerprint": "print",
        },
        "endpoint_sha256": sha256(tier.base_url.encode()).hexdigest(),
        "served_identity": {"expected": "other-model", "observed": None},
        "served_configuration": {
            "metadata_source": "configured",
            "context_limit_tokens": 4096,
            "engine": "vllm",
            "quantization": "fp8",
            "engine_version": "9.9",
            "max_concurrency": 4,
            "modalities": ["text"],
        },
        "readiness": {"loaded": True, "state": "ready", "reason": "availability_not_configured"},
    }


def test_a_replica_row_has_no_endpoint():
    """R012: a replica tier's URLs are not even digested; its identity is the declared one."""
    verdict_of, asked = verdicts(b=DOWN)
    row = rows(verdict_of)[0]
    assert len(asked) == len(set(asked)) == 3
    assert row["endpoint_sha256"] is None
    assert row["fingerprint"] == row["replica_identity"]
    assert row["served_configuration"]["engine_version"] == "0.1.0"
    assert row["served_identity"] == {"expected": "served-model", "observed": "served-model"}
    projection = read(show_tier(replica_tier(), verdict_of).projection)
    assert {key: row[key] for key in projection} == projection
    assert row["runtime_deployment_identity_verified"] is False


def test_nobody_who_is_ready_means_nobody_was_observed():
    """The observed model of a tier is null while no member serves it."""
    verdict_of, _ = verdicts(a=DOWN, b=DOWN)
    assert rows(verdict_of)[0]["served_identity"]["observed"] is None


@pytest.mark.parametrize(
    ("verdict", "observed"),
    [
        (Verdict(is_ready=True, reason="identity_passed", observed_model="other-model"), True),
        (Verdict(is_ready=False, reason="identity_mismatch", observed_model="other-model"), False),
        (Verdict(is_ready=True, reason="identity_passed", observed_model=canary("model")), False),
    ],
)
def test_a_direct_tiers_model_is_observed_only_where_it_is_the_expected_one(verdict, observed):
    """An unexpected name is never shown, and one that is not ready proves nothing."""
    verdict_of, _ = verdicts(direct=verdict)
    shown = rows(verdict_of)[1]["served_identity"]
    assert shown == {"expected": "other-model", "observed": "other-model" if observed else None}


def test_an_engine_that_owns_the_metadata_says_what_it_serves():
    """Its model and context are shown as it states them."""
    tier = direct_tier().model_copy(
        update={"metadata_source": "upstream", "model": None, "context_limit": None}
    )
    verdict = Verdict(
        is_ready=True, reason="upstream_metadata_passed", served=Served("its-model", 777)
    )
    row = rows(verdicts(direct=verdict)[0], tier)[1]
    assert row["served_identity"] == {"expected": "its-model", "observed": "its-model"}
    assert row["served_configuration"]["context_limit_tokens"] == 777


def test_one_alias_can_be_asked_for():
    """A filter leaves the row of that alias's tier."""
    verdict_of, _ = verdicts()
    assert [row["id"] for row in rows(verdict_of, only=Alias("llm.again"))] == ["replicas"]
