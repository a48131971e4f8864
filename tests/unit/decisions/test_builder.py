import pytest

from anvil_trio.decisions.builder import CallerIds
from anvil_trio.decisions.record import Attempt
from anvil_trio.decisions.words import (
    AttemptOutcome,
    AttemptReason,
    Selection,
    TokenSource,
    WorkloadOutcome,
)
from anvil_trio.dialects.ir import FinishReason, OutputLimit, Prompt, Usage
from anvil_trio.names import DIRECT_MEMBER, MemberId
from tests.unit.decisions.samples import (
    ALIAS,
    BACKEND_ERROR,
    LEFT,
    REJECTED,
    SERVED,
    UNAVAILABLE,
    builder,
    direct_tier,
    finished,
    replica_tier,
)

A = MemberId("member-a")


def selected(member_id=A, tier=None):
    """A request that waited a quarter of a second and was given a member."""
    made = builder(replica_tier() if tier is None else tier)
    made.asked_at = 10.5
    made.selected(member_id, 10.75)
    return made


def test_a_served_replica_request_names_one_tier_one_member_and_one_attempt():
    """T011: an admitted replica request records one tier, the selected member and one attempt."""
    made = selected()
    made.usage = Usage(prompt_tokens=7, completion_tokens=3, cached_tokens=2)
    record = finished(made)
    assert record.attempts == (
        Attempt(
            tier_id="primary",
            succeeded=True,
            reason=AttemptReason.SERVED,
            outcome=AttemptOutcome.SERVED,
            prompt_tokens=7,
            completion_tokens=3,
        ),
    )
    assert (record.route, record.requested_tier, record.served_tier) == (
        ALIAS,
        "primary",
        "primary",
    )
    assert (record.replica_member_id, record.replica_selection) == (A, Selection.IDENTITY_PASSED)
    assert record.workload_outcome is WorkloadOutcome.SUCCESS


@pytest.mark.parametrize("ending", [BACKEND_ERROR, LEFT, REJECTED])
def test_a_selected_member_is_recorded_however_the_attempt_ended(ending):
    """T011: a selection is not a success, and a close before the first byte is an attempt too."""
    record = finished(selected(), ending)
    assert [attempt.outcome for attempt in record.attempts] == [AttemptOutcome.ERROR]
    assert [attempt.reason for attempt in record.attempts] == [ending.attempt]
    assert not record.attempts[0].succeeded
    assert record.served_tier is None
    assert (record.replica_member_id, record.replica_selection) == (A, Selection.IDENTITY_PASSED)


def test_a_clamped_output_shows_in_the_reason_of_a_served_attempt_only():
    """A clamp changes `served` to `served_output_clamped` and no other reason."""
    limits = OutputLimit(requested=100, applied=10)
    served, failed = selected(), selected()
    served.output_limit = failed.output_limit = limits
    assert finished(served).attempts[0].reason is AttemptReason.SERVED_OUTPUT_CLAMPED
    record = finished(failed, BACKEND_ERROR)
    assert record.attempts[0].reason is AttemptReason.BACKEND_ERROR
    assert (
        record.output_limit_requested,
        record.output_limit_applied,
        record.output_limit_clamped,
    ) == (100, 10, True)


def test_a_replica_refused_by_its_tier_has_no_member_and_no_attempt():
    """T011: an exhausted tier is `not_admitted`, with no selected member and no attempt."""
    made = builder(replica_tier())
    made.asked_at = 10.5
    record = finished(made, UNAVAILABLE)
    assert record.attempts == ()
    assert (record.replica_member_id, record.replica_selection) == (None, Selection.NOT_ADMITTED)


def test_a_caller_that_left_the_queue_was_not_admitted():
    """T011: `not_admitted` does not tell why; leaving the line is one of the ways."""
    made = builder(replica_tier())
    made.asked_at = 10.5
    record = finished(made, LEFT)
    assert record.attempts == ()
    assert record.replica_selection is Selection.NOT_ADMITTED
    assert record.admission_wait_ms == 1500


