"""The terminal paths of T009: one release, one record, one attempt at most, peer untouched."""

import json

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from anvil_trio.config.model import ServerSettings
from tests.support.chunks import (
    DONE,
    ROLE,
    STOP,
    event,
    good_reply,
    good_stream,
    seen_text,
    stream,
    text,
)
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import END, SSE, Fault, Head, Reply, Step, reply
from tests.support.small_house import chat_body, config_of, open_small_house

SERVER = ServerSettings(
    startup_timeout_s=50,
    idle_timeout_s=20,
    total_timeout_s=200,
    heartbeat_interval_s=15,
    client_stall_timeout_s=30,
)


def house(**more):
    """A house with short waits."""
    return open_small_house(config_of(server=SERVER.model_copy(update=more)))


def last_error(received: bytes) -> dict[str, object]:
    """The error object of a stream's last frame."""
    frame = received.removesuffix(b"\n\n").rpartition(b"data: ")[2]
    error: dict[str, object] = json.loads(frame)["error"]
    return error


async def expect_one(small, workload: str, reason: str) -> None:
    """One record with one attempt on a, b untouched, everything given back."""
    await small.assert_at_rest()
    [record] = small.records
    assert record.workload_outcome == workload
    assert [attempt.reason for attempt in record.attempts] == [reason]
    assert record.replica_member_id == "a"
    assert small.engine("b").attempts == 0


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


async def test_leaving_after_done_is_a_success(autojump_clock):
    """A caller that closes on [DONE] was served, even if the engine's stream is not over."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), STOP, DONE, is_whole=False)]
        caller = FakeCaller(chat_body(stream=True))
        caller.on_chunk = lambda data: caller.leave() if DONE in data else None
        await small.serve(caller)
        await expect_one(small, "success", "served")


@pytest.mark.parametrize("how", ["shutdown", "total"])
async def test_nothing_follows_done(how, autojump_clock):
    """A cut after [DONE] was handed over adds no error frame: a stream has one end."""
    async with house(total_timeout_s=1.0 if how == "total" else 200) as small:
        small.engine("a").chat = [stream(ROLE, text("x"), STOP, DONE, is_whole=False)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(0.5)
            if how == "shutdown":
                small.house.exchanges.shut_down()
        assert caller.received.endswith(DONE)
        assert caller.has_ended
        await expect_one(small, "success", "served")


async def test_nothing_follows_done_for_a_stuck_caller(autojump_clock):
    """A caller that is stuck on the last bytes is given up without an error frame after [DONE]."""
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, text("x"), 1.0, STOP + DONE, is_whole=False)]
        caller = FakeCaller(chat_body(stream=True))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(small.serve, caller)
            await trio.sleep(0.5)
            caller.stop_reading()
        assert caller.received.endswith(DONE)
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


async def test_an_error_as_the_first_event_is_still_an_http_error(autojump_clock):
    """Decisions 5, 37: nothing was sent yet, so the caller gets the status and JSON."""
    first = b'data: {"error":{"message":"bad","code":400}}\n\n'
    async with house() as small:
        small.engine("a").chat = [stream(first)]
        caller = await small.chat(stream=True)
        assert caller.status == 400
        assert json.loads(caller.received)["error"]["code"] == "upstream_refused"
        await expect_one(small, "error", "backend_error")


async def test_an_error_status_keeps_its_family(autojump_clock):
    """Decision 9: an engine's 503 is a 503 with its bounded Retry-After, in our own words."""
    script = reply(b"{}", status=503, headers=((b"retry-after", b"900"),))
    async with house() as small:
        small.engine("a").chat = [script]
        caller = await small.chat(stream=True)
        assert (caller.status, caller.headers[b"retry-after"]) == (503, b"60")
        await expect_one(small, "error", "backend_error")


