from dataclasses import replace

import pytest

from anvil_trio.admission.messages import AdmissionSnapshot
from anvil_trio.facts import Freshness, Served, TierPhase, Verdict
from anvil_trio.meters import state_metrics as metrics
from anvil_trio.names import DIRECT_MEMBER, Alias
from anvil_trio.views.signals import unwatched
from anvil_trio.views.state_rows import StateRows
from tests.unit.views.samples import (
    DIRECT,
    DOWN,
    PASSED,
    REPLICA,
    A,
    B,
    busy_engine,
    capacity_config,
    config,
    direct_snapshot,
    direct_tier,
    ranked_engines,
    replica_snapshot,
    verdicts,
)

DOOR = AdmissionSnapshot(active=3, max_concurrency=64)
BUSY = {REPLICA: replica_snapshot(2, 1, waiting=4), DIRECT: direct_snapshot(5)}


OPERATIONS = [("picture.discs", "running", 2), ("picture.discs", "failed", 0)]


def rows(of=None, *, verdict_of=None, signal_of=unwatched, snapshots=None, door=DOOR, only=None):
    """All rows by metric and labels, the work done; a metric without rows is not there."""
    shown = config() if of is None else of
    verdict_of = verdict_of or verdicts()[0]
    counts = BUSY if snapshots is None else snapshots
    state = StateRows(
        shown,
        verdict_of,
        signal_of,
        counts,
        door,
        now=100.0,
        only=only,
        operations=OPERATIONS,
    )
    for _ in state.work():
        pass
    return {metric: dict(state.of(metric)) for metric in metrics.ALL if state.of(metric)}


def test_the_front_door_and_the_tiers_say_what_runs_and_waits():
    """The counts are those of the snapshots."""
    found = rows()
    assert found[metrics.ADMITTED] == {(): 3}
    assert found[metrics.ADMISSION_CEILING] == {(): 64}
    assert found[metrics.TIER_ACTIVE] == {(REPLICA,): 3, (DIRECT,): 5}
    assert found[metrics.TIER_WAITING] == {(REPLICA,): 4, (DIRECT,): 0}
    assert found[metrics.TIER_ADMITTING] == {(REPLICA,): 1, (DIRECT,): 1}
    assert found[metrics.REPLICA_TIER_ACTIVE] == {(REPLICA,): 3}
    assert found[metrics.REPLICA_TIER_CEILING] == {(REPLICA,): 6}
    assert found[metrics.REPLICA_MEMBER_ACTIVE] == {(REPLICA, A): 2, (REPLICA, B): 1}
    assert found[metrics.REPLICA_MEMBER_CEILING] == {(REPLICA, A): 4, (REPLICA, B): 4}


def test_operations_are_counted_by_workflow_and_state():
    """Zero is a claim too; they belong to no alias."""
    assert rows()[metrics.OPERATIONS] == {
        ("picture.discs", "running"): 2,
        ("picture.discs", "failed"): 0,
    }
    assert metrics.OPERATIONS not in rows(only=Alias("llm.again"))


def test_a_failed_front_door_counts_nothing():
    """It admits nobody, and its counts may be wrong."""
    found = rows(door=replace(DOOR, is_failed=True))
    assert metrics.ADMITTED not in found
    assert metrics.ADMISSION_CEILING not in found


@pytest.mark.parametrize("broken", [None, replica_snapshot(2, 1, active=9)])
def test_counts_that_cannot_be_trusted_have_no_row(broken):
    """T005.1: an absent or inconsistent snapshot is no zero load, and hides no other tier."""
    found = rows(snapshots={REPLICA: broken, DIRECT: direct_snapshot(5)})
    assert found[metrics.TIER_ACTIVE] == {(DIRECT,): 5}
    assert found[metrics.TIER_WAITING] == {(DIRECT,): 0}
    assert found[metrics.TIER_ADMITTING] == {(DIRECT,): 1}
    assert metrics.REPLICA_TIER_ACTIVE not in found
    assert metrics.REPLICA_MEMBER_ACTIVE not in found


@pytest.mark.parametrize("phase", [TierPhase.QUIESCED, TierPhase.FAILED])
def test_a_tier_that_takes_nothing_new_says_so(phase):
    """Quiesced or failed, it admits no more; of a failed one no count is shown."""
    found = rows(snapshots={REPLICA: replica_snapshot(2, 1, phase=phase)})
    assert found[metrics.TIER_ADMITTING] == {(REPLICA,): 0}
    assert (metrics.TIER_ACTIVE in found) == (phase is TierPhase.QUIESCED)


