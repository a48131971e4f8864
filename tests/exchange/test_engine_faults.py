"""What an engine may answer, and what its caller is told of it (decisions 5, 9, 37)."""

import json

import pytest

from tests.exchange.common import SERVER, expect_one, house, last_error
from tests.support.chunks import (
    DONE,
    ROLE,
    event,
    good_reply,
    seen_text,
    stream,
)
from tests.support.fake_upstream import END, Head, Reply, Step, reply
from tests.support.small_house import config_of, open_small_house, replica_tier


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


async def test_an_engine_that_owns_its_context_judges_the_prompt_itself(autojump_clock):
    """With `context_admission = "upstream"` a long prompt is sent; the engine refuses it."""
    refusal = (
        b'{"error":{"code":400,"message":"request (400019 tokens) exceeds the available context'
        b' size (65536 tokens)","type":"exceed_context_size_error"}}'
    )
    config = config_of(replica_tier(context_admission="upstream"), server=SERVER)
    long_prompt = [{"role": "user", "content": "word " * 200_000}]
    async with open_small_house(config) as small:
        small.engine("a").chat = [reply(refusal, status=400)]
        caller = await small.chat(messages=long_prompt)
        assert caller.status == 400
        assert json.loads(caller.received)["error"]["code"] == "context_length_exceeded"
        await expect_one(small, "error", "backend_error")
