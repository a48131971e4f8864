"""How a Responses reply ends, well or not, and what is told of it: status, counts, echo, ids."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    TextDelta,
    UsageReported,
)
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.errors import Code, UpstreamFailed, problem
from tests.unit.dialects.chats import captured, delta, event, tier
from tests.unit.dialects.responses import (
    NOW,
    checked,
    dialect,
    encoded,
    encoder,
    new_stream,
    parsed,
    replied,
)

END = Finished(FinishReason.STOP)
CUT = Finished(FinishReason.LENGTH)


def kinds(events: list[dict[str, Any]]) -> list[str]:
    """The types of events without their common beginning."""
    return [one["type"].removeprefix("response.") for one in events]


@pytest.mark.parametrize(
    ("reason", "word"),
    [(FinishReason.LENGTH, "max_output_tokens"), (FinishReason.CONTENT_FILTER, "content_filter")],
)
def test_a_cut_reply_is_incomplete(reason: FinishReason, word: str):
    """The response and its last item say so, also where nothing but reasoning has come."""
    out = encoded(TextDelta("a"), ReasoningDelta("b"), Finished(reason))
    assert out.response["status"] == "incomplete"
    assert out.response["incomplete_details"] == {"reason": word}
    assert out.response["completed_at"] is None
    assert [item["status"] for item in out.output] == ["completed", "incomplete"]


def test_cut_arguments_are_never_called_done():
    """A caller that acts on finished calls never sees half of one; a whole one is whole."""
    out = encoded(
        CallBegan(0, "c0", "f"),
        ArgumentsDelta(0, "{}"),
        CallBegan(1, "c1", "g"),
        ArgumentsDelta(1, '{"a'),
        CallBegan(2, "c2", "h"),
        CUT,
    )
    assert [item["status"] for item in out.output] == ["completed", "incomplete", "incomplete"]
    assert [item["arguments"] for item in out.output] == ["{}", '{"a', ""]
    assert kinds(out.events).count("function_call_arguments.done") == 1


@pytest.mark.parametrize("reason", [FinishReason.STOP, FinishReason.TOOL_CALLS])
def test_cut_arguments_never_end_well(reason: FinishReason):
    """Where nothing cut the reply a call that is cut is the engine's fault, streamed or whole."""
    stream = encoder()
    stream.encode(CallBegan(0, "c0", "f"))
    stream.encode(ArgumentsDelta(0, '{"a'))
    stream.encode(TextDelta("more"))
    with pytest.raises(UpstreamFailed):
        stream.encode(Finished(reason))


def test_a_text_before_a_cut_call_is_whole():
    """Only what was being said when the reply was cut is incomplete."""
    out = encoded(TextDelta("a"), CallBegan(0, "c", "f"), CUT)
    assert [item["status"] for item in out.output] == ["completed", "incomplete"]


def test_an_empty_reply_is_complete_without_items():
    """There is nothing to show, and that is all."""
    out = encoded(END)
    assert (out.output, out.response["status"]) == ([], "completed")


def test_a_stream_that_was_cut_before_its_reason_fails():
    """The end is `response.failed` with what was whole, and nothing that looks like success."""
    stream = new_stream()
    out = stream.feed(delta({"reasoning": "hm"}) + delta({"content": "a"}))
    out += stream.close()
    assert stream.failure is not None
    failed = checked(out + stream.terminal_error(stream.failure))
    assert failed.response["status"] == "failed"
    assert failed.response["error"] == {
        "code": "server_error",
        "message": stream.failure.message,
        "param": None,
        "type": stream.failure.type,
    }
    assert [item["type"] for item in failed.output] == ["reasoning"]
    assert failed.response["usage"] is None


def test_a_failure_before_anything_has_the_whole_grammar():
    """After a heartbeat it is too late for an HTTP error, so the stream begins in order to fail."""
    stream = new_stream()
    out = checked(stream.terminal_error(problem(Code.STARTUP_TIMEOUT)))
    assert kinds(out.events) == ["created", "in_progress", "failed"]


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (Code.CONTEXT_LENGTH_EXCEEDED, "context_length_exceeded"),
        (Code.UPSTREAM_RATE_LIMITED, "rate_limit_exceeded"),
        (Code.UPSTREAM_REFUSED, "invalid_prompt"),
        (Code.SHUTTING_DOWN, "server_error"),
    ],
)
def test_a_failure_is_told_in_the_words_of_the_api(code: Code, word: str):
    """Clients decide by these words whether to shorten, to wait or to give up."""
    out = checked(new_stream().terminal_error(problem(code)))
    assert out.response["error"]["code"] == word


