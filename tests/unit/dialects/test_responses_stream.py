"""What an engine's reply becomes in the words of the Responses API."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    SignatureDelta,
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
    streamed,
)

TEXT = "Hello from a tiny model: café, 你好 🦙."
CALL = ("get_weather", '{"city": "Paris"}')
END = Finished(FinishReason.STOP)
CUT = Finished(FinishReason.LENGTH)


def kinds(events: list[dict[str, Any]]) -> list[str]:
    """The types of events without their common beginning."""
    return [one["type"].removeprefix("response.") for one in events]


def text_of(item: dict[str, Any]) -> str:
    """The text of an item with one part."""
    (part,) = item.get("content") or item["summary"]
    text: str = part["text"]
    return text


@pytest.mark.parametrize("name", ["llamacpp-text", "vllm-text", "vllm-continuous", "sglang-text"])
def test_the_known_text_of_each_engine_arrives(name: str):
    """The engines' real streams become one message."""
    stream = new_stream()
    out = checked(stream.feed(captured(f"{name}.sse")))
    (item,) = out.output
    assert (item["type"], text_of(item)) == ("message", TEXT)
    assert out.response["model"] == "llm.primary"
    assert (stream.finish_reason, stream.failure) == (FinishReason.STOP, None)
    assert stream.is_finished
    assert stream.is_done
    assert stream.has_content


@pytest.mark.parametrize("name", ["llamacpp-tools", "vllm-tools", "sglang-tools"])
def test_the_known_call_of_each_engine_arrives(name: str):
    """However an engine cuts it, the call is one item with its arguments untouched."""
    calls = [
        item for item in streamed(captured(f"{name}.sse")).output if item["type"] == "function_call"
    ]
    assert [(call["name"], call["arguments"]) for call in calls] == [CALL]
    assert calls[0]["call_id"]


@pytest.mark.parametrize("name", ["llamacpp-think", "vllm-think"])
def test_the_known_thought_of_each_engine_arrives(name: str):
    """Reasoning is an item of its own, before the answer."""
    thought, answer = streamed(captured(f"{name}.sse")).output
    assert thought["type"] == "reasoning"
    assert text_of(thought).strip() == "Let me ponder briefly."
    assert text_of(answer).strip() == "Forty-two."


@pytest.mark.parametrize("name", ["llamacpp-tools", "sglang-tools", "vllm-think"])
def test_a_whole_reply_is_the_end_of_its_stream(name: str):
    """A unary reply, and the same reply made a stream, end in the same response."""
    data = captured(f"{name}.json")
    stream = new_stream(stream=False)
    made = checked(stream.feed_whole(data))
    reply, response = replied(data)
    assert response == made.response
    assert (reply.finish_reason, reply.usage) == (stream.finish_reason, stream.usage)
    assert reply.has_content


def test_every_lifecycle_event_of_a_text_is_sent():
    """A text is announced, said, ended, and repeated whole at each end."""
    out = encoded(TextDelta("Hel"), TextDelta("lo"), END)
    assert kinds(out.events) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert out.output == [
        {
            "id": "msg_t1_0",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}
            ],
        }
    ]


def test_every_lifecycle_event_of_a_call_is_sent():
    """A client that reads only the pieces, or only the whole, gets all the arguments."""
    out = encoded(CallBegan(0, "c", "f"), ArgumentsDelta(0, '{"a":'), ArgumentsDelta(0, "1}"), END)
    assert kinds(out.events)[2:-1] == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert out.output == [
        {
            "id": "fc_t1_0",
            "type": "function_call",
            "status": "completed",
            "call_id": "c",
            "name": "f",
            "arguments": '{"a":1}',
        }
    ]


def test_reasoning_is_an_item_with_its_text():
    """Who did not ask for a summary gets the reasoning as it is."""
    out = encoded(ReasoningDelta("hm"), SignatureDelta("s"), TextDelta("a"), END)
    assert kinds(out.events)[2:8] == [
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
    ]
    assert out.output[0] == {
        "id": "rs_t1_0",
        "type": "reasoning",
        "status": "completed",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}],
    }


def test_reasoning_is_where_a_summary_was_asked_for():
    """Clients that ask for a summary look nowhere else, so it holds the whole reasoning."""
    out = encoded(ReasoningDelta("hm"), TextDelta("a"), END, wants_summary=True)
    assert kinds(out.events)[2:8] == [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ]
    assert out.output[0]["summary"] == [{"type": "summary_text", "text": "hm"}]


