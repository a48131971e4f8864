"""The two scopes of an exchange, on virtual time."""

from dataclasses import replace

import trio

from anvil_trio.exchange.deadlines import Due, Limits
from anvil_trio.exchange.watch import Cut, Watch

LIMITS = Limits(admission_s=30, startup_s=300, idle_s=60, total_s=900, heartbeat_s=15, stall_s=40)


async def test_the_total_deadline_runs_from_the_parse_and_is_never_moved(autojump_clock):
    """A life ends total_timeout_s after `begin`, whatever progress there was."""
    watch = Watch(LIMITS)
    await trio.sleep(100)
    watch.begin()
    watch.dispatched(has_heartbeats=False)
    with watch.life:
        while True:
            watch.progressed(trio.current_time())
            watch.follow_engine()
            await trio.sleep(7)
    assert trio.current_time() == 1000
    assert watch.cut is Cut.TOTAL


async def test_a_wait_for_a_member_has_its_own_bound(autojump_clock):
    """A life ends with the admission deadline, unless a member was chosen in time."""
    late, early = Watch(LIMITS), Watch(LIMITS)
    for watch, why, moment in ((late, Cut.NO_MEMBER, 30), (early, Cut.TOTAL, 930)):
        watch.begin()
        if watch is early:
            watch.chosen()
        with watch.life:
            await trio.sleep_forever()
        assert (watch.cut, trio.current_time()) == (why, moment)


async def test_an_engine_that_is_followed_ends_a_life_by_its_silence(autojump_clock):
    """Silence counts from the last progress, and says that it was the engine's."""
    watch = Watch(LIMITS)
    watch.begin()
    watch.dispatched(has_heartbeats=False)
    with watch.life:
        watch.follow_engine()
        await trio.sleep(299)
        watch.progressed(trio.current_time())
        watch.follow_engine()
        await trio.sleep_forever()
    assert trio.current_time() == 359
    assert watch.cut is Cut.ENGINE
    assert watch.due() is Due.IDLE


async def test_the_total_deadline_is_shorter_than_any_wait(autojump_clock):
    """Where both fall on one moment it is the total deadline that counts."""
    watch = Watch(replace(LIMITS, total_s=30))
    watch.begin()
    with watch.life:
        await trio.sleep_forever()
    assert (watch.cut, trio.current_time()) == (Cut.TOTAL, 30)


async def test_leaving_cuts_in_the_same_step(autojump_clock):
    """`leave` ends the life at once, and the first reason stands."""
    watch = Watch(LIMITS)
    watch.begin()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def exchange():
            with watch.life:
                await trio.sleep_forever()

        await trio.testing.wait_all_tasks_blocked()
        watch.leave()
        watch.shut_down()
    assert trio.current_time() == 0
    assert watch.cut is Cut.CLIENT_GONE
    assert watch.is_gone


async def test_a_shutdown_is_told_apart_from_leaving(autojump_clock):
    """A life that a shutdown cut says so."""
    watch = Watch(LIMITS)
    watch.shut_down()
    with watch.life:
        await trio.sleep_forever()
    assert watch.cut is Cut.SHUTDOWN
    assert not watch.is_gone


async def test_a_lapse_is_not_moved_by_events(autojump_clock):
    """A lapse fires at the moment it was opened for; the numbers then say that nothing is due."""
    watch = Watch(LIMITS)
    watch.dispatched(has_heartbeats=False)
    watch.progressed(trio.current_time())
    with watch.lapse():
        await trio.sleep(30)
        watch.progressed(trio.current_time())
        await trio.sleep_forever()
    assert trio.current_time() == 60
    assert watch.due() is Due.NOTHING
    with watch.lapse():
        await trio.sleep_forever()
    assert trio.current_time() == 90
    assert watch.due() is Due.IDLE


