import pytest

from anvil_trio.decisions.words import AttemptReason, WorkloadOutcome
from anvil_trio.errors import Code, problem
from anvil_trio.exchange.outcome import (
    ENDINGS,
    Outcome,
    outcome_of_failure,
    outcome_of_rejection,
)

AFTER_DISPATCH = {
    AttemptReason.SERVED,
    AttemptReason.CLIENT_DISCONNECTED,
    AttemptReason.BACKEND_ERROR,
    AttemptReason.COMPLETION_ERROR,
}


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_says_what_the_record_holds(outcome):
    """The table is total: one ending each, with a dispatched reason and maybe a gate."""
    ending = ENDINGS[outcome]
    assert ending.attempt in AFTER_DISPATCH
    assert ending.refusal not in AFTER_DISPATCH


@pytest.mark.parametrize("outcome", Outcome)
def test_only_a_served_request_succeeds(outcome):
    """Success in the record and a served attempt mean the same one outcome."""
    ending = ENDINGS[outcome]
    is_served = outcome is Outcome.SERVED
    assert (ending.attempt is AttemptReason.SERVED) is is_served
    assert (ending.workload_outcome is WorkloadOutcome.SUCCESS) is is_served


@pytest.mark.parametrize("outcome", Outcome)
def test_only_a_refusal_names_a_gate(outcome):
    """A gate is named only where the request was rejected."""
    ending = ENDINGS[outcome]
    if ending.refusal is not None:
        assert ending.workload_outcome is WorkloadOutcome.REJECTED


@pytest.mark.parametrize(
    ("outcome", "workload", "reason"),
    [
        (Outcome.BACKEND_ERROR, WorkloadOutcome.ERROR, AttemptReason.BACKEND_ERROR),
        (Outcome.CONNECT_TIMEOUT, WorkloadOutcome.TIMEOUT, AttemptReason.BACKEND_ERROR),
        (Outcome.STARTUP_TIMEOUT, WorkloadOutcome.TIMEOUT, AttemptReason.BACKEND_ERROR),
        (Outcome.IDLE_TIMEOUT, WorkloadOutcome.TIMEOUT, AttemptReason.BACKEND_ERROR),
        (Outcome.REQUEST_TIMEOUT, WorkloadOutcome.TIMEOUT, AttemptReason.BACKEND_ERROR),
        (
            Outcome.CLIENT_DISCONNECTED,
            WorkloadOutcome.DISCONNECTED,
            AttemptReason.CLIENT_DISCONNECTED,
        ),
        (Outcome.CLIENT_STALLED, WorkloadOutcome.DISCONNECTED, AttemptReason.CLIENT_DISCONNECTED),
        (Outcome.SHUTDOWN, WorkloadOutcome.CANCELLED, AttemptReason.COMPLETION_ERROR),
        (Outcome.CANCELLED, WorkloadOutcome.CANCELLED, AttemptReason.COMPLETION_ERROR),
        (Outcome.INTERNAL_ERROR, WorkloadOutcome.ERROR, AttemptReason.COMPLETION_ERROR),
    ],
)
def test_after_dispatch_the_attempt_says_whose_fault_it_was(outcome, workload, reason):
    """The engine's failures, the client's leaving and the router's own ends are told apart."""
    ending = ENDINGS[outcome]
    assert (ending.workload_outcome, ending.attempt) == (workload, reason)


@pytest.mark.parametrize(
    ("outcome", "gate"),
    [
        (Outcome.REQUEST_REJECTED, AttemptReason.REQUEST_REJECTED),
        (Outcome.OVER_CONTEXT, AttemptReason.OVER_CONTEXT),
        (Outcome.MEDIA_ADMISSION, AttemptReason.MEDIA_ADMISSION),
        (Outcome.TOOLS_UNSUPPORTED, AttemptReason.TOOLS_UNSUPPORTED),
        (Outcome.QUIESCED, AttemptReason.QUIESCED),
        (Outcome.NOT_ADMITTED, AttemptReason.UNAVAILABLE),
        (Outcome.ADMISSION_TIMEOUT, AttemptReason.ADMISSION_TIMEOUT),
        (Outcome.MODEL_NOT_FOUND, None),
        (Outcome.SERVER_BUSY, None),
        (Outcome.CLIENT_CONCURRENCY_EXHAUSTED, None),
    ],
)
def test_a_refusal_names_the_gate_where_a_tier_was_known(outcome, gate):
    """What is refused before a tier is known names no gate; a full tier is a rejection."""
    ending = ENDINGS[outcome]
    assert (ending.workload_outcome, ending.refusal) == (WorkloadOutcome.REJECTED, gate)


@pytest.mark.parametrize("code", Code)
def test_a_failure_is_the_engines_unless_a_clock_or_the_router_ended_it(code):
    """R009: whatever an engine answered, a refusal too, is one failed attempt on it."""
    own = {
        Code.CONNECT_TIMEOUT: Outcome.CONNECT_TIMEOUT,
        Code.STARTUP_TIMEOUT: Outcome.STARTUP_TIMEOUT,
        Code.IDLE_TIMEOUT: Outcome.IDLE_TIMEOUT,
        Code.REQUEST_TIMEOUT: Outcome.REQUEST_TIMEOUT,
        Code.UPSTREAM_TIMEOUT: Outcome.IDLE_TIMEOUT,
        Code.SHUTTING_DOWN: Outcome.SHUTDOWN,
        Code.INTERNAL_ERROR: Outcome.INTERNAL_ERROR,
    }
    assert outcome_of_failure(problem(code)) is own.get(code, Outcome.BACKEND_ERROR)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (Code.INVALID_REQUEST, Outcome.REQUEST_REJECTED),
        (Code.PAYLOAD_TOO_LARGE, Outcome.REQUEST_REJECTED),
        (Code.BODY_TIMEOUT, Outcome.REQUEST_REJECTED),
        (Code.MODEL_NOT_FOUND, Outcome.MODEL_NOT_FOUND),
        (Code.ROUTE_NOT_FOUND, Outcome.MODEL_NOT_FOUND),
        (Code.UNSUPPORTED_AUDIO_MODE, Outcome.REQUEST_REJECTED),
        (Code.CONTEXT_LENGTH_EXCEEDED, Outcome.OVER_CONTEXT),
        (Code.UNSUPPORTED_MEDIA, Outcome.MEDIA_ADMISSION),
        (Code.SERVICE_UNAVAILABLE, Outcome.TOOLS_UNSUPPORTED),
        (Code.SERVER_BUSY, Outcome.SERVER_BUSY),
        (Code.CLIENT_CONCURRENCY_EXHAUSTED, Outcome.CLIENT_CONCURRENCY_EXHAUSTED),
        (Code.ADMISSION_TIMEOUT, Outcome.ADMISSION_TIMEOUT),
        (Code.TIER_FAILED, Outcome.NOT_ADMITTED),
        (Code.SHUTTING_DOWN, Outcome.SHUTDOWN),
        (Code.REQUEST_TIMEOUT, Outcome.REQUEST_TIMEOUT),
        (Code.INTERNAL_ERROR, Outcome.INTERNAL_ERROR),
    ],
)
def test_a_gates_problem_tells_how_the_request_ended(code, outcome):
    """Each gate's answer is one outcome; what no gate names is a rejected request."""
    assert outcome_of_rejection(problem(code)) is outcome
