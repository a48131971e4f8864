"""The engine's endpoints, called directly on virtual time."""

import json

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.unit.demo.asgi import Call, chat, engine


async def test_health_says_ok():
    """GET /health is 200."""
    call = await Call(engine(), "GET", "/health").run()
    assert (call.status, call.json) == (200, {"status": "ok"})


async def test_models_lists_the_served_name_and_its_context():
    """GET /v1/models holds one entry, with max_model_len."""
    call = await Call(engine(model="m", max_model_len=99), "GET", "/v1/models").run()
    (entry,) = call.json["data"]
    assert (entry["id"], entry["max_model_len"]) == ("m", 99)


async def test_an_unknown_path_is_a_404_in_the_openai_shape():
    """Whatever is not served is refused with an error object."""
    call = await Call(engine(), "GET", "/v1/other").run()
    assert (call.status, call.json["error"]["code"]) == (404, "not_found")


async def test_a_plain_reply_has_text_finish_reason_and_usage(autojump_clock):
    """A unary reply carries its whole text, `stop`, and counts that add up."""
    call = await chat(engine()).run()
    (choice,) = call.json["choices"]
    usage = call.json["usage"]
    assert call.status == 200
    assert choice["finish_reason"] == "stop"
    assert usage["completion_tokens"] == len(choice["message"]["content"].split())
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert int(call.headers[b"content-length"]) == len(call.body)


async def test_two_engines_give_the_same_bytes(autojump_clock):
    """Replicas are identical: equal requests to two engines get equal bytes."""
    first, second = await chat(engine()).run(), await chat(engine()).run()
    assert first.body == second.body


async def test_a_stream_joins_to_the_plain_text(autojump_clock):
    """The deltas of a stream are the unary reply, cut into tokens, and `[DONE]` ends it."""
    plain = (await chat(engine()).run()).json["choices"][0]["message"]["content"]
    *events, last = (await chat(engine(), stream=True).run()).events
    choices = [json.loads(event)["choices"][0] for event in events]
    assert "".join(choice["delta"].get("content", "") for choice in choices) == plain
    assert choices[0]["delta"]["role"] == "assistant"
    assert [choice["finish_reason"] for choice in choices][-2:] == [None, "stop"]
    assert last == "[DONE]"


async def test_a_stream_shows_usage_only_when_asked(autojump_clock):
    """With include_usage the event before `[DONE]` has no choices and the counts."""
    asked = chat(engine(), stream=True, stream_options={"include_usage": True})
    with_usage = json.loads((await asked.run()).events[-2])
    without = json.loads((await chat(engine(), stream=True).run()).events[-2])
    assert with_usage["choices"] == []
    assert with_usage["usage"]["completion_tokens"] > 0
    assert "usage" not in without


async def test_a_streams_tokens_are_sent_when_they_are_due(autojump_clock):
    """With 100 tokens a second, five tokens later is fifty milliseconds later."""
    call = chat(engine(), stream=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(call.run)
        await trio.sleep(0.0545)
        await wait_all_tasks_blocked()
        assert len(call.sent) == 1 + 1 + 5
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_a_limit_cuts_the_reply(autojump_clock, name):
    """A reply longer than the limit ends there with finish reason `length`."""
    reply = (await chat(engine(), **{name: 3}).run()).json
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"]["completion_tokens"] == 3


async def test_ignore_eos_fills_the_limit(autojump_clock):
    """A benchmark gets exactly the tokens it asked for."""
    reply = (await chat(engine(), max_tokens=300, ignore_eos=True).run()).json
    assert len(reply["choices"][0]["message"]["content"].split()) == 300
    assert reply["choices"][0]["finish_reason"] == "length"


async def test_the_end_of_the_context_cuts_the_reply(autojump_clock):
    """What prompt and reply take together never exceeds max_model_len."""
    reply = (await chat(engine(max_model_len=10)).run()).json
    assert reply["usage"]["total_tokens"] == 10
    assert reply["choices"][0]["finish_reason"] == "length"


async def test_content_parts_count_as_their_text(autojump_clock):
    """A list of text parts is the same prompt as their joined text."""
    parts = [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]
    joined, whole = await chat(engine(), parts).run(), await chat(engine(), "hello").run()
    assert joined.json["choices"] == whole.json["choices"]


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"model": "other"}, 404, "model_not_found"),
        ({"messages": []}, 400, "invalid_request"),
        ({"messages": "hello"}, 400, "invalid_request"),
        ({"max_tokens": 0}, 400, "invalid_request"),
        ({"stream": "yes"}, 400, "invalid_request"),
        ({"messages": [{"role": "user", "content": "w " * 9000}]}, 400, "context_length_exceeded"),
    ],
)
async def test_a_bad_request_is_refused_and_takes_no_slot(fields, status, code):
    """Wrong bodies get a 4xx with a code before any slot is taken."""
    on = engine()
    call = await chat(on, **fields).run()
    assert (call.status, call.json["error"]["code"]) == (status, code)
    assert on.slots.finished == 0