def test_an_error_that_comes_first_sends_nothing():
    """It can still be a plain HTTP error."""
    stream = new_stream()
    assert stream.feed(event({"error": {"code": 429}})) == b""
    assert stream.failure is not None
    assert stream.failure.code is Code.UPSTREAM_RATE_LIMITED


def test_more_than_may_be_held_breaks_the_stream():
    """The end repeats everything, so everything is held, and that has a bound."""
    stream = new_stream(max_event_bytes=400)
    out = b"".join(stream.feed(delta({"content": "x" * 90})) for _ in range(5))
    assert stream.failure is not None
    assert not stream.is_finished
    assert checked(out + stream.terminal_error(stream.failure)).response["status"] == "failed"


def test_more_items_than_any_reply_has_break_the_stream():
    """An engine that changes its mind with every token does not fill the memory."""
    made = encoder()
    made.start()
    for _ in range(512):
        made.encode(TextDelta("a"))
        made.encode(ReasoningDelta("b"))
    with pytest.raises(UpstreamFailed):
        made.encode(TextDelta("a"))


def test_counts_are_the_engines():
    """With the details that it reported."""
    usage = Usage(prompt_tokens=7, completion_tokens=5, cached_tokens=4, reasoning_tokens=2)
    out = encoded(TextDelta("a"), END, UsageReported(usage))
    assert out.response["usage"] == {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 12,
    }


def test_counts_that_are_missing_are_estimated():
    """Clients fail on a finished reply without counts."""
    out = encoded(TextDelta("one two three four five six"), END)
    usage = out.response["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (3, 6, 9)


def test_the_estimate_of_a_whole_call_counts_its_arguments():
    """All that the model has said is counted, whatever it is."""
    out = encoded(CallBegan(0, "c", "f"), ArgumentsDelta(0, '{"a": "b c d"}'), END)
    assert out.response["usage"]["output_tokens"] == 4


def test_times_are_of_the_wall_clock():
    """The beginning of the reply, and its end."""
    out = encoded(TextDelta("a"), END)
    assert out.response["created_at"] == out.response["completed_at"] == int(NOW)


def test_ids_are_fresh_for_each_reply():
    """And the same throughout one."""
    one, other = (replied(captured("vllm-think.json"))[1] for _ in range(2))
    assert one == other  # each made by a dialect that counts from 1
    assert one["id"] == "resp_t1"
    assert [item["id"] for item in one["output"]] == ["rs_t1_0", "msg_t1_1"]


def test_the_request_is_echoed():
    """As it was sent, and with the API's default where it was not."""
    sent = {
        "instructions": "Be brief.",
        "max_output_tokens": 9,
        "metadata": {"k": "v"},
        "parallel_tool_calls": False,
        "temperature": 0.5,
        "tool_choice": "none",
        "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": False}],
        "user": "u",
        "reasoning": {"effort": "low"},
        "text": {"verbosity": "low", "format": None},
    }
    _, response = replied(captured("vllm-think.json"), **sent, store=True, service_tier="flex")
    expected = {**sent, "text": {"format": {"type": "text"}, "verbosity": "low"}}
    assert {name: response[name] for name in sent} == expected
    assert response["previous_response_id"] is None
    assert (response["store"], response["service_tier"]) == (False, None)
    assert (response["background"], response["truncation"]) == (False, "disabled")


def test_line_ends_of_the_request_never_end_an_event():
    """What is echoed may have been laid out over many lines."""
    text = '{"model": "m", "input": "hi",\r\n "metadata": {\n"a":\r"b"}}'
    stream = dialect().translator(parsed(text.encode()), tier(), 65_536)
    out = checked(stream.feed(delta({"content": "a"}) + delta(finish="stop")) + stream.close())
    assert out.response["metadata"] == {"a": "b"}


def test_done_without_a_reason_is_a_success():
    """As for every dialect; with a call it is one."""
    stream = new_stream()
    piece = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    out = checked(stream.feed(delta({"tool_calls": [piece]}) + b"data: [DONE]\n\n"))
    assert out.response["status"] == "completed"
    assert stream.is_finish_reason_missing


def test_a_reply_that_is_none_is_refused():
    """Malformed, or an error in a 200."""
    for data in (b"{", b"{}", json.dumps({"error": {"message": "m"}}).encode()):
        with pytest.raises(UpstreamFailed):
            replied(data)


def test_a_reply_without_anything_has_no_content():
    """A whole reply may be empty, and may lack its reason and its counts."""
    data = json.dumps({"choices": [{"index": 0, "message": {"content": ""}}]}).encode()
    reply, response = replied(data)
    assert reply.usage == Usage()
    assert response["output"] == []
