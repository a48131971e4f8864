"""The tables of a request's life, and the one object that holds it to them."""

import pytest

from anvil_trio.exchange.outcome import Outcome
from anvil_trio.exchange.phases import ANYWHERE, LIFE, Held, Journey, Phase

WAY = list(Phase)[:-1]


def at(phase: Phase) -> Journey:
    """A journey that has come so far."""
    journey = Journey()
    for each in WAY[1 : WAY.index(phase) + 1]:
        journey.reach(each)
    return journey


def test_every_outcome_is_the_end_of_some_phase():
    """A new way to end must be given its phases."""
    near = frozenset().union(*(stage.ends for stage in LIFE.values()))
    assert near | ANYWHERE == set(Outcome)
    assert not near & ANYWHERE, "what may happen anywhere is said once"


def test_the_phases_are_one_line_and_take_one_thing_at_a_time():
    """From the first to the last before the end, each phase holds at most one thing more."""
    assert list(LIFE) == list(Phase)
    for phase, following in zip(WAY, [*WAY[1:], None], strict=True):
        assert LIFE[phase].then is following
        if following is not None:
            before, after = LIFE[phase].holds, LIFE[following].holds
            assert after[: len(before)] == before
            assert len(after) <= len(before) + 1
    assert LIFE[WAY[-1]].holds == tuple(Held), "in the end it holds all there is"
    assert LIFE[Phase.TOLD].holds == (), "and then nothing"


@pytest.mark.parametrize("phase", WAY)
@pytest.mark.parametrize("outcome", Outcome)
def test_a_request_ends_as_its_phase_allows(phase: Phase, outcome: Outcome):
    """What the tables name is an end, and anything else is a bug; either way it is told."""
    journey = at(phase)
    if outcome in LIFE[phase].ends | ANYWHERE:
        journey.end(outcome)
    else:
        with pytest.raises(AssertionError, match="as its phase allows"):
            journey.end(outcome)
    assert journey.phase is Phase.TOLD


@pytest.mark.parametrize("phase", WAY)
@pytest.mark.parametrize("other", Phase)
def test_no_phase_is_left_out_or_entered_twice(phase: Phase, other: Phase):
    """Only the next one may follow."""
    journey = at(phase)
    if other is LIFE[phase].then:
        journey.reach(other)
        assert journey.phase is other
    else:
        with pytest.raises(AssertionError, match="follow one another"):
            journey.reach(other)
