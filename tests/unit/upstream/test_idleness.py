"""What may be relied on of an engine's patience with idle connections."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.upstream.idleness import Idleness


def test_little_is_relied_on_before_anything_was_seen():
    """A connection in steady use is used again; one that idles must have been seen to last."""
    assert Idleness(4.0).usable_s == pytest.approx(0.1)


def test_what_was_borne_is_relied_on_with_a_margin():
    """An engine seen to leave connections open is trusted for four fifths of that time."""
    idleness = Idleness(4.0)
    idleness.bore(2.0)
    idleness.bore(1.0)
    assert idleness.usable_s == pytest.approx(1.6)


def test_the_operators_bound_is_never_exceeded():
    """However patient an engine is, upstream_keepalive_s holds."""
    idleness = Idleness(0.5)
    idleness.bore(10.0)
    assert idleness.usable_s == 0.5
    assert Idleness(0.0).usable_s == 0.0


def test_a_closed_connection_takes_trust_away():
    """An engine found to have closed after half a second is not trusted with as much again."""
    idleness = Idleness(4.0)
    idleness.bore(3.0)
    idleness.ended(0.5)
    assert idleness.usable_s == pytest.approx(0.32)


@given(
    limit=st.floats(0.2, 10),
    looks=st.lists(st.floats(0, 12), max_size=30),
)
def test_an_engine_is_never_trusted_beyond_its_own_limit(limit: float, looks: list[float]):
    """Whatever was looked at and when, what is relied on stays below the engine's own limit."""
    idleness = Idleness(4.0)
    for age in looks:
        (idleness.bore if age < limit else idleness.ended)(age)
    assert idleness.usable_s < limit
