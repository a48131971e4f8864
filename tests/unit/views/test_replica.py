import pytest

from anvil_trio.facts import Verdict
from anvil_trio.views.replica import show_tier
from tests.unit.views.samples import (
    DOWN,
    PASSED,
    A,
    B,
    canary,
    direct_tier,
    read,
    replica_tier,
    verdicts,
)


def test_the_projection_has_exactly_its_documented_keys():
    """T005.1: members in the order of their ids, the declared identity and where it comes from."""
    verdict_of, _ = verdicts(b=DOWN)
    assert read(show_tier(replica_tier(), verdict_of).projection) == {
        "members": [
            {
                "id": "member-a",
                "qualification_ref": "qual:member-a",
                "readiness": {"loaded": True, "state": "ready", "reason": "identity_passed"},
                "served_identity": {"expected": "served-model", "observed": "served-model"},
            },
            {
                "id": "member-b",
                "qualification_ref": "qual:member-b",
                "readiness": {
                    "loaded": False,
                    "state": "unavailable",
                    "reason": "health_transport",
                },
                "served_identity": {"expected": "served-model", "observed": None},
            },
        ],
        "replica_identity": {
            "model_revision": "rev-1",
            "engine_version": "0.1.0",
            "image_digest": "sha256:" + "0" * 64,
            "config_fingerprint": "sha256:" + "1" * 64,
        },
        "deployment_identity_source": "declared",
        "runtime_deployment_identity_verified": False,
    }


def test_readiness_verifies_no_deployment():
    """R005: with all members ready the deployment's identity is still only declared."""
    verdict_of, _ = verdicts()
    shown = show_tier(replica_tier(), verdict_of)
    assert shown.readiness.reason == "replicas_ready"
    assert shown.projection.deployment_identity_source == "declared"
    assert shown.projection.runtime_deployment_identity_verified is False


@pytest.mark.parametrize("observed", [None, canary("observed"), "Served-Model"])
def test_an_unexpected_model_is_never_shown(observed):
    """R012: an observed name is shown only where it equals the expected one."""
    verdict = Verdict(is_ready=False, reason="identity_mismatch", observed_model=observed)
    verdict_of, _ = verdicts(a=verdict)
    members = read(show_tier(replica_tier(), verdict_of).projection)["members"]
    assert members[0]["served_identity"] == {"expected": "served-model", "observed": None}


def test_every_member_is_asked_about_once():
    """One payload shows one verdict per member."""
    verdict_of, asked = verdicts()
    show_tier(replica_tier(), verdict_of)
    assert asked == [("replicas", A), ("replicas", B)]


def test_a_direct_tier_adds_no_keys():
    """A direct tier has one unnamed member, which no projection shows."""
    verdict_of, _ = verdicts(direct=PASSED)
    shown = show_tier(direct_tier(), verdict_of)
    assert read(shown.projection) == {}
    assert shown.readiness.reason == "identity_passed"


def test_an_undeclared_identity_is_null():
    """Where nothing was declared nothing is made up."""
    verdict_of, _ = verdicts()
    tier = replica_tier().model_copy(update={"replica_identity": None})
    assert show_tier(tier, verdict_of).projection.replica_identity is None
