"""The table of states: what may follow what, and that every way through it ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.operations.model import State
from anvil_trio.operations.states import AT_BACKEND, FOLLOWERS, may_follow

LINE = [
    State.ACCEPTED,
    State.AWAITING_APPROVAL,
    State.PREPARING,
    State.SUBMITTING,
    State.QUEUED,
    State.RUNNING,
    State.COMPLETED,
]


def test_the_table_knows_every_state() -> None:
    """None is missing, and no other is in it."""
    assert set(FOLLOWERS) == set(State)
    assert set().union(*FOLLOWERS.values()) == set(State) - {State.ACCEPTED}


def test_what_has_ended_stays_so() -> None:
    """Exactly the three ends have no followers."""
    assert {state for state in State if not FOLLOWERS[state]} == {
        State.COMPLETED,
        State.FAILED,
        State.CANCELED,
    }
    assert all(state.terminal == (not FOLLOWERS[state]) for state in State)


def test_whatever_has_not_ended_can_fail_and_be_canceled() -> None:
    """From everywhere, in one step."""
    for state in State:
        if not state.terminal:
            assert may_follow(state, State.FAILED)
            assert may_follow(state, State.CANCELED)


def test_nothing_is_completed_that_was_not_at_the_backend() -> None:
    """It was in its line or being worked on."""
    before = {state for state in State if may_follow(state, State.COMPLETED)}
    assert before == {State.QUEUED, State.RUNNING}
    assert before < AT_BACKEND


@given(st.lists(st.sampled_from(State), max_size=40))
def test_every_walk_goes_forward_and_ends(wishes: list[State]) -> None:
    """Whatever is tried, in whatever order: no state comes twice, and the order is the line's."""
    state, walked = State.ACCEPTED, [State.ACCEPTED]
    for wish in wishes:
        if may_follow(state, wish):
            assert not state.terminal
            state = wish
            walked.append(wish)
    assert len(set(walked)) == len(walked) <= len(LINE)
    inner = [each for each in walked if each in LINE]
    assert inner == sorted(inner, key=LINE.index)


@pytest.mark.parametrize("state", State)
def test_none_follows_itself(state: State) -> None:
    """A step that changes nothing is no step."""
    assert not may_follow(state, state)