def test_a_refused_wait_lasted_until_the_tier_answered():
    """The wait ends with the tier's answer, not with the delivery of the refusal."""
    made = builder(replica_tier())
    made.asked_at, made.answered_at = 10.5, 11.0
    assert finished(made, UNAVAILABLE).admission_wait_ms == 500


def test_a_replica_request_refused_by_a_gate_is_request_rejected():
    """T011: a gate before the tier leaves `request_rejected`, no member and no attempt."""
    record = finished(builder(replica_tier()), REJECTED)
    assert record.attempts == ()
    assert (record.replica_member_id, record.replica_selection) == (
        None,
        Selection.REQUEST_REJECTED,
    )


def test_a_replica_request_that_ended_before_any_gate_spoke_has_no_pair():
    """T011: what is neither selected, refused nor rejected drops the pair."""
    record = finished(builder(replica_tier()), LEFT)
    assert (record.replica_member_id, record.replica_selection) == (None, None)


def test_a_member_that_the_tier_does_not_declare_is_never_stamped():
    """T011: only a declared member of the selected tier is named; the attempt stays."""
    record = finished(selected(MemberId("member-z")))
    assert len(record.attempts) == 1
    assert (record.replica_member_id, record.replica_selection) == (None, None)


def test_a_direct_tier_has_an_attempt_but_never_a_pair():
    """T011: a direct tier's records keep both replica fields absent."""
    record = finished(selected(DIRECT_MEMBER, direct_tier()))
    assert record.attempts[0].succeeded
    assert (record.replica_member_id, record.replica_selection) == (None, None)


def test_a_direct_tier_records_the_gate_that_refused_as_a_skipped_attempt():
    """A direct tier's refusal names its gate; no engine was asked, so it counts no tokens."""
    made = builder(direct_tier())
    made.prompt = Prompt(40)
    record = finished(made, REJECTED)
    assert record.attempts == (
        Attempt(
            tier_id="primary",
            succeeded=False,
            reason=AttemptReason.OVER_CONTEXT,
            outcome=AttemptOutcome.SKIPPED,
        ),
    )
    assert record.served_tier is None


def test_a_direct_tier_whose_caller_left_before_dispatch_has_no_attempt():
    """An ending that names no gate leaves no attempt where no member was chosen."""
    assert finished(builder(direct_tier()), LEFT).attempts == ()


def test_an_unknown_model_is_one_fixed_route_and_no_tier():
    """The caller's own text for a model that is not configured is never kept."""
    made = builder()
    made.unknown_model()
    record = finished(made, REJECTED)
    assert (record.route, record.requested_tier, record.attempts) == ("unknown_model", None, ())


def test_a_request_that_was_never_parsed_has_its_own_fixed_route():
    """A request that ended before its model was known is told apart from an unknown model."""
    assert finished(builder(), LEFT).route == "unparsed"


def test_only_safe_tokens_of_the_caller_are_kept():
    """A correlation id that is no safe token is ignored, not shortened or escaped."""
    caller = CallerIds("run:1", "s" * 129, "has blank", "tail\n")
    record = finished(builder(caller=caller))
    assert record.request_id == "run:1"
    assert (record.session_id, record.workbench_run_id, record.task_id) == (None, None, None)
    assert caller == CallerIds("run:1")


def test_times_are_whole_milliseconds_between_the_moments_that_came():
    """Each measurement runs between its own two moments, the first content from the start."""
    made = selected()
    made.attempted_at = 10.75
    made.first_content_at = 11.0004
    made.upstream_ended_at = 11.5
    record = finished(made)
    assert record.latency_ms == 2000
    assert record.admission_wait_ms == 250
    assert record.upstream_duration_ms == 750
    assert record.time_to_first_content_ms == 1000
    assert record.readiness_check_ms == 0


def test_what_began_and_never_ended_lasted_until_the_end():
    """An attempt that was cut off counts up to the moment the record was made."""
    made = selected()
    made.attempted_at = 11.0
    assert finished(made, LEFT).upstream_duration_ms == 1000