def test_readiness_is_by_member_and_by_alias():
    """T010: each member is ready or not, an alias while any member is; nothing is multiplied."""
    verdict_of, asked = verdicts(b=replace(DOWN, checked_at=97.5))
    found = rows(verdict_of=verdict_of)
    assert found[metrics.MEMBER_READY] == {
        (REPLICA, A): 1,
        (REPLICA, B): 0,
        (DIRECT, DIRECT_MEMBER): 1,
    }
    assert found[metrics.MODEL_LOADED] == {
        ("llm.primary", REPLICA): 1,
        ("llm.again", REPLICA): 1,
        ("chat", DIRECT): 1,
    }
    assert found[metrics.PROBE_AGE] == {(REPLICA, B): 2.5}
    assert len(asked) == 3
    nobody = rows(verdict_of=verdicts(a=DOWN, b=DOWN)[0])[metrics.MODEL_LOADED]
    assert nobody["llm.primary", REPLICA] == 0


def test_a_probe_of_a_moment_ago_is_not_from_the_future():
    """An age is never below zero."""
    found = rows(verdict_of=verdicts(a=replace(PASSED, checked_at=100.5))[0])
    assert found[metrics.PROBE_AGE] == {(REPLICA, A): 0.0}


def test_an_aliases_limits_are_those_of_its_tier():
    """Context as configured; cache and images only where `params.capacity` declares numbers."""
    declared = {"kv_cache_capacity_tokens": 1000, "image_limit": 2}
    tier = direct_tier().model_copy(update={"params": {"capacity": declared}})
    found = rows(config().model_copy(update={"tiers": (config().tiers[0], tier)}))
    assert found[metrics.MODEL_CONTEXT] == {
        ("llm.primary", REPLICA): 8192,
        ("llm.again", REPLICA): 8192,
        ("chat", DIRECT): 4096,
    }
    assert found[metrics.MODEL_CACHE] == {("chat", DIRECT): 1000}
    assert found[metrics.MODEL_IMAGES] == {("chat", DIRECT): 2}


def test_an_adopted_context_is_shown():
    """What an engine owns is shown as it serves it, and not before it said so."""
    tier = direct_tier().model_copy(update={"metadata_source": "upstream", "context_limit": None})
    owned = config().model_copy(update={"tiers": (config().tiers[0], tier)})
    ready = Verdict(True, "upstream_metadata_passed", served=Served("m", 2048))
    found = rows(owned, verdict_of=verdicts(direct=ready)[0])
    assert found[metrics.MODEL_CONTEXT]["chat", DIRECT] == 2048
    assert ("chat", DIRECT) not in rows(owned)[metrics.MODEL_CONTEXT]


def test_an_engines_numbers_are_those_of_direct_tiers():
    """The numbers of several members are never made into one."""
    found = rows(signal_of=busy_engine)
    assert found[metrics.MODEL_RUNNING] == {("chat", DIRECT): 3}
    assert found[metrics.MODEL_WAITING] == {("chat", DIRECT): 0}
    assert found[metrics.MODEL_CACHE_USE] == {("chat", DIRECT): 0.25}
    assert metrics.PRESSURE not in found
    assert metrics.MODEL_RUNNING not in rows()


def test_a_capacity_tier_shows_what_it_ranks_by():
    """A pressure only while it is fresh; one word of freshness is 1 and the others 0."""
    found = rows(capacity_config(), signal_of=ranked_engines)
    assert found[metrics.PRESSURE] == {(REPLICA, A): 375_000}
    words = found[metrics.PRESSURE_FRESHNESS]
    assert [word for (_, member, word), is_so in words.items() if member == A and is_so] == [
        "fresh"
    ]
    assert [word for (_, member, word), is_so in words.items() if member == B and is_so] == [
        "failed"
    ]
    assert len(words) == 2 * len(Freshness)


def test_one_alias_leaves_the_others_and_their_tiers_out():
    """The rows of one alias and its tier; the front door belongs to all."""
    found = rows(only=Alias("llm.again"))
    assert found[metrics.MODEL_LOADED] == {("llm.again", REPLICA): 1}
    assert found[metrics.TIER_ACTIVE] == {(REPLICA,): 3}
    assert found[metrics.ADMITTED] == {(): 3}


def test_each_tier_is_a_piece_of_work():
    """However many tiers there are, no step takes in more than one."""
    state = StateRows(config(), verdicts()[0], unwatched, BUSY, DOOR, now=0.0)
    counts = [len(dict(state.of(metrics.TIER_ACTIVE))) for _ in state.work()]
    assert counts == [1, 2]
