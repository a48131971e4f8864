import pytest
from msgspec.structs import replace

from anvil_trio.decisions.words import WorkloadOutcome
from anvil_trio.exchange.metering import REFUSALS, count_request, make_meters
from anvil_trio.exchange.outcome import ENDINGS, Outcome
from anvil_trio.names import DIRECT_MEMBER, Alias, MemberId
from tests.unit.decisions.samples import builder
from tests.unit.views.samples import DIRECT, REPLICA, A, B, config, direct_tier, replica_tier

ALIAS = Alias("llm.primary")


def served_by(member_id: MemberId = A, outcome: Outcome = Outcome.SERVED):
    """The record of a request of which a member was chosen."""
    made = builder()
    made.routed(ALIAS, replica_tier())
    made.asked_at, made.attempted_at, made.first_content_at = 10.5, 11.0, 11.25
    made.selected(member_id, 10.75)
    return made.finish(ENDINGS[outcome], now=12.0, unix_ts=1002.0)


def refused(outcome: Outcome, tier=None):
    """The record of a request that was refused."""
    made = builder()
    if tier is not None:
        made.routed(ALIAS if tier.is_replica else Alias("chat"), tier)
    elif outcome is Outcome.MODEL_NOT_FOUND:
        made.unknown_model()
    return made.finish(ENDINGS[outcome], now=12.0, unix_ts=1002.0)


def raised(meters):
    """Every tally that is not zero, and every spread that has observations, by what it counts."""
    found = {}
    for key, route in meters.routes.items():
        for name in ("requests", "refusals", "left"):
            for word, tally in getattr(route, name).items():
                found[name, *key, word] = tally.value
    for key, member in meters.members.items():
        for word, tally in member.attempts.items():
            found["attempts", *key, word] = tally.value
        for name in ("first_content", "upstream", "gap"):
            found[name, *key] = getattr(member, name).total_s
    for key, spread in meters.waits.items():
        found["waits", key] = spread.total_s
    return {what: number for what, number in found.items() if number}


def test_a_served_request_is_counted_once_everywhere():
    """Its alias, its tier's wait, and its member's attempt and durations; nothing else moves."""
    meters = make_meters(config())
    count_request(meters, Outcome.SERVED, served_by(), 0.125)
    assert raised(meters) == {
        ("requests", ALIAS, REPLICA, "success"): 1,
        ("attempts", REPLICA, A, "served"): 1,
        ("first_content", REPLICA, A): 1.25,
        ("upstream", REPLICA, A): 1.0,
        ("gap", REPLICA, A): 0.125,
        ("waits", REPLICA): 0.25,
    }


def test_what_did_not_happen_is_not_observed():
    """No gap without a stream, no first content without content: absence is no zero."""
    meters = make_meters(config())
    record = replace(
        served_by(B, Outcome.BACKEND_ERROR),
        time_to_first_content_ms=None,
        upstream_duration_ms=None,
    )
    count_request(meters, Outcome.BACKEND_ERROR, record, None)
    assert raised(meters) == {
        ("requests", ALIAS, REPLICA, "error"): 1,
        ("attempts", REPLICA, B, "backend_error"): 1,
        ("waits", REPLICA): 0.25,
    }


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_can_be_counted(outcome):
    """With a member and without one, each outcome is one request and at most one refusal."""
    for record in (served_by(A, outcome), refused(outcome), refused(outcome, direct_tier())):
        meters = make_meters(config())
        count_request(meters, outcome, record, None)
        counted = raised(meters)
        assert sum(n for what, n in counted.items() if what[0] == "requests") == 1
        is_refused = record.workload_outcome is WorkloadOutcome.REJECTED
        assert sum(n for what, n in counted.items() if what[0] == "refusals") == is_refused


def test_a_refusal_before_the_model_is_known_has_a_fixed_word():
    """R012: an unknown model is one label, whatever the caller wrote; a full house another."""
    meters = make_meters(config())
    count_request(meters, Outcome.MODEL_NOT_FOUND, refused(Outcome.MODEL_NOT_FOUND), None)
    count_request(meters, Outcome.SERVER_BUSY, refused(Outcome.SERVER_BUSY), None)
    assert raised(meters) == {
        ("requests", "unknown_model", "", "rejected"): 1,
        ("refusals", "unknown_model", "", "model_not_found"): 1,
        ("requests", "unparsed", "", "rejected"): 1,
        ("refusals", "unparsed", "", "server_busy"): 1,
    }


def test_a_direct_tiers_gate_is_no_attempt():
    """The attempt that a record names as skipped asked no engine, and is not counted as one."""
    meters = make_meters(config())
    record = refused(Outcome.OVER_CONTEXT, direct_tier())
    assert len(record.attempts) == 1
    count_request(meters, Outcome.OVER_CONTEXT, record, None)
    assert sum(one.value for one in meters.members[DIRECT, DIRECT_MEMBER].attempts.values()) == 0


@pytest.mark.parametrize(
    ("outcome", "word"),
    [(Outcome.CLIENT_DISCONNECTED, "disconnected"), (Outcome.CLIENT_STALLED, "stalled")],
)
def test_a_client_that_left_is_told_from_one_that_stalled(outcome, word):
    """Both end as disconnected; how is a label."""
    meters = make_meters(config())
    count_request(meters, outcome, served_by(A, outcome), None)
    counted = raised(meters)
    assert counted["requests", ALIAS, REPLICA, "disconnected"] == 1
    assert [what for what in counted if what[0] == "left"] == [("left", ALIAS, REPLICA, word)]


def test_an_attempt_on_a_member_that_is_not_on_the_board_is_left_out():
    """A record whose member was dropped as invalid still counts its request."""
    meters = make_meters(config())
    record = replace(served_by(), replica_member_id=None, replica_selection=None)
    count_request(meters, Outcome.SERVED, record, None)
    assert raised(meters) == {
        ("requests", ALIAS, REPLICA, "success"): 1,
        ("waits", REPLICA): 0.25,
    }


def test_the_refusals_are_the_outcomes_that_reject():
    """The list follows the table of endings by itself, and names no other outcome."""
    for outcome in Outcome:
        is_refusal = ENDINGS[outcome].workload_outcome is WorkloadOutcome.REJECTED
        assert (outcome.value in REFUSALS) == is_refusal
