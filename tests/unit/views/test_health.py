"""`GET /v1/health/tiers`."""

from dataclasses import replace

from anvil_trio.views.health import project_health
from tests.unit.views.samples import DOWN, OPEN, PASSED, config, read, verdicts


def tiers(**found):
    """The rows at trio time 100, which is 1,000,100 seconds after 1970."""
    verdict_of, asked = verdicts(**found)
    page = read(project_health(config(), verdict_of, now=100.0, now_unix=1_000_100.0))
    assert len(asked) == len(set(asked)) == 3
    return {row.pop("id"): row for row in page["tiers"]}


def test_a_tier_is_up_while_all_members_are():
    """Of two checks the older is shown, and the slower."""
    found = tiers(
        a=replace(PASSED, checked_at=99.0, took_s=0.0105),
        b=replace(PASSED, checked_at=97.5, took_s=0.2),
    )
    assert found["replicas"] == {
        "role": "llm",
        "status": "up",
        "last_check": 1_000_097.5,
        "latency_ms": 200,
        "reason": "replicas_ready",
    }


def test_a_tier_is_degraded_while_some_are():
    """What was never asked has no last check."""
    found = tiers(a=replace(PASSED, checked_at=99.0), b=DOWN)["replicas"]
    assert (found["status"], found["reason"]) == ("degraded", "replicas_partial")
    assert found["last_check"] is found["latency_ms"] is None


def test_a_tier_is_down_when_none_is():
    """Down is a fact about probes alone."""
    found = tiers(a=DOWN, b=DOWN)["replicas"]
    assert (found["status"], found["reason"]) == ("down", "replicas_unavailable")


def test_a_direct_tier_that_nobody_asks_is_up():
    """Without a health path a tier counts as ready, and was never checked."""
    assert tiers(direct=OPEN)["direct"] == {
        "role": "llm",
        "status": "up",
        "last_check": None,
        "latency_ms": None,
        "reason": "availability_not_configured",
    }
