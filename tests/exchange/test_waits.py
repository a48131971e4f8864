"""Deadlines and heartbeats of a running exchange, on virtual time (decisions 5-8)."""

import trio
import trio.testing

from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.tiers.lease import Lease
from tests.exchange.common import expect_one, house, last_error
from tests.support.chunks import DONE, ROLE, STOP, good_stream, seen_text, stream, text
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import SSE, Fault, Head, Reply
from tests.support.small_house import TIER, chat_body

BEAT = b": keepalive\n"


async def test_startup_bounds_the_wait_for_the_first_event(autojump_clock):
    """Comments and the engine's head are no progress: startup_timeout_s runs from dispatch."""
    comments = [step for _ in range(30) for step in (2.0, b": working\n\n")]
    async with house(heartbeat_interval_s=500) as small:
        small.engine("a").chat = [Reply((Head(200, SSE), *comments))]
        caller = await small.chat(stream=True)
        assert trio.current_time() == 50
        assert caller.status == 504
        await expect_one(small, "timeout", "backend_error")


async def test_comments_do_not_move_the_idle_deadline(autojump_clock):
    """An engine that only sends comments after its first event is idle."""
    comments = [step for _ in range(30) for step in (2.0, b": working\n\n")]
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, *comments)]
        caller = await small.chat(stream=True)
        assert trio.current_time() == 20
        assert last_error(caller.received)["code"] == "idle_timeout"


async def test_rare_heartbeats_make_no_idle_deadline_late(autojump_clock):
    """An engine that falls silent after its first event is given up after idle_timeout_s alone."""
    async with house(heartbeat_interval_s=500) as small:
        small.engine("a").chat = [stream(3.0, ROLE, Fault.STALL)]
        caller = await small.chat(stream=True)
        assert trio.current_time() == 23
        assert last_error(caller.received)["code"] == "idle_timeout"


async def test_the_total_deadline_ends_a_lively_stream(autojump_clock):
    """The total deadline is absolute: progress never moves it."""
    async with house() as small:
        small.engine("a").chat = [good_stream(*["x"] * 100, gap_s=3.0)]
        caller = await small.chat(stream=True)
        assert trio.current_time() == 200
        assert last_error(caller.received)["code"] == "request_timeout"
        await expect_one(small, "timeout", "backend_error")


async def test_heartbeats_fill_the_prefill_silence(autojump_clock):
    """The first due beat sends the head; beats come every interval until the first event."""
    async with house() as small:
        small.engine("a").chat = [Reply((Head(200, SSE), 40.0, ROLE, text("x"), STOP, DONE))]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(14.9)
            assert not caller.has_started
            await trio.sleep(0.2)
            assert caller.status == 200
            assert caller.chunks == [BEAT]
        assert caller.chunks[:2] == [BEAT, BEAT]
        assert caller.chunk_times[:2] == [15, 30]
        assert caller.received.startswith(BEAT + BEAT + b"data: ")
        assert b"\n\n:" not in caller.received.replace(BEAT, b"")
        assert seen_text(caller.received) == "x"
        await expect_one(small, "success", "served")


async def test_heartbeats_come_before_the_engines_head_too(autojump_clock):
    """An engine that withholds its head until its first token does not silence us."""
    async with house() as small:
        small.engine("a").chat = [Reply((20.0, Head(200, SSE), ROLE, text("x"), STOP, DONE))]
        caller = await small.chat(stream=True)
        assert caller.chunks[0] == BEAT
        assert seen_text(caller.received) == "x"


async def test_an_error_after_a_heartbeat_is_a_frame(autojump_clock):
    """Once a beat has sent the head, an engine's error status can only be a terminal frame."""
    async with house() as small:
        small.engine("a").chat = [Reply((20.0, Head(500)))]
        small.engine("a").chat[0] = Reply((20.0, Head(500), Fault.RESET))
        caller = await small.chat(stream=True)
        assert caller.status == 200
        assert caller.received.startswith(BEAT)
        assert last_error(caller.received)["code"] == "upstream_error"
        await expect_one(small, "error", "backend_error")


