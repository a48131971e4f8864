"""The moments at which a dispatched exchange must act."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.exchange.deadlines import GRACE_S, Deadlines, Due, Limits

LIMITS = Limits(admission_s=30, startup_s=300, idle_s=60, total_s=900, heartbeat_s=15, stall_s=40)


def stream(now: float = 0.0) -> Deadlines:
    """The deadlines of a stream that was dispatched at `now`."""
    return Deadlines(LIMITS, now, has_heartbeats=True)


def test_startup_runs_from_dispatch():
    """Before the first event the engine has startup_timeout_s from the moment of dispatch."""
    deadlines = Deadlines(LIMITS, 7.0, has_heartbeats=False)
    assert deadlines.next_due() == 307.0
    assert deadlines.due(306.9) is Due.NOTHING
    assert deadlines.due(307.0) is Due.STARTUP


def test_an_event_turns_startup_into_idle():
    """After the first event only idle_timeout_s counts, from the last event."""
    deadlines = Deadlines(LIMITS, 0.0, has_heartbeats=False)
    deadlines.progressed(100.0)
    assert deadlines.next_due() == 160.0
    assert deadlines.due(160.0) is Due.IDLE


def test_a_heartbeat_is_due_in_silence():
    """A stream owes a beat heartbeat_interval_s after dispatch or the last bytes sent."""
    deadlines = stream()
    assert deadlines.due(14.9) is Due.NOTHING
    assert deadlines.due(15.0) is Due.HEARTBEAT
    deadlines.beaten(15.0)
    assert deadlines.due(15.0) is Due.NOTHING
    assert deadlines.next_due() == 30.0


def test_a_unary_reply_has_no_heartbeats():
    """A reply that is not a stream never owes a beat."""
    deadlines = Deadlines(LIMITS, 0.0, has_heartbeats=False)
    deadlines.sending(1.0)
    deadlines.sent(2.0)
    assert deadlines.due(200.0) is Due.NOTHING


def test_a_heartbeat_is_no_progress():
    """Beats do not move the engine's own deadline."""
    deadlines = stream()
    for moment in (15.0, 30.0, 45.0):
        deadlines.sending(moment)
        deadlines.sent(moment)
    assert deadlines.due(300.0) is Due.STARTUP


def test_the_engines_silence_comes_before_a_beat():
    """When both are due, the engine's timeout wins: there is nobody to keep waiting for."""
    deadlines = stream()
    assert deadlines.due(300.0) is Due.STARTUP


def test_the_callers_slowness_is_not_charged_to_the_engine():
    """Idle stands still while a write to the caller is under way."""
    deadlines = stream()
    deadlines.progressed(10.0)
    deadlines.sending(20.0)
    was_sending = deadlines.is_sending
    deadlines.sent(50.0)
    assert (was_sending, deadlines.is_sending) == (True, False)
    assert deadlines.due(99.9) is Due.HEARTBEAT
    assert deadlines.due(100.0) is Due.IDLE


def test_an_event_during_a_write_counts_from_the_event():
    """Silence that began during a write is only paused from its own beginning."""
    deadlines = Deadlines(LIMITS, 0.0, has_heartbeats=False)
    deadlines.sending(10.0)
    deadlines.progressed(20.0)
    deadlines.sent(30.0)
    assert deadlines.next_due() == 90.0


def test_a_stuck_write_stalls():
    """A write that lasts client_stall_timeout_s is the caller's stall, whatever else is due."""
    deadlines = stream()
    deadlines.sending(5.0)
    assert deadlines.next_due() == 45.0
    assert deadlines.due(44.9) is Due.NOTHING
    assert deadlines.due(45.0) is Due.STALL


def test_a_write_under_way_is_not_restarted():
    """Going on with a write that was cut in keeps the stall's beginning."""
    deadlines = stream()
    deadlines.sending(5.0)
    deadlines.sending(25.0)
    assert deadlines.due(45.0) is Due.STALL


def test_sent_without_sending_changes_only_the_beat():
    """Noting the end of a write that never began costs the engine nothing."""
    deadlines = stream()
    deadlines.sent(1.0)
    assert deadlines.due(300.0) is Due.STARTUP
    assert deadlines.next_due() == 16.0


def test_the_grace_cannot_be_extended():
    """After the finish reason two seconds are left; no event and no second finish adds any."""
    deadlines = stream()
    deadlines.progressed(10.0)
    deadlines.finished(20.0)
    deadlines.progressed(21.0)
    deadlines.finished(21.5)
    assert deadlines.due(20.0 + GRACE_S) is Due.GRACE


def test_after_the_last_word_only_the_replys_end_is_waited_for():
    """[DONE] leaves 50 ms for the engine to end its reply, grace or not."""
    deadlines = Deadlines(LIMITS, 0.0, has_heartbeats=False)
    deadlines.finished(20.0)
    deadlines.said_all(21.0)
    assert deadlines.next_due() == pytest.approx(21.05)
    assert deadlines.due(21.06) is Due.GRACE


@given(
    st.lists(
        st.tuples(st.sampled_from(["progressed", "sending", "sent", "finished"]), st.floats(0, 50)),
        max_size=20,
    )
)
def test_nothing_is_due_before_next_due(steps):
    """Whatever happened, `due` says NOTHING before `next_due` and something at it."""
    deadlines, now = stream(), 0.0
    for name, gap in steps:
        now += gap
        getattr(deadlines, name)(now)
    moment = deadlines.next_due()
    assert moment != inf
    if moment - 1e-3 > now:
        assert deadlines.due(moment - 1e-3) is Due.NOTHING
    assert deadlines.due(moment) is not Due.NOTHING


@pytest.mark.parametrize("is_stream", [True, False])
def test_next_due_is_finite(is_stream: bool):
    """Some deadline always runs: no exchange waits for ever."""
    assert Deadlines(LIMITS, 0.0, has_heartbeats=is_stream).next_due() < inf


def test_the_gaps_of_a_stream_are_summed_up():
    """The mean is over the gaps between events; the wait for the first event is none."""
    deadlines = stream()
    assert deadlines.mean_gap_s is None
    deadlines.progressed(100.0)
    assert deadlines.mean_gap_s is None
    deadlines.progressed(101.0)
    deadlines.finished(104.0)
    assert deadlines.mean_gap_s == 2.0


def test_a_wait_for_the_caller_is_no_gap():
    """While the caller does not take what it is sent, the engine's gap stands still."""
    deadlines = stream()
    deadlines.progressed(10.0)
    deadlines.sending(11.0)
    deadlines.sent(31.0)
    deadlines.progressed(33.0)
    assert deadlines.mean_gap_s == 3.0


def test_what_follows_the_finish_reason_is_no_gap():
    """Usage and `[DONE]` may be waited for in the grace, and belong to no answer."""
    deadlines = stream()
    deadlines.progressed(1.0)
    deadlines.finished(2.0)
    deadlines.progressed(3.5)
    deadlines.finished(3.7)
    deadlines.said_all(3.8)
    assert deadlines.mean_gap_s == 1.0


def test_a_unary_reply_has_no_gaps():
    """How a body's bytes came is nobody's matter."""
    deadlines = Deadlines(LIMITS, 0.0, has_heartbeats=False)
    deadlines.progressed(1.0)
    deadlines.progressed(2.0)
    assert deadlines.mean_gap_s is None
