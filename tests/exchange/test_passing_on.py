"""What a running stream costs its caller and us: no wait where none is needed, nothing kept."""

import sys

import pytest
import trio

from tests.exchange.common import expect_one, house
from tests.support.chunks import DONE, ROLE, STOP, good_stream, seen_text, stream, text
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import Fault
from tests.support.small_house import chat_body

BEAT = b": keepalive\n"


@pytest.mark.parametrize("is_direct", [True, False])
async def test_every_server_passes_on_the_same(is_direct: bool, autojump_clock):
    """Whether it takes parts without waiting or by messages: the same bytes in the same parts."""
    async with house() as small:
        small.engine("a").chat = [good_stream("one ", "two ", "three", gap_s=16.0)]
        caller = FakeCaller(chat_body(stream=True), is_direct=is_direct)
        await small.serve(caller)
        assert seen_text(caller.received) == "one two three"
        assert caller.chunks.count(BEAT) == 3
        assert caller.bytes_sent == len(caller.received)
        await expect_one(small, "success", "served")


async def test_a_heartbeat_is_due_an_interval_after_what_was_passed_on(autojump_clock):
    """Each event that was written puts it off, also where nobody had to be waited for."""
    async with house() as small:
        silence = (ROLE, 1.0, text("a"), 10.0, text("b"), 19.0, text("c"), STOP, DONE)
        small.engine("a").chat = [stream(*silence)]
        caller = await small.chat(stream=True)
        parts = zip(caller.chunk_times, caller.chunks, strict=True)
        assert [at for at, what in parts if what == BEAT] == [26]


async def test_who_must_be_waited_for_is_waited_for(autojump_clock):
    """A part that the kernel did not take whole: nothing more is taken from the engine."""
    async with house(client_stall_timeout_s=60) as small:
        small.engine("a").chat = [good_stream(*["x"] * 9, gap_s=1.0)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(3.5)
            caller.stop_reading()
            await trio.sleep(40)
            assert caller.taken_while_paused == 1
            caller.read_on()
        assert seen_text(caller.received) == "x" * 9
        assert BEAT not in caller.received


async def test_of_a_request_nothing_is_kept_once_its_stream_is_relayed(autojump_clock):
    """However long the prompt was: its bytes belong to the caller alone again."""
    async with house() as small:
        small.engine("a").chat = [good_stream("one ", "two", gap_s=5.0)]
        body = chat_body(stream=True)
        caller = FakeCaller(body)
        before = sys.getrefcount(body)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(6)
            assert caller.has_started
            assert not caller.has_ended
            assert sys.getrefcount(body) == before
        assert seen_text(caller.received) == "one two"


@pytest.mark.parametrize("before", [(), (ROLE, text("a"), 5.0)])
async def test_a_fault_is_told_at_once(before: tuple[bytes | float, ...], autojump_clock):
    """What came whole before it is handed on, and nothing more is waited for."""
    async with house() as small:
        bad = text("b") + b"data: {nonsense\n\n"
        small.engine("a").chat = [stream(*before, bad, Fault.STALL)]
        caller = await small.chat(stream=True)
        assert seen_text(caller.received).endswith("b")
        assert b'"error"' in caller.chunks[-1]
        assert caller.chunk_times[-1] == (5 if before else 0)
