import gc
import json

import msgspec
import pytest

from anvil_trio.decisions.record import Attempt, DecisionRecord, checked_pair, render_line
from anvil_trio.decisions.words import AttemptOutcome, AttemptReason, Selection
from anvil_trio.names import MemberId
from tests.unit.decisions.samples import (
    builder,
    finished,
    ranked_record,
    record,
    replica_tier,
)

ALWAYS = {
    "attempts",
    "completion_tokens_source",
    "dropped_fields",
    "finish_reason",
    "finish_reason_missing",
    "gateway_request_id",
    "kind",
    "latency_ms",
    "output_limit_applied",
    "output_limit_clamped",
    "output_limit_requested",
    "prompt_tokens_source",
    "readiness_check_ms",
    "request_bytes",
    "request_id",
    "requested_tier",
    "response_bytes",
    "route",
    "served_tier",
    "task_id",
    "time_to_first_content_ms",
    "total_completion_tokens",
    "total_prompt_tokens",
    "unix_ts",
    "upstream_duration_ms",
    "workbench_run_id",
    "workload_created_at",
    "workload_outcome",
    "workload_updated_at",
}
WHEN_KNOWN = {
    "admission_wait_ms",
    "affinity_hit",
    "cache_read_input_tokens",
    "client_id",
    "config_sha256",
    "replica_member_id",
    "replica_scheduler",
    "replica_selection",
    "router_version",
    "session_id",
}
ATTEMPT = Attempt(
    tier_id="primary",
    succeeded=True,
    reason=AttemptReason.SERVED,
    outcome=AttemptOutcome.SERVED,
)


class Lookalike(str):
    """A string that is not one of ours."""

    __slots__ = ()


def served_by_a_member() -> DecisionRecord:
    """A record with a member, an attempt and a wait."""
    made = builder(replica_tier())
    made.asked_at = 10.5
    made.selected(MemberId("member-a"), 10.5)
    return finished(made)


def test_the_least_known_record_shows_exactly_the_keys_that_always_stand():
    """What is not known is left out or null, by a fixed list."""
    line = json.loads(render_line(record()))
    assert set(line) == ALWAYS
    assert line["request_id"] is None
    assert line["total_prompt_tokens"] is None
    assert line["attempts"] == []


def test_the_best_known_record_adds_exactly_the_keys_that_may_be_absent():
    """The whole list of keys is closed."""
    known = msgspec.structs.replace(
        ranked_record(is_affinity_hit=False), session_id="session", cache_read_input_tokens=0
    )
    line = json.loads(render_line(known))
    assert set(line) == ALWAYS | WHEN_KNOWN
    assert line["cache_read_input_tokens"] == 0


def test_every_field_of_a_record_has_a_decision_about_its_line():
    """A new field shows nowhere until it is put on one of the lists."""
    assert set(DecisionRecord.__struct_fields__) == ALWAYS | WHEN_KNOWN


def test_an_attempt_shows_exactly_six_keys():
    """An attempt is listed key by key too."""
    (attempt,) = json.loads(render_line(served_by_a_member()))["attempts"]
    assert attempt == {
        "completion_tokens": None,
        "outcome": "served",
        "prompt_tokens": None,
        "reason": "served",
        "succeeded": True,
        "tier_id": "primary",
    }


def test_a_line_is_compact_sorted_and_ends_once():
    """One record is one line: sorted keys, no blanks, one newline at the end."""
    line = render_line(served_by_a_member())
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert b": " not in line
    assert list(json.loads(line)) == sorted(json.loads(line))


def test_a_line_can_be_read_back():
    """A reader of the journal gets the record that was written."""
    written = ranked_record(is_affinity_hit=True)
    assert msgspec.json.decode(render_line(written), type=DecisionRecord) == written


@pytest.mark.parametrize("selection", ["identity_passed", Selection.IDENTITY_PASSED])
def test_a_selected_member_with_one_attempt_is_a_valid_pair(selection):
    """T011: a member's identifier, `identity_passed` and exactly one attempt belong together."""
    assert checked_pair("member-a", selection, 1) == ("member-a", Selection.IDENTITY_PASSED)


@pytest.mark.parametrize("selection", [Selection.NOT_ADMITTED, Selection.REQUEST_REJECTED])
def test_no_member_and_no_attempt_is_a_valid_pair_for_a_refusal(selection):
    """T011: a refusal before selection has neither member nor attempt."""
    assert checked_pair(None, selection, 0) == (None, selection)


@pytest.mark.parametrize(
    ("member_id", "selection", "attempts"),
    [
        ("member-a", Selection.IDENTITY_PASSED, 0),
        ("member-a", Selection.IDENTITY_PASSED, 2),
        ("", Selection.IDENTITY_PASSED, 1),
        ("member a", Selection.IDENTITY_PASSED, 1),
        ("member-a\n", Selection.IDENTITY_PASSED, 1),
        ("m" * 65, Selection.IDENTITY_PASSED, 1),
        (None, Selection.IDENTITY_PASSED, 1),
        (7, Selection.IDENTITY_PASSED, 1),
        (Lookalike("member-a"), Selection.IDENTITY_PASSED, 1),
        ("member-a", Selection.NOT_ADMITTED, 0),
        (None, Selection.NOT_ADMITTED, 1),
        ("member-a", Selection.REQUEST_REJECTED, 1),
        (None, "chosen", 0),
        (None, None, 0),
        (None, 7, 0),
        (None, Lookalike("not_admitted"), 0),
        ("member-a", AttemptReason.SERVED, 1),
    ],
)
def test_any_other_pair_is_dropped_whole(member_id, selection, attempts):
    """T011: an invalid pair is dropped as a pair, and nothing of it is converted or kept."""
    assert checked_pair(member_id, selection, attempts) == (None, None)


def test_a_record_never_holds_an_invalid_pair():
    """T011: the pair is checked before memory, whoever makes the record."""
    kept = record()
    forged = DecisionRecord(
        kind=kept.kind,
        route=kept.route,
        unix_ts=kept.unix_ts,
        workload_created_at=kept.workload_created_at,
        workload_updated_at=kept.workload_updated_at,
        workload_outcome=kept.workload_outcome,
        gateway_request_id=kept.gateway_request_id,
        latency_ms=kept.latency_ms,
        attempts=(ATTEMPT, ATTEMPT),
        replica_member_id="http://10.0.0.1/",
        replica_selection=Selection.IDENTITY_PASSED,
    )
    assert (forged.replica_member_id, forged.replica_selection) == (None, None)
    assert b"replica" not in render_line(forged)


def test_a_record_cannot_be_changed():
    """A record is frozen once made."""
    with pytest.raises(AttributeError):
        setattr(record(), "route", "other")  # noqa: B010 - a type checker sees it too


def test_the_garbage_collector_looks_at_no_record():
    """Neither at a record nor at what is made for it alone: it costs a collection nothing."""
    kept = ranked_record()
    evidence = kept.replica_scheduler
    assert evidence is not None
    assert not any(map(gc.is_tracked, (kept, *kept.attempts, evidence, *evidence.scores)))