async def test_no_heartbeat_while_queued(autojump_clock):
    """Decision 5: nothing is sent to a caller that still waits for a place."""
    async with house(admission_timeout_s=100) as small:
        small.limit_to(1)
        small.engine("a").chat = [good_stream(*["x"] * 10, gap_s=5.0)]
        small.engine("b").chat = [good_stream("y")]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, FakeCaller(chat_body(stream=True)))
            await trio.sleep(1)
            nursery.start_soon(small.serve, caller)
            await trio.sleep(45)
            assert not caller.has_started
        assert seen_text(caller.received) == "y"
        assert BEAT not in caller.received


async def test_a_unary_reply_has_no_heartbeat(autojump_clock):
    """A unary caller hears nothing until the whole reply is there."""
    from tests.support.chunks import unary_body

    async with house() as small:
        small.engine("a").chat = [Reply((40.0, Head(200), unary_body()))]
        small.engine("a").chat[0] = Reply((40.0, Head(200), unary_body(), Fault.STALL))
        caller = FakeCaller(chat_body())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(39)
            assert not caller.has_started
        assert caller.status == 504  # its end never came: idle
        assert trio.current_time() == 60


async def test_a_slow_caller_is_not_the_engines_fault(autojump_clock):
    """Idle stands still while a write waits: a reader that pauses for longer loses nothing."""
    async with house(client_stall_timeout_s=60) as small:
        small.engine("a").chat = [good_stream("one ", "two ", "three", gap_s=1.0)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1.5)
            caller.stop_reading()
            await trio.sleep(55)
            caller.read_on()
        assert seen_text(caller.received) == "one two three"
        assert BEAT not in caller.received
        await expect_one(small, "success", "served")


async def test_back_pressure_reaches_the_engine(autojump_clock):
    """While a caller does not read, nothing more is taken from the engine."""
    async with house(client_stall_timeout_s=60) as small:
        small.engine("a").chat = [good_stream(*["x"] * 50, gap_s=0.1)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1)
            caller.stop_reading()
            await trio.sleep(1)
            taken = len(caller.chunks)
            await trio.sleep(40)
            assert len(caller.chunks) == taken
            caller.read_on()
        assert caller.received.endswith(DONE)


async def test_a_stuck_caller_gives_its_lease_back(autojump_clock):
    """A caller that never reads on is given client_stall_timeout_s; then lease and stream end."""
    async with house() as small:
        small.engine("a").chat = [good_stream(*["x"] * 50, gap_s=1.0)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1.5)
            caller.stop_reading()
            await trio.sleep(0.5 + 30 + 0.1)
            assert small.engine("a").closed == 1
            assert (await small.snapshot()).active == 0
        await expect_one(small, "disconnected", "client_disconnected")


async def test_the_total_deadline_bounds_a_stuck_caller(autojump_clock):
    """Even a write that waits ends with the total deadline; the frame gets one second."""
    async with house(client_stall_timeout_s=500) as small:
        small.engine("a").chat = [good_stream(*["x"] * 50, gap_s=1.0)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1.5)
            caller.stop_reading()
        assert trio.current_time() == 201
        assert small.engine("a").closed == 1
        await small.assert_at_rest()


async def test_a_unary_caller_that_does_not_read_holds_nothing(autojump_clock):
    """The reply waits for its caller only after lease and stream were given back."""
    from tests.support.chunks import good_reply

    async with house() as small:
        small.engine("a").chat = [good_reply()]
        caller = FakeCaller(chat_body())
        caller.stop_reading()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1)
            assert (await small.snapshot()).active == 0
        assert trio.current_time() == 30
        assert small.records[0].workload_outcome == "disconnected"
        await small.assert_at_rest()


async def test_a_member_that_comes_with_the_expiry_is_given_back(autojump_clock):
    """A grant in the very step in which the wait expires: no attempt, one 503, nothing held."""
    async with house(admission_timeout_s=10) as small:
        small.limit_to(1)
        first = small.house.tiers[TIER]
        got = await first.acquire(LEGACY_CLIENT)
        assert isinstance(got, Lease)
        with got:
            async with trio.open_nursery() as nursery:
                caller = FakeCaller(chat_body())
                nursery.start_soon(small.serve, caller)
                await trio.testing.wait_all_tasks_blocked()
                got.release()
                await trio.lowlevel.checkpoint()  # the tier grants; who waits has not run yet
                autojump_clock.jump(10)
        assert caller.status == 503
        assert sum(engine.attempts for engine in small.engines.values()) == 0
        await small.assert_at_rest()