async def test_a_huge_error_body_is_not_kept(autojump_clock):
    """Of an error body at most 64 KiB are read; the status decides."""
    steps: tuple[Step, ...] = (Head(400), *([b"x" * 32_768] * 8), END)
    async with house() as small:
        small.engine("a").chat = [Reply(steps)]
        caller = await small.chat()
        assert caller.status == 400
        await expect_one(small, "error", "backend_error")


async def test_a_plain_json_answer_to_a_streaming_request_becomes_a_stream(autojump_clock):
    """An engine that ignores `stream` is answered for."""
    async with house() as small:
        small.engine("a").chat = [good_reply("whole")]
        caller = await small.chat(stream=True)
        assert seen_text(caller.received) == "whole"
        assert caller.received.endswith(DONE)
        await expect_one(small, "success", "served")


@pytest.mark.parametrize("is_stream", [True, False])
async def test_an_unusable_body_is_a_502(is_stream, autojump_clock):
    """A 200 that is no reply is the engine's failure."""
    async with house() as small:
        small.engine("a").chat = [reply(b"<html>")]
        caller = await small.chat(stream=is_stream)
        assert caller.status == 502
        await expect_one(small, "error", "backend_error")


async def test_a_reply_past_the_cap_is_a_failure(autojump_clock):
    """A unary reply is bounded by max_event_bytes."""
    async with house(max_event_bytes=4096) as small:
        small.engine("a").chat = [Reply((Head(200), *([b"x" * 1024] * 5), END))]
        caller = await small.chat()
        assert caller.status == 502
        await expect_one(small, "error", "backend_error")


async def test_a_bug_ends_one_exchange_with_a_500(autojump_clock, monkeypatch):
    """An assertion that fails in an exchange is a 500 and a record; the router goes on."""
    async with house() as small:
        small.engine("a").chat_default = good_reply()
        small.engine("a").chat = [Reply((b"no head",))]
        caller = await small.chat()
        assert caller.status == 500
        assert json.loads(caller.received)["error"]["code"] == "internal_error"
        await expect_one(small, "error", "completion_error")
        assert (await small.chat()).status == 502  # b answers `{}`, which is no reply


async def test_a_clamped_output_limit_is_said_aloud(autojump_clock):
    """The caller is told, and the record says served_output_clamped."""
    from tests.support.small_house import replica_tier

    config = config_of(replica_tier(max_output_tokens=50), server=SERVER)
    async with open_small_house(config) as small:
        small.engine("a").chat = [good_reply()]
        caller = await small.chat(max_tokens=500)
        assert json.loads(small.engine("a").chats[0].body)["max_tokens"] == 50
        assert caller.headers[b"x-anvil-warning"] == b"max_tokens_clamped"
        assert caller.headers[b"x-anvil-max-tokens-requested"] == b"500"
        assert caller.headers[b"x-anvil-max-tokens-applied"] == b"50"
        await expect_one(small, "success", "served_output_clamped")


async def test_only_listed_headers_travel_upstream(autojump_clock):
    """Decision 11: the engine sees the tier's key and our request id, nothing of the caller."""
    async with house() as small:
        small.engine("a").chat = [good_reply()]
        await small.chat()
        names = set(small.engine("a").chats[0].request.headers)
        assert names == {
            "accept",
            "accept-encoding",
            "authorization",
            "content-type",
            "x-request-id",
        } | (names & {"host", "content-length"})
        assert small.engine("a").chats[0].request.headers["authorization"] == "Bearer upstream-key"


async def test_the_tool_call_of_a_cut_stream_never_ends_as_tool_use(autojump_clock):
    """Decision 16: a cut argument has no finish reason after it."""
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": '{"a'},
    }
    async with house() as small:
        small.engine("a").chat = [stream(ROLE, event({"tool_calls": [call]}))]
        caller = await small.chat(
            stream=True, tools=[{"type": "function", "function": {"name": "f"}}]
        )
        assert b'"finish_reason": "tool_calls"' not in caller.received
        assert last_error(caller.received)["code"] == "upstream_error"
        await expect_one(small, "error", "backend_error")