def test_what_never_began_is_unknown_and_not_zero():
    """A refused request has no wait, no probe, no upstream time and no first content."""
    record = finished(builder(direct_tier()), REJECTED)
    assert record.admission_wait_ms is None
    assert record.readiness_check_ms is None
    assert record.upstream_duration_ms is None
    assert record.time_to_first_content_ms is None


def test_a_moment_at_time_zero_counts():
    """A virtual clock starts at 0, and that is a moment like any other."""
    made = builder(replica_tier())
    made.started_at = made.asked_at = made.attempted_at = 0.0
    made.selected(A, 0.0)
    made.first_content_at = made.upstream_ended_at = 0.0
    record = finished(made)
    assert record.admission_wait_ms == 0
    assert record.upstream_duration_ms == 0
    assert record.time_to_first_content_ms == 0


def test_the_wall_clock_is_kept_to_the_millisecond():
    """`unix_ts` is the end of the request; both ends are rounded to what is meaningful."""
    made = builder()
    made.created_unix = 1000.12345
    record = made.finish(SERVED, now=12.0, unix_ts=1002.98765)
    assert record.workload_created_at == 1000.123
    assert record.workload_updated_at == record.unix_ts == 1002.988


@pytest.mark.parametrize(
    ("reported", "estimate", "total", "source"),
    [
        (5, 9, 5, TokenSource.UPSTREAM),
        (0, 9, 0, TokenSource.UPSTREAM),
        (None, 9, 9, TokenSource.ESTIMATED),
        (None, None, None, TokenSource.UNKNOWN),
    ],
)
def test_a_token_count_says_where_it_comes_from(reported, estimate, total, source):
    """The engine's own count wins over an estimate, and neither is ever made up."""
    made = selected()
    made.usage = Usage(prompt_tokens=reported, completion_tokens=reported)
    made.prompt = None if estimate is None else Prompt(estimate)
    made.completion_tokens_estimate = estimate
    record = finished(made)
    assert (record.total_prompt_tokens, record.prompt_tokens_source) == (total, source)
    assert (record.total_completion_tokens, record.completion_tokens_source) == (total, source)


def test_a_prompt_that_the_engine_counted_is_not_estimated():
    """An estimate is a pass over all of the text; it is made once, for want of a count."""
    counted: list[int] = []

    def count() -> int:
        counted.append(1)
        return 40

    prompt = Prompt(99, count)
    for reported in (Usage(prompt_tokens=7), Usage(), Usage()):
        made = builder()
        made.prompt, made.usage = prompt, reported
        found = finished(made).total_prompt_tokens
        assert (found, len(counted)) == ((7, 0) if reported.prompt_tokens else (40, 1))
    assert repr(prompt) == "Prompt()"


def test_the_reply_is_recorded_as_the_dialect_read_it():
    """Finish reason, its absence, sizes and cache count come from the exchange unchanged."""
    made = selected()
    made.finish_reason, made.is_finish_reason_missing = FinishReason.LENGTH, True
    made.request_bytes, made.response_bytes = 11, 22
    made.usage = Usage(cached_tokens=0)
    record = finished(made)
    assert (record.finish_reason, record.finish_reason_missing) == (FinishReason.LENGTH, True)
    assert (record.request_bytes, record.response_bytes) == (11, 22)
    assert record.cache_read_input_tokens == 0


def test_dropped_fields_are_recorded_by_names_of_the_list():
    """R012: the names are sorted, and one that its caller made up is one fixed word."""
    made = builder()
    made.dropped_fields = ("top_p", "seed", "top_p", "secret_plan")
    assert finished(made).dropped_fields == ("seed", "top_p", "other")


def test_a_request_is_recorded_once():
    """A second record of one request is a bug, and says so."""
    made = builder()
    finished(made)
    with pytest.raises(AssertionError, match="one record per request"):
        finished(made)
