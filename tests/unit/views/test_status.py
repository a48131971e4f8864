from anvil_trio.facts import TierPhase
from anvil_trio.views.fingerprint import public_sha256
from anvil_trio.views.status import project_status
from tests.unit.views.samples import (
    DIRECT,
    REPLICA,
    config,
    direct_snapshot,
    read,
    replica_snapshot,
)


def status(snapshots, *, started=1_700_000_000.9, now=1_700_000_061.0):
    """The status page of a router of version 0.1.0."""
    page = project_status(
        config(), snapshots, package_version="0.1.0", started_unix=started, now_unix=now
    )
    return read(page)


def test_the_page_has_exactly_its_documented_keys():
    """The page names the router, its age, its aliases, its tiers and its configuration."""
    snapshots = {REPLICA: replica_snapshot(2, 1, waiting=4), DIRECT: direct_snapshot()}
    assert status(snapshots) == {
        "object": "router_status",
        "package_version": "0.1.0",
        "started_at": "2023-11-14T22:13:20Z",
        "uptime_seconds": 60,
        "model_aliases": ["chat", "llm.again", "llm.primary"],
        "tier_counts": {"configured": 2, "enabled": 2},
        "config_sha256": public_sha256(config()),
        "installed_config_sha256": "d" * 64,
        "tiers": [
            {"id": "replicas", "state": "admitting", "active_requests": 3, "waiting_requests": 4},
            {"id": "direct", "state": "admitting", "active_requests": 0, "waiting_requests": 0},
        ],
    }


def test_a_failed_tier_is_shown_as_failed_and_not_counted_as_enabled():
    """A crashed tier stays in the list until an operator restarts, without made-up counts."""
    page = status({
        REPLICA: replica_snapshot(phase=TierPhase.FAILED),
        DIRECT: direct_snapshot(phase=TierPhase.QUIESCED),
    })
    assert page["tiers"] == [
        {"id": "replicas", "state": "failed", "active_requests": None, "waiting_requests": None},
        {"id": "direct", "state": "quiesced", "active_requests": 0, "waiting_requests": 0},
    ]
    assert page["tier_counts"] == {"configured": 2, "enabled": 1}


def test_a_tier_that_did_not_answer_is_null_throughout():
    """What is not known is null, its state too."""
    page = status({})
    assert page["tiers"][0] == {
        "id": "replicas",
        "state": None,
        "active_requests": None,
        "waiting_requests": None,
    }
    assert page["tier_counts"] == {"configured": 2, "enabled": 0}


def test_a_clock_that_was_set_back_shows_no_negative_age():
    """Uptime is never below zero."""
    assert status({}, started=100.0, now=50.0)["uptime_seconds"] == 0
