"""What a transition shows."""

import pytest

from anvil_trio.facts import Served, TierPhase, Verdict
from anvil_trio.intent.intents import Intents
from anvil_trio.views.transition import (
    Readmission,
    judge_readmission,
    project_row,
    project_snapshot,
)
from tests.unit.views.samples import (
    CANARY,
    DIRECT,
    DOWN,
    REPLICA,
    A,
    B,
    config,
    direct_snapshot,
    direct_tier,
    member_snapshot,
    read,
    replica_snapshot,
    replica_tier,
    verdicts,
)

QUIESCED = Intents().quiesced(REPLICA, None, "upgrade").quiesced(REPLICA, B, "disk")
HEALTHY = Verdict(is_ready=True, reason="health_passed")


def judged(tier, member_id=None, **found) -> Readmission:
    """The judgement over these verdicts."""
    return judge_readmission(tier, member_id, verdicts(**found)[0])


def test_a_direct_tiers_snapshot():
    """R011: a direct tier has five keys and no member."""
    quiesced = direct_snapshot(3, phase=TierPhase.QUIESCED, is_draining=True)
    intents = Intents().quiesced(DIRECT, None, "upgrade")
    assert read(project_snapshot(direct_tier(), None, quiesced, intents)) == {
        "tier_id": DIRECT,
        "state": "quiesced",
        "reason": "upgrade",
        "active_requests": 3,
        "draining": True,
    }


def test_a_replica_tiers_snapshot():
    """R011: the members' counts sum to the tier's, and each member has an intent of its own."""
    members = (member_snapshot(A, 2), member_snapshot(B, 1, is_quiesced=True, is_draining=True))
    snapshot = replica_snapshot(2, 1, phase=TierPhase.QUIESCED, members=members)
    page = read(project_snapshot(replica_tier(), None, snapshot, QUIESCED))
    assert page == {
        "tier_id": REPLICA,
        "state": "quiesced",
        "reason": "upgrade",
        "active_requests": 3,
        "draining": False,
        "member_active_requests": {A: 2, B: 1},
        "max_concurrency": 6,
        "members": [
            {
                "tier_id": REPLICA,
                "member_id": A,
                "state": "admitting",
                "reason": None,
                "active_requests": 2,
                "max_concurrency": 4,
                "draining": False,
            },
            {
                "tier_id": REPLICA,
                "member_id": B,
                "state": "quiesced",
                "reason": "disk",
                "active_requests": 1,
                "max_concurrency": 4,
                "draining": True,
            },
        ],
    }
    members_alone = [
        read(project_snapshot(replica_tier(), one, snapshot, QUIESCED)) for one in (A, B)
    ]
    assert members_alone == page["members"]


def test_what_takes_work_has_no_reason():
    """The actor's word decides, not the book of intents."""
    page = read(project_snapshot(replica_tier(), None, replica_snapshot(), QUIESCED))
    assert (page["state"], page["reason"]) == ("admitting", None)


@pytest.mark.parametrize(
    ("snapshot", "state"),
    [(None, None), (replica_snapshot(1, active=5), None)],
    ids=["no answer", "does not add up"],
)
def test_counts_that_cannot_be_trusted_are_null(snapshot, state):
    """T005.1: never zero load."""
    page = read(project_snapshot(replica_tier(), None, snapshot, QUIESCED))
    assert (page["state"], page["active_requests"], page["draining"]) == (state, None, None)
    assert (page["member_active_requests"], page["max_concurrency"]) == (None, None)
    member = page["members"][0]
    assert (member["state"], member["reason"], member["active_requests"]) == (None, None, None)
    assert (member["max_concurrency"], member["draining"]) == (None, None)


def test_a_failed_tier_says_so():
    """Nothing else is known of it."""
    snapshot = replica_snapshot(phase=TierPhase.FAILED)
    page = read(project_snapshot(replica_tier(), None, snapshot, QUIESCED))
    assert (page["state"], page["reason"], page["active_requests"]) == ("failed", None, None)