@pytest.mark.parametrize("word", ["summary", "generate_summary"])
def test_a_request_for_a_summary_is_seen(word: str):
    """Under its name of today, and under that of yesterday."""
    data = delta({"reasoning": "hm"}) + delta(finish="stop")
    (item,) = streamed(data, reasoning={word: "auto"}).output
    assert item["summary"]
    (item,) = streamed(data, reasoning={"effort": "low"}).output
    assert item["summary"] == []


def test_kinds_of_content_take_turns():
    """Each change of kind ends an item and begins the next."""
    out = encoded(
        ReasoningDelta("1"),
        TextDelta("2"),
        ReasoningDelta("3"),
        TextDelta("4"),
        TextDelta("5"),
        END,
    )
    assert [(item["type"], text_of(item)) for item in out.output] == [
        ("reasoning", "1"),
        ("message", "2"),
        ("reasoning", "3"),
        ("message", "45"),
    ]


def test_a_piece_leaves_when_it_arrives():
    """Nothing of the item that is open waits."""
    made = encoder()
    made.start()
    assert b"output_text.delta" in made.encode(TextDelta("a"))
    assert b"output_item.added" in made.encode(CallBegan(0, "c", "f"))
    assert b'"delta":"{"' in made.encode(ArgumentsDelta(0, "{"))


def test_a_call_that_may_go_on_keeps_the_next_one_waiting():
    """Pieces by turns become calls one after another; the first leaves as it comes."""
    made = encoder()
    out = [made.start(), made.encode(CallBegan(0, "c0", "f")), made.encode(ArgumentsDelta(0, "{"))]
    waiting = [made.encode(CallBegan(1, "c1", "g")), made.encode(ArgumentsDelta(1, '{"b":'))]
    assert waiting == [b"", b""]
    ended = made.encode(ArgumentsDelta(0, "}"))
    assert ended.index(b"function_call_arguments.done") < ended.index(b'"name":"g"')
    assert ended.endswith(b'"delta":"{\\"b\\":"}\n\n')
    out += [ended, made.encode(ArgumentsDelta(1, "1}")), made.encode(END), made.finish()]
    calls = [(item["name"], item["arguments"]) for item in checked(b"".join(out)).output]
    assert calls == [("f", "{}"), ("g", '{"b":1}')]


def test_a_whole_call_ends_when_something_else_begins():
    """It is not held open for pieces that cannot come."""
    made = encoder()
    made.start()
    made.encode(CallBegan(0, "c0", "f"))
    made.encode(ArgumentsDelta(0, "{}"))
    out = made.encode(TextDelta("so"))
    assert out.index(b"function_call_arguments.done") < out.index(b'"delta":"so"')


def test_what_waits_is_sent_in_order_at_the_end():
    """Calls and texts behind a call that never became whole keep their order."""
    out = encoded(
        CallBegan(0, "c0", "f"),
        ArgumentsDelta(0, "{"),
        TextDelta("a"),
        CallBegan(1, "c1", "g"),
        TextDelta("b"),
        TextDelta("c"),
        ArgumentsDelta(1, "[]"),
        Finished(FinishReason.TOOL_CALLS),
    )
    assert [item["type"] for item in out.output] == ["function_call", "message"] * 2
    assert [item.get("arguments") or text_of(item) for item in out.output] == ["{", "a", "[]", "bc"]
    assert out.response["status"] == "completed"


def test_a_call_without_arguments_gets_an_empty_object():
    """Where its reply ended well, in a piece and in the whole."""
    out = encoded(CallBegan(0, "c", "f"), Finished(FinishReason.TOOL_CALLS))
    assert out.output[0]["arguments"] == "{}"
    assert [one["delta"] for one in out.events if one["type"].endswith(".delta")] == ["{}"]


def test_blanks_after_the_end_of_a_closed_call_are_nothing():
    """Its one object is whole; blanks add nothing to it."""
    begun = CallBegan(0, "c", "f")
    out = encoded(begun, ArgumentsDelta(0, "{}"), TextDelta("a"), ArgumentsDelta(0, " \n"), END)
    assert out.output[0]["arguments"] == "{}"


def test_more_after_the_end_of_a_closed_call_breaks_the_stream():
    """A call that was handed out as done is never changed afterwards."""
    made = encoder()
    made.start()
    for one in (CallBegan(0, "c", "f"), ArgumentsDelta(0, "{}"), TextDelta("a")):
        made.encode(one)
    with pytest.raises(UpstreamFailed):
        made.encode(ArgumentsDelta(0, "{}"))


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
    assert not reply.has_content
    assert reply.usage == Usage()
    assert response["output"] == []
