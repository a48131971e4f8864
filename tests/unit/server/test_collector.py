"""The garbage collector's policy."""

import gc

from anvil_trio.server.collector import steady_collector


class Knot:
    """Something that only the collector can free."""

    alive = 0

    def __init__(self) -> None:
        self.me = self
        Knot.alive += 1

    def __del__(self) -> None:
        Knot.alive -= 1


def test_what_the_start_has_made_is_not_looked_at_again():
    """`steady_collector`: inside, what exists is frozen and thresholds are high; then as before."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with steady_collector():
        assert gc.get_freeze_count() > frozen + 1000
        assert gc.get_threshold()[0] > before[0]
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, frozen)


def test_garbage_is_collected_before_it_would_be_frozen():
    """`steady_collector`: nothing that is garbage already is kept for good."""
    before = Knot.alive
    Knot()
    with steady_collector():
        assert Knot.alive == before


def test_garbage_is_still_collected():
    """`steady_collector`: cycles that are made inside are freed without being asked for."""
    before = Knot.alive
    with steady_collector():
        for _ in range(30_000):
            Knot()
        assert Knot.alive - before < 25_000