def test_a_healthy_replica_tier_reports_ready():
    """R011: the row of a replica tier is the aggregate of its members."""
    row = read(project_row(replica_tier(), None, replica_snapshot(1), Intents(), verdicts()[0]))
    assert row == {
        **read(project_snapshot(replica_tier(), None, replica_snapshot(1), Intents())),
        "ready": True,
        "readiness_state": "ready",
        "readiness_reason": "replicas_ready",
        "expected_model": "served-model",
        "observed_model": "served-model",
        "observed_context_limit": None,
        "metadata_source": "configured",
    }


def test_a_row_of_one_member():
    """It has the member's own readiness and identity."""
    verdict_of, _ = verdicts(b=DOWN)
    rows = [
        read(project_row(replica_tier(), one, replica_snapshot(), Intents(), verdict_of))
        for one in (A, B)
    ]
    shown = [(row["ready"], row["readiness_reason"], row["observed_model"]) for row in rows]
    assert shown == [(True, "identity_passed", "served-model"), (False, "health_transport", None)]


def test_an_identity_that_was_not_asked_for_is_not_observed():
    """A direct tier without an identity check shows the expected name and no other."""
    row = read(project_row(direct_tier(), None, direct_snapshot(), Intents(), verdicts()[0]))
    assert (row["ready"], row["readiness_reason"]) == (True, "availability_not_configured")
    assert (row["expected_model"], row["observed_model"]) == ("other-model", None)


def test_no_row_shows_what_is_private():
    """R012: no URL, host, resource, credential or parameter."""
    for tier, snapshot in zip(config().tiers, (replica_snapshot(), direct_snapshot()), strict=True):
        row = read(project_row(tier, None, snapshot, QUIESCED, verdicts()[0]))
        assert CANARY not in str(read(row))


def test_a_replica_tier_is_readmitted_while_any_member_is_ready():
    """R011: what was impossible before: the aggregate of the members decides."""
    granted = Readmission(is_granted=True, reason="readiness_passed")
    assert judged(replica_tier()) == granted
    assert judged(replica_tier(), b=DOWN) == granted
    assert judged(replica_tier(), a=DOWN, b=DOWN) == Readmission(
        is_granted=False, reason="replicas_unavailable"
    )


def test_a_member_is_readmitted_if_it_is_ready():
    """Whatever its peers are."""
    assert judged(replica_tier(), A, b=DOWN).is_granted
    assert judged(replica_tier(), B, b=DOWN) == Readmission(
        is_granted=False, reason="health_transport"
    )


def test_a_tier_without_an_identity_check_says_so():
    """It is readmitted, and the operator is told what nobody has checked."""
    assert judged(direct_tier()) == Readmission(is_granted=True, reason="identity_not_configured")


def test_an_identity_that_is_asked_for_must_be_shown():
    """A direct tier that only proved its health is not readmitted."""
    tier = direct_tier().model_copy(update={"model_identity": True})
    assert judged(tier, direct=HEALTHY) == Readmission(
        is_granted=False, reason="identity_not_verified"
    )
    shown = Verdict(is_ready=True, reason="identity_passed", observed_model="other-model")
    assert judged(tier, direct=shown) == Readmission(is_granted=True, reason="readiness_passed")


def test_what_an_engine_owns_is_shown_as_observed():
    """An upstream-owned tier expects no name: its engine's word is the identity, if it is ready."""
    tier = direct_tier().model_copy(update={"metadata_source": "upstream", "model": None})
    passed = Verdict(
        is_ready=True, reason="upstream_metadata_passed", served=Served("their-model", 4096)
    )
    row = read(project_row(tier, None, direct_snapshot(), Intents(), verdicts(direct=passed)[0]))
    assert (row["expected_model"], row["observed_model"]) == (None, "their-model")
    assert (row["observed_context_limit"], row["metadata_source"]) == (4096, "upstream")
    assert judged(tier, direct=passed) == Readmission(is_granted=True, reason="readiness_passed")
    row = read(project_row(tier, None, direct_snapshot(), Intents(), verdicts(direct=DOWN)[0]))
    assert (row["observed_model"], row["observed_context_limit"]) == (None, None)
    assert not judged(tier, direct=DOWN).is_granted
