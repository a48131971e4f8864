"""The evidence of a selection: complete, consistent with its record, or absent."""

import json

import msgspec
import pytest

from anvil_trio.decisions.record import render_line
from anvil_trio.decisions.scheduler import (
    NO_ELIGIBLE_MEMBER,
    SchedulerEvidence,
    checked_evidence,
)
from anvil_trio.facts import Schedule
from anvil_trio.names import MemberId
from tests.unit.decisions.samples import (
    REJECTED,
    UNAVAILABLE,
    builder,
    capacity_tier,
    finished,
    ranked_record,
    replica_tier,
)

A = "member-a"
EVIDENCE = ranked_record().replica_scheduler
assert EVIDENCE is not None
SCORES = EVIDENCE.scores


def changed(**fields) -> SchedulerEvidence:
    """The sample evidence with something else in it."""
    assert EVIDENCE is not None
    return msgspec.structs.replace(EVIDENCE, **fields)


def test_a_ranked_selection_is_recorded_with_what_it_was_ranked_by():
    """The selected, the eligible and every score, as they were before."""
    line = json.loads(render_line(ranked_record()))
    assert line["replica_scheduler"] == {
        "reason": "selected",
        "selected_member_id": A,
        "eligible_member_ids": [A, "member-b"],
        "scores": [
            {
                "member_id": A,
                "local_numerator": 1,
                "local_denominator": 4,
                "upstream_unknown": False,
                "upstream_pressure_ppm": 250_000,
                "rotating_rank": 1,
                "freshness": "fresh",
            },
            {
                "member_id": "member-b",
                "local_numerator": 1,
                "local_denominator": 4,
                "upstream_unknown": True,
                "upstream_pressure_ppm": 0,
                "rotating_rank": 0,
                "freshness": "stale",
            },
        ],
    }
    assert "affinity_hit" not in line


def test_a_wait_without_a_member_has_evidence_of_nobody():
    """A capacity tier that had no member to give says that none was eligible."""
    made = builder(capacity_tier())
    made.asked_at = 10.5
    assert finished(made, UNAVAILABLE).replica_scheduler == NO_ELIGIBLE_MEMBER


def test_a_gate_or_another_strategy_leaves_no_evidence():
    """Nothing was ranked before the tier was asked, and nothing is under round robin."""
    assert finished(builder(capacity_tier()), REJECTED).replica_scheduler is None
    made = builder(replica_tier())
    made.asked_at = 10.5
    made.selected(MemberId(A), 10.5, Schedule(MemberId(A), is_affinity_hit=True))
    record = finished(made)
    assert (record.replica_scheduler, record.affinity_hit) == (None, True)


def test_a_tier_that_still_takes_turns_leaves_no_evidence():
    """While an actor has not heard of its new strategy yet, its grants come without scores."""
    made = builder(capacity_tier())
    made.asked_at = 10.5
    made.selected(MemberId(A), 10.5)
    record = finished(made)
    assert (record.replica_member_id, record.replica_scheduler) == (A, None)


def test_without_a_member_no_session_has_hit():
    """`affinity_hit` speaks of a member and goes with it."""
    forged = msgspec.structs.replace(ranked_record(is_affinity_hit=True), replica_member_id="?")
    assert (forged.affinity_hit, forged.replica_scheduler) == (None, None)


@pytest.mark.parametrize(
    ("evidence", "member_id"),
    [
        (None, A),
        ("selected", A),
        (EVIDENCE, "member-b"),
        (EVIDENCE, None),
        (changed(selected_member_id="member-c"), "member-c"),
        (changed(reason="whim"), A),
        (changed(scores=SCORES[:1]), A),
        (changed(eligible_member_ids=(A, "http://private")), A),
        (changed(eligible_member_ids=(A,) * 17), A),
        (NO_ELIGIBLE_MEMBER, A),
        (changed(reason="no-eligible-member", selected_member_id=None), None),
    ],
)
def test_evidence_that_contradicts_itself_or_its_record_is_dropped_whole(evidence, member_id):
    """T011: what is not whole, or names another member, is not half kept."""
    assert checked_evidence(evidence, member_id) is None


def test_whole_evidence_is_kept():
    """What fits the record's member stays as it is."""
    assert checked_evidence(EVIDENCE, A) is EVIDENCE
    assert checked_evidence(NO_ELIGIBLE_MEMBER, None) is NO_ELIGIBLE_MEMBER