async def test_a_body_that_is_not_json_is_refused():
    """Bytes that do not parse are a 400."""
    call = await Call(engine(), "POST", "/v1/chat/completions", b"{").run()
    assert call.status == 400


async def test_a_body_may_come_in_parts(autojump_clock):
    """The body is read to its end, however it is cut."""
    whole = json.dumps({"model": "demo-model", "messages": [{"role": "user", "content": "hello"}]})
    parts = [byte.encode() for byte in whole]
    call = await Call(engine(), "POST", "/v1/chat/completions", parts=parts).run()
    assert call.json["choices"] == (await chat(engine()).run()).json["choices"]


async def test_a_body_above_the_bound_is_refused():
    """33 MB of body is a 413, answered before the rest is read."""
    parts = [b" " * 1_048_576] * 40
    call = await Call(engine(), "POST", "/v1/chat/completions", parts=parts).run()
    assert call.status == 413
    assert call.incoming


async def test_a_client_that_leaves_before_its_body_gets_nothing():
    """An unfinished body is not a request."""
    call = await Call(engine(), "POST", "/v1/chat/completions", parts=[]).run()
    assert call.sent == []


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_client_that_leaves_frees_its_slot_in_that_step(mock_clock, is_stream):
    """The running request ends and the waiting one gets the slot while no time passes."""
    on = engine()
    leaver, waiter = chat(on, stream=is_stream), chat(on, stream=is_stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leaver.run)
        await wait_all_tasks_blocked()
        nursery.start_soon(waiter.run)
        await wait_all_tasks_blocked()
        assert (on.slots.running, on.slots.waiting) == (1, 1)
        leaver.client.leave()
        await wait_all_tasks_blocked()
        assert (on.slots.running, on.slots.waiting, on.slots.finished) == (1, 0, 0)
        waiter.client.leave()
        await wait_all_tasks_blocked()
        assert (on.slots.running, on.slots.waiting, on.slots.finished) == (0, 0, 0)
    assert trio.current_time() == 0


async def test_a_client_that_is_already_gone_takes_no_slot():
    """A request whose client left before the app was called does nothing."""
    on = engine()
    call = chat(on)
    call.client.leave()
    await call.run()
    assert on.slots.finished == 0
    assert call.sent == []


async def test_a_stream_starts_with_its_head_even_while_it_waits_for_a_slot(mock_clock):
    """A queued stream has its status line at once, as real engines do."""
    on = engine()
    first, queued = chat(on, stream=True), chat(on, stream=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(first.run)
        await wait_all_tasks_blocked()
        nursery.start_soon(queued.run)
        await wait_all_tasks_blocked()
        assert [message["type"] for message in queued.sent] == ["http.response.start"]
        nursery.cancel_scope.cancel()


async def test_whatever_is_not_http_is_left_unanswered():
    """Lifespan and WebSocket scopes end at once."""
    call = Call(engine(), "GET", "/health")
    call.scope["type"] = "lifespan"
    assert (await call.run()).sent == []
