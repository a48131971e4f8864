"""When a session must end by itself."""

import pytest

from anvil_trio.exchange.deadlines import Limits
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.realtime.clock import Clock, Due, end_of
from anvil_trio.realtime.closes import Side

LIMITS = Limits(admission_s=30, startup_s=300, idle_s=60, total_s=900, heartbeat_s=15, stall_s=40)


def pass_on(clock: Clock, by: Side, now: float) -> None:
    """A message of that side comes and is taken at once."""
    clock.said(by, now)
    clock.taken(by.other, now)


def test_an_engine_that_never_speaks_has_the_startup_timeout():
    """From the beginning, or from the client's last message."""
    clock = Clock(LIMITS, 7.0)
    assert (clock.next_due(), clock.due(306.9), clock.due(307.0)) == (
        307.0,
        Due.NOTHING,
        Due.STARTUP,
    )
    pass_on(clock, Side.CLIENT, 100.0)
    assert (clock.next_due(), clock.due(399.9), clock.due(400.0)) == (
        400.0,
        Due.NOTHING,
        Due.STARTUP,
    )


@pytest.mark.parametrize(
    ("last", "due"), [(Side.CLIENT, Due.ENGINE_SILENT), (Side.ENGINE, Due.CLIENT_SILENT)]
)
def test_silence_is_whose_turn_it_was(last, due):
    """After the engine's first word idle_timeout_s counts from whoever spoke last."""
    clock = Clock(LIMITS, 0.0)
    pass_on(clock, Side.ENGINE, 10.0)
    pass_on(clock, last, 20.0)
    assert (clock.next_due(), clock.due(79.9), clock.due(80.0)) == (80.0, Due.NOTHING, due)


@pytest.mark.parametrize(
    ("by", "due"), [(Side.CLIENT, Due.ENGINE_STALLED), (Side.ENGINE, Due.CLIENT_STALLED)]
)
def test_a_side_that_takes_nothing_stalls(by, due):
    """A message that is not taken within client_stall_timeout_s; silence does not count then."""
    clock = Clock(LIMITS, 0.0)
    pass_on(clock, Side.ENGINE, 10.0)
    clock.said(by, 65.0)
    assert (clock.next_due(), clock.due(104.9), clock.due(105.0)) == (105.0, Due.NOTHING, due)


def test_the_older_of_two_stalls_is_the_nearer():
    """Both directions stand: the one that has stood longer falls due."""
    clock = Clock(LIMITS, 0.0)
    clock.said(Side.ENGINE, 10.0)
    clock.said(Side.CLIENT, 20.0)
    assert clock.next_due() == 50.0
    assert clock.due(50.0) is Due.CLIENT_STALLED
    clock.taken(Side.CLIENT, 49.0)
    assert (clock.next_due(), clock.due(60.0)) == (60.0, Due.ENGINE_STALLED)


def test_the_silence_begins_when_a_message_is_taken():
    """A slow reader is not charged with the time in which it was read to."""
    clock = Clock(LIMITS, 0.0)
    clock.said(Side.ENGINE, 10.0)
    clock.taken(Side.CLIENT, 45.0)
    assert clock.next_due() == 105.0


@pytest.mark.parametrize("due", [due for due in Due if due is not Due.NOTHING])
def test_every_end_has_words(due):
    """Whatever falls due has an outcome and a fixed problem; none of them is a success."""
    outcome, what = end_of(due)
    assert outcome is not Outcome.SERVED
    assert what.status == 504
    is_engines = due in {Due.STARTUP, Due.ENGINE_SILENT, Due.ENGINE_STALLED}
    assert (outcome is not Outcome.CLIENT_STALLED) == is_engines
