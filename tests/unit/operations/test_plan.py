"""The reconciler's next step, for each thing that a backend may say."""

import pytest

from anvil_trio.operations.backend import Absent, Broken, Done, Found, Output, Running, Waiting
from anvil_trio.operations.model import FailureCode, State
from anvil_trio.operations.plan import MAX_LOSSES, Fail, Ingest, Step, Submit, Turn, Wait, next_step
from anvil_trio.operations.states import AT_BACKEND, may_follow

FILE = Output(("a",))


@pytest.mark.parametrize(
    ("state", "found", "step"),
    [
        (State.SUBMITTING, Absent(), Submit(is_again=False)),
        (State.SUBMITTING, Waiting(), Turn(State.QUEUED)),
        (State.SUBMITTING, Running(), Turn(State.QUEUED)),
        (State.SUBMITTING, Done((FILE,)), Turn(State.QUEUED)),
        (State.SUBMITTING, Broken(), Turn(State.QUEUED)),
        (State.QUEUED, Absent(), Submit(is_again=True)),
        (State.QUEUED, Waiting(), Wait()),
        (State.QUEUED, Running(), Turn(State.RUNNING)),
        (State.QUEUED, Done((FILE,)), Ingest((FILE,))),
        (State.QUEUED, Broken(), Fail(FailureCode.BACKEND_FAILED)),
        (State.RUNNING, Absent(), Submit(is_again=True)),
        (State.RUNNING, Waiting(), Wait()),
        (State.RUNNING, Running(), Wait()),
        (State.RUNNING, Done(()), Ingest(())),
        (State.RUNNING, Broken(FailureCode.OUTPUT_INVALID), Fail(FailureCode.OUTPUT_INVALID)),
    ],
)
def test_each_answer_has_its_step(state: State, found: Found, step: Step) -> None:
    """One that the table of states has."""
    assert next_step(state, found, 0) == step
    if isinstance(step, Turn):
        assert may_follow(state, step.after)


def test_a_job_that_is_forgotten_again_and_again_is_given_up() -> None:
    """But one that was never handed over was never forgotten."""
    lost = Fail(FailureCode.BACKEND_LOST)
    assert next_step(State.RUNNING, Absent(), MAX_LOSSES - 1) == Submit(is_again=True)
    assert next_step(State.RUNNING, Absent(), MAX_LOSSES) == lost
    assert next_step(State.SUBMITTING, Absent(), MAX_LOSSES) == Submit(is_again=False)


@pytest.mark.parametrize("state", sorted(set(State) - AT_BACKEND))
def test_nothing_else_is_asked_of_the_backend(state: State) -> None:
    """Before and after, its answer would mean nothing."""
    with pytest.raises(AssertionError):
        next_step(state, Waiting(), 0)
