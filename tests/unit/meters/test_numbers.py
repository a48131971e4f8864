from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.meters.numbers import Spread, Tally

BOUNDS = (0.1, 1.0, 10.0)


def test_a_tally_begins_at_zero():
    """What is added to its value is all that it holds."""
    tally = Tally()
    tally.value += 3
    assert tally.value == 3


def test_a_duration_that_equals_a_bound_is_within_it():
    """`le` means at most; what is above all bounds is counted without one."""
    spread = Spread(BOUNDS)
    for seconds in (0.1, 0.1000001, 10.0, 11.0):
        spread.observe(seconds)
    assert spread.cumulative() == [("0.1", 1), ("1.0", 2), ("10.0", 3), ("+Inf", 4)]
    assert spread.count == 4
    assert spread.total_s == 0.1 + 0.1000001 + 10.0 + 11.0


@given(st.lists(st.floats(0, 20)))
def test_the_counts_are_those_of_the_values(values):
    """Each bound counts exactly the values that are not above it."""
    spread = Spread(BOUNDS)
    for value in values:
        spread.observe(value)
    expected = [sum(value <= bound for value in values) for bound in BOUNDS]
    assert [number for _, number in spread.cumulative()] == [*expected, len(values)]
