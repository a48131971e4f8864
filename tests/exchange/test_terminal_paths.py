"""The terminal paths of T009: one release, one record, one attempt at most, peer untouched."""

import json

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from tests.exchange.common import SERVER, expect_one, house, last_error
from tests.support.chunks import (
    DONE,
    ROLE,
    STOP,
    good_reply,
    good_stream,
    seen_text,
    stream,
    text,
    unary_body,
)
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import END, REFUSED, SSE, STALLED_CONNECT, Fault, Head, Reply
from tests.support.small_house import chat_body, config_of, open_small_house


async def test_normal_end(autojump_clock):
    """A whole stream ends with [DONE], under the caller's own model name."""
    async with house() as small:
        small.engine("a").chat = [good_stream("Hel", "lo")]
        caller = await small.chat(stream=True, model=" LLM.Primary ")
        assert seen_text(caller.received) == "Hello"
        assert caller.received.endswith(DONE)
        assert b"served-model" not in caller.received
        assert b'"model":" LLM.Primary "' in caller.received.replace(b'": "', b'":"')
        assert caller.headers[b"content-type"].startswith(b"text/event-stream")
        assert caller.headers[b"x-anvil-request-id"].startswith(b"req_")
        await expect_one(small, "success", "served")


async def test_normal_unary_end(autojump_clock):
    """A unary reply is whole JSON with its length and the engine's usage in the record."""
    async with house() as small:
        small.engine("a").chat = [good_reply("Hi")]
        caller = await small.chat()
        body = json.loads(caller.received)
        assert body["choices"][0]["message"]["content"] == "Hi"
        assert body["model"] == "llm.primary"
        assert caller.headers[b"content-length"] == b"%d" % len(caller.received)
        record = small.records[0]
        assert (record.total_prompt_tokens, record.total_completion_tokens) == (5, 1)
        assert record.prompt_tokens_source == "upstream"
        await expect_one(small, "success", "served")


async def test_malformed_sse(autojump_clock):
    """A malformed event ends the stream with one error frame and no success marker."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), b"data: {oops\n\n", text("y"), DONE)]
        caller = await small.chat(stream=True)
        assert seen_text(caller.received) == "x"
        assert last_error(caller.received)["code"] == "upstream_error"
        assert b"[DONE]" not in caller.received
        await expect_one(small, "error", "backend_error")


async def test_upstream_timeout(autojump_clock):
    """An engine that falls silent in mid-stream is given idle_timeout_s and then named so."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), Fault.STALL)]
        caller = await small.chat(stream=True)
        assert trio.current_time() == 20
        assert last_error(caller.received)["code"] == "idle_timeout"
        await expect_one(small, "timeout", "backend_error")


async def test_outer_cancel(autojump_clock):
    """A cancel from outside gives everything back and leaves one record."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, Fault.STALL)]
        with trio.move_on_after(5):
            await small.chat(stream=True)
        await expect_one(small, "cancelled", "completion_error")


PHASES = {
    "before the engine's head": Reply((Fault.STALL,)),
    "after the engine's head": Reply((Head(200, SSE), Fault.STALL)),
    "in mid-stream": stream(ROLE, text("x"), Fault.STALL),
    "in a unary body": Reply((Head(200), b"{", Fault.STALL)),
}


@pytest.mark.parametrize("phase", PHASES)
async def test_client_gone(phase, autojump_clock):
    """A caller that leaves closes the engine's stream in the same instant, in every phase."""
    async with house() as small:
        small.engine("a").chat = [PHASES[phase]]
        caller = FakeCaller(chat_body(stream="unary" not in phase))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(3)
            caller.leave()
            await wait_all_tasks_blocked()
            assert small.engine("a").closed == 1
            assert trio.current_time() == 3
        assert not caller.has_ended
        await expect_one(small, "disconnected", "client_disconnected")


@pytest.mark.parametrize("phase", PHASES)
async def test_a_leaving_caller_is_one_line_and_no_failure(phase, autojump_clock):
    """Decision 17: one bounded event, `client_disconnected`; no traceback, no engine's failure."""
    async with house() as small:
        small.engine("a").chat = [PHASES[phase]]
        caller = FakeCaller(chat_body(stream="unary" not in phase))
        with capture_logs() as lines:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(small.serve, caller)
                await trio.sleep(3)
                caller.leave()
        [record] = small.records
        assert lines == [
            {
                "event": "client_disconnected",
                "log_level": "info",
                "request_id": record.gateway_request_id,
            }
        ]


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (REFUSED, "backend_error"),
        (STALLED_CONNECT, "connect_timeout"),
        (Reply((Fault.STALL,)), "startup_timeout"),
        (stream(ROLE, text("x"), Fault.STALL), "idle_timeout"),
        (stream(ROLE, text("x"), Fault.RESET), "backend_error"),
    ],
)
async def test_an_engines_failure_is_one_line_of_its_own(script, outcome, autojump_clock):
    """An event that a leaving caller never causes; it says how the attempt failed and no more."""
    async with house() as small:
        small.engine("a").chat = [script]
        with capture_logs() as lines:
            await small.chat(stream=True)
        [record] = small.records
        assert lines == [
            {
                "event": "upstream_failed",
                "log_level": "info",
                "request_id": record.gateway_request_id,
                "outcome": outcome,
            }
        ]


async def test_client_gone_before_its_body_was_read(autojump_clock):
    """A caller that leaves while it sends its body costs nothing but its record."""
    async with house() as small:
        caller = FakeCaller(chat_body(), body_delay_s=60)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1)
            caller.leave()
        assert trio.current_time() == 1
        assert small.records[0].workload_outcome == "disconnected"
        assert small.records[0].attempts == ()
        await small.assert_at_rest()


