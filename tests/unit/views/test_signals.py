"""The engines' own numbers on the capacity page."""

import pytest

from anvil_trio.views.admission import project_admission
from anvil_trio.views.capacity import project_capacity
from anvil_trio.views.signals import project_live, unwatched
from tests.unit.views.samples import (
    REPLICA,
    busy_engine,
    capacity_config,
    direct_tier,
    member_snapshot,
    ranked_engines,
    read,
    replica_snapshot,
    replica_tier,
    verdicts,
)

A, B = "member-a", "member-b"


def capacity_row(signal_of=ranked_engines, snapshot=None):
    """The row of a capacity tier."""
    verdict_of, _ = verdicts()
    snapshots = {REPLICA: snapshot or replica_snapshot(2, 1)}
    page = project_capacity(capacity_config(), verdict_of, snapshots, signal_of)
    return read(page)["data"][0]


def test_a_direct_tiers_numbers_are_shown_as_they_were_read():
    """What the engine said is there; what it did not say is null."""
    live = read(project_live(direct_tier(), busy_engine))
    assert (live["status"], live["reason"]) == ("available", None)
    assert (live["requests_running"], live["requests_waiting"]) == (3, 0)
    assert live["generation_tokens_total"] == 1200
    assert live["preemptions_total"] is None
    assert live["kv_cache_used_tokens_estimate"] is None


def test_cache_tokens_are_shares_of_the_declared_cache():
    """With a declared capacity the used share is told in tokens, rounded up."""
    tier = direct_tier().model_copy(
        update={"params": {"capacity": {"kv_cache_capacity_tokens": 1001}}}
    )
    live = read(project_live(tier, busy_engine))
    assert live["kv_cache_used_tokens_estimate"] == 251
    assert live["kv_cache_remaining_tokens_estimate"] == 750


@pytest.mark.parametrize("signal_of", [busy_engine, unwatched])
def test_replicas_are_never_added_up(signal_of):
    """A replica tier's live block has no numbers, whatever its members say."""
    live = read(project_live(replica_tier(), signal_of))
    assert (live["status"], live["reason"]) == ("unavailable", "replica_metrics_not_aggregated")
    assert {value for key, value in live.items() if key not in {"status", "reason"}} == {None}


def test_a_capacity_tiers_members_show_what_they_are_ranked_by():
    """Freshness, pressure and the state of each kind of number stand with the member."""
    keys = ("id", "freshness", "pressure_ppm", "requests_state", "kv_state")
    assert [tuple(member[key] for key in keys) for member in capacity_row()["members"]] == [
        (A, "fresh", 375_000, "valid", "valid"),
        (B, "failed", None, "missing", "missing"),
    ]


def test_a_capacity_tiers_admission_shows_ceilings_and_members():
    """The counts stand beside the ceilings that they are ranked by."""
    members = (member_snapshot(B, 1), member_snapshot(A, 2, is_quiesced=True, is_draining=True))
    admission = capacity_row(snapshot=replica_snapshot(2, 1, members=members))["admission"]
    assert admission["max_concurrency"] == 6
    assert admission["members"] == [
        {
            "id": A,
            "state": "quiesced",
            "active_requests": 2,
            "max_concurrency": 4,
            "draining": True,
        },
        {
            "id": B,
            "state": "admitting",
            "active_requests": 1,
            "max_concurrency": 4,
            "draining": False,
        },
    ]


@pytest.mark.parametrize("ceiling", [True, -1, 1.5, "4"])
def test_an_odd_ceiling_makes_all_of_it_unavailable(ceiling):
    """A snapshot that cannot be right in one number is believed in none."""
    tier = capacity_config().tiers[0]
    block = read(project_admission(tier, replica_snapshot(2, 1, max_concurrency=ceiling)))
    assert block["status"] == "unavailable"
    assert (block["members"], block["max_concurrency"]) == (None, None)


def test_other_replica_tiers_show_no_pressure():
    """Round robin ranks by nothing, and its members' rows say nothing of it."""
    verdict_of, _ = verdicts()
    config = capacity_config().model_copy(update={"tiers": (replica_tier(), direct_tier())})
    row = read(project_capacity(config, verdict_of, {}, busy_engine))["data"][0]
    assert all("freshness" not in member for member in row["members"])
    assert "members" not in row["admission"]