async def test_the_first_event_moves_the_open_lapse(autojump_clock):
    """A stream that falls silent after its beginning is idle in time, however rare beats are."""
    watch = Watch(replace(LIMITS, heartbeat_s=1000))
    watch.dispatched(has_heartbeats=True)
    with watch.lapse():
        await trio.sleep(5)
        watch.progressed(trio.current_time())
        await trio.sleep_forever()
    assert trio.current_time() == 65
    assert watch.due() is Due.IDLE


async def test_the_finish_reason_moves_the_open_lapse_once(autojump_clock):
    """After a finish reason the open lapse ends with the grace."""
    watch = Watch(LIMITS)
    watch.dispatched(has_heartbeats=True)
    with watch.lapse():
        await trio.sleep(5)
        watch.finished(trio.current_time())
        await trio.sleep_forever()
    assert trio.current_time() == 7
    assert watch.due() is Due.GRACE


async def test_a_write_is_noted(autojump_clock):
    """While a write is under way its stall is what falls due."""
    watch = Watch(LIMITS)
    watch.dispatched(has_heartbeats=True)
    watch.sending()
    with watch.lapse():
        await trio.sleep_forever()
    assert trio.current_time() == 40
    assert watch.due() is Due.STALL
    watch.sent()
    assert watch.due() is Due.NOTHING


async def test_a_finish_before_any_lapse_is_only_noted(autojump_clock):
    """`finished` needs no open lapse."""
    watch = Watch(LIMITS)
    watch.dispatched(has_heartbeats=False)
    watch.finished(trio.current_time())
    assert watch.deadlines.next_due() == 2


async def test_the_end_of_a_write_brings_the_engines_deadline_back(autojump_clock):
    """A lapse opened for a write's stall ends in time for what falls due after the write."""
    watch = Watch(replace(LIMITS, stall_s=400))
    watch.dispatched(has_heartbeats=False)
    watch.progressed(trio.current_time())
    await trio.sleep(15)
    watch.sending()
    with watch.lapse():
        watch.sent()
        await trio.sleep_forever()
    assert trio.current_time() == 60
    assert watch.due() is Due.IDLE


async def test_a_write_that_may_stall_sooner_tightens_the_lapse(autojump_clock):
    """The stall of a write is exact even if nothing else was due for longer."""
    watch = Watch(LIMITS)
    watch.dispatched(has_heartbeats=False)
    with watch.lapse():
        watch.sending()
        await trio.sleep_forever()
    assert trio.current_time() == 40
    assert watch.due() is Due.STALL


async def test_a_due_heartbeat_is_said_once(autojump_clock):
    """Asking for what is due takes note of the beat, so that it is not due again at once."""
    watch = Watch(LIMITS)
    watch.dispatched(has_heartbeats=True)
    await trio.sleep(15)
    assert watch.due() is Due.HEARTBEAT
    assert watch.due() is Due.NOTHING


async def test_a_life_may_be_over_before_anybody_has_met_it(autojump_clock):
    """`is_over`: from the step in which it is cut, or from the moment of its deadline on."""
    watch = Watch(LIMITS)
    began_at = watch.begin()
    assert not watch.is_over(began_at + 29.999)
    assert watch.is_over(began_at + 30)
    watch.leave()
    assert watch.is_over(began_at)


async def test_a_request_that_is_whole_asks_at_once(autojump_clock):
    """Of a request that is waited for no more both bounds run from its beginning."""
    for is_chosen, why, duration in ((False, Cut.NO_MEMBER, 30), (True, Cut.TOTAL, 900)):
        began_at = trio.current_time()
        watch = Watch(LIMITS, is_asked=True)
        with watch.life:
            assert watch.begin() == watch.began_at == began_at
            if is_chosen:
                watch.chosen()
            await trio.sleep_forever()
        assert (watch.cut, trio.current_time() - began_at) == (why, duration)


async def test_a_total_deadline_that_is_first_bounds_a_whole_request(autojump_clock):
    """A wait for a member that may last as long as the total deadline ends by the total."""
    watch = Watch(replace(LIMITS, total_s=30), is_asked=True)
    with watch.life:
        await trio.sleep_forever()
    assert (watch.cut, trio.current_time()) == (Cut.TOTAL, 30)