async def test_client_gone_while_it_waits_in_line(autojump_clock):
    """R009: a caller that leaves the waiting line reserves nothing and costs nobody a turn."""
    async with open_small_house(config_of(server=SERVER)) as small:
        for name in ("a", "b"):
            small.engine(name).chat_default = good_reply()
        small.limit_to(1)
        small.engine("a").chat = [stream(ROLE, 10.0, STOP, DONE)]
        waiting = FakeCaller(chat_body())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, FakeCaller(chat_body(stream=True)))
            await trio.sleep(1)
            nursery.start_soon(small.serve, waiting)
            await trio.sleep(1)
            waiting.leave()
        assert (await small.chat()).status == 200
        assert [r.replica_member_id for r in small.records] == [None, "a", "b"]
        await small.assert_at_rest()


async def test_gone_before_it_began(autojump_clock):
    """A caller that had left before its exchange began is never served."""
    async with house() as small:
        caller = FakeCaller(chat_body())
        caller.leave()
        await small.serve(caller)
        assert small.records[0].workload_outcome == "disconnected"
        assert small.engine("a").attempts == 0


async def test_leaving_before_the_reply_was_handed_over(autojump_clock):
    """A caller that leaves in the instant in which its unary reply is complete was not served."""
    async with house() as small:
        small.engine("a").chat = [Reply((Head(200), unary_body()))]
        caller = FakeCaller(chat_body())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1)
            small.engine("a").chats[0].feed(END)  # the exchange will run once more, uncancelled
            caller.leave()
        assert not caller.has_started
        await expect_one(small, "disconnected", "client_disconnected")


async def test_leaving_after_done_is_a_success(autojump_clock):
    """A caller that closes on [DONE] was served, and lease and permit were back before it knew."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), STOP, DONE, is_whole=False)]
        caller = FakeCaller(chat_body(stream=True))
        seen: list[bool] = []

        def leave(data: bytes) -> None:
            if DONE in data:
                seen.append(small.engine("a").closed == 1)
                caller.leave()

        caller.on_chunk = leave
        await small.serve(caller)
        assert seen == [True]
        await expect_one(small, "success", "served")


async def test_done_is_held_for_no_more_than_an_instant(autojump_clock):
    """An engine that does not end its reply after [DONE] delays the caller's by 50 ms at most."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), STOP, 1.0, DONE, is_whole=False)]
        caller = await small.chat(stream=True)
        assert caller.chunk_times == [0, 0, 0, pytest.approx(1.05)]
        assert caller.received.endswith(DONE)
        await expect_one(small, "success", "served")


async def test_a_caller_stuck_on_its_last_bytes_holds_nothing(autojump_clock):
    """The end of a stream waits for its caller only after lease and stream were given back."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), 1.0, STOP + DONE, is_whole=False)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(0.5)
            caller.stop_reading()
            await trio.sleep(1)
            assert (await small.snapshot()).active == 0
        assert trio.current_time() == pytest.approx(31.05)
        assert caller.received.count(DONE) == 1
        await expect_one(small, "disconnected", "client_disconnected")


async def test_explicit_close_by_the_engine_after_finish_is_a_success(autojump_clock):
    """Decision 8: finish reason then clean end without [DONE] is a success, and we say [DONE]."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), STOP)]
        caller = await small.chat(stream=True)
        assert caller.received.endswith(DONE)
        await expect_one(small, "success", "served")


async def test_a_reset_after_finish_is_a_success(autojump_clock):
    """Decision 8: what breaks after the finish reason loses nothing."""
    async with house() as small:
        small.engine("a").chat = [Reply((Head(200, SSE), ROLE, text("x"), STOP, Fault.RESET))]
        caller = await small.chat(stream=True)
        assert caller.received.endswith(DONE)
        await expect_one(small, "success", "served")


async def test_done_without_a_finish_reason_is_a_success_that_says_so(autojump_clock):
    """Decision 8: [DONE] alone ends as stop, recorded as finish_reason_missing."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), DONE)]
        caller = await small.chat(stream=True)
        assert caller.received.endswith(DONE)
        assert small.records[0].finish_reason_missing
        await expect_one(small, "success", "served")


async def test_an_engine_that_stays_silent_after_its_finish_reason(autojump_clock):
    """Decision 8: after a finish reason two seconds are waited for usage and [DONE]."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), STOP, is_whole=False)]
        caller = await small.chat(stream=True)
        assert trio.current_time() == 2
        assert caller.received.endswith(DONE)
        await expect_one(small, "success", "served")


async def test_late_usage_within_the_grace_is_kept(autojump_clock):
    """Usage that comes after the finish reason reaches the record, and a caller that asked."""
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    late = b"data: " + json.dumps({"id": "c", "choices": [], "usage": usage}).encode() + b"\n\n"
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), STOP, 1.5, late, DONE)]
        caller = await small.chat(stream=True, stream_options={"include_usage": True})
        assert b'"total_tokens"' in caller.received
        assert small.records[0].total_completion_tokens == 2
        await expect_one(small, "success", "served")


async def test_close_before_the_first_byte(autojump_clock):
    """R009: closed before its first byte: selected member, one attempt, not served."""
    async with house() as small:
        small.engine("a").chat = [Reply((5.0, Head(200, SSE), ROLE))]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1)
            caller.leave()
        assert not caller.has_started
        assert small.records[0].served_tier is None
        await expect_one(small, "disconnected", "client_disconnected")


async def test_a_shutdown_tells_the_caller(autojump_clock):
    """Decision 25: at the end of the bound a running stream gets its terminal error frame."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), Fault.STALL)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(1)
            small.house.exchanges.shut_down()
        assert last_error(caller.received)["code"] == "shutting_down"
        assert b"[DONE]" not in caller.received
        await expect_one(small, "cancelled", "completion_error")
