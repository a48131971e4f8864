"""Names of left-out fields in a record."""

import pytest

from anvil_trio.decisions.dropped import OTHER, RECORDABLE, recorded_names


@pytest.mark.parametrize("name", ["my_secret_plan", "tools-my_plan", "Temperature", "", OTHER])
def test_a_made_up_name_is_not_kept(name):
    """R012: of what the list does not have, only that there was something is recorded."""
    assert recorded_names([name, "seed"]) == ("seed", OTHER)


def test_at_most_32_names_are_kept():
    """Thirty-two are named; that there were more is one word."""
    some = sorted(RECORDABLE)[:33]
    assert recorded_names(some[:32]) == tuple(some[:32])
    assert recorded_names(some) == (*some[:32], OTHER)
    assert recorded_names([]) == ()
