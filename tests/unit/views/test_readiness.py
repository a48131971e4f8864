import pytest

from anvil_trio.facts import Verdict
from anvil_trio.views.readiness import ShownReadiness, join_readiness, show_readiness
from tests.unit.views.samples import PASSED, canary, direct_tier, read, replica_tier

MEMBER_FAILURES = [
    "identity_mismatch",
    "identity_missing",
    "identity_malformed",
    "identity_oversized",
    "health_transport",
    "identity_transport",
    "probe_pending",
    "replica_probe_not_configured",
    "replica_member_unknown",
    "member_readiness_not_configured",
    "availability_member_check_failed",
    "health_http_503",
    "identity_http_404",
]
SUCCESSES = ["identity_passed", "health_passed", "availability_not_configured"]
READY, DOWN = ShownReadiness(True, "identity_passed"), ShownReadiness(False, "health_transport")


def failed(reason: str) -> Verdict:
    """A verdict of not ready."""
    return Verdict(is_ready=False, reason=reason)


def test_a_replica_that_proved_its_model_is_ready():
    """R007: ready is health, and the expected model under the expected name."""
    shown = show_readiness(replica_tier(), PASSED)
    assert read(shown.block) == {"loaded": True, "state": "ready", "reason": "identity_passed"}


@pytest.mark.parametrize("reason", MEMBER_FAILURES)
def test_a_listed_reason_is_shown(reason):
    """The closed list of reasons is shown word for word, on both kinds of tier."""
    for tier in (replica_tier(), direct_tier()):
        shown = show_readiness(tier, failed(reason))
        assert read(shown.block) == {"loaded": False, "state": "unavailable", "reason": reason}


@pytest.mark.parametrize(
    "reason",
    [
        canary("reason"),
        "health_transport_ConnectError",
        "health_http_5033",
        "health_http_50",
        "health_http_503\n",
        "",
    ],
)
def test_any_other_reason_is_unavailable(reason):
    """R012: what is not on the list is never shown, an exception's name least of all."""
    for tier in (replica_tier(), direct_tier()):
        assert show_readiness(tier, failed(reason)).reason == "unavailable"


@pytest.mark.parametrize("reason", SUCCESSES)
def test_an_ineligible_member_never_shows_a_success_reason(reason):
    """T005.1: whoever takes no work cannot be said to have passed."""
    for tier in (replica_tier(), direct_tier()):
        shown = show_readiness(tier, failed(reason))
        assert shown == ShownReadiness(is_ready=False, reason="unavailable")


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(is_ready=True, reason="identity_passed"),
        Verdict(is_ready=True, reason="identity_passed", observed_model="another-model"),
        Verdict(is_ready=True, reason="health_passed", observed_model="served-model"),
        Verdict(is_ready=True, reason="probe_pending", observed_model="served-model"),
    ],
)
def test_a_replica_is_ready_only_with_its_whole_proof(verdict):
    """R007: readiness, reason and observed model must agree, or the member is not ready."""
    assert not show_readiness(replica_tier(), verdict).is_ready


def test_a_replica_without_an_expected_model_can_prove_nothing():
    """Two unknown names are not the same name."""
    tier = replica_tier().model_copy(update={"model": None})
    assert not show_readiness(tier, Verdict(is_ready=True, reason="identity_passed")).is_ready


@pytest.mark.parametrize("reason", SUCCESSES)
def test_a_direct_tier_is_ready_by_what_it_is_asked_to_prove(reason):
    """A direct tier may have no probe, a health probe, or an identity probe too."""
    verdict = Verdict(is_ready=True, reason=reason)
    assert show_readiness(direct_tier(), verdict) == ShownReadiness(is_ready=True, reason=reason)


def test_an_invalidated_probe_shows_on_a_direct_tier_only():
    """`probe_invalidated` is a direct tier's word; a member's list does not have it."""
    verdict = failed("probe_invalidated")
    assert show_readiness(direct_tier(), verdict).reason == "probe_invalidated"
    assert show_readiness(replica_tier(), verdict).reason == "unavailable"


@pytest.mark.parametrize(
    ("members", "is_ready", "reason"),
    [
        ([READY, READY], True, "replicas_ready"),
        ([READY, DOWN], True, "replicas_partial"),
        ([DOWN, DOWN], False, "replicas_unavailable"),
    ],
)
def test_a_replica_tier_is_ready_while_any_member_is(members, is_ready, reason):
    """A tier's readiness is its members' together, and says whether all of them stand."""
    assert join_readiness(members) == ShownReadiness(is_ready, reason)
