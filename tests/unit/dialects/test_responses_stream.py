"""What an engine's reply becomes in the words of the Responses API."""

from typing import Any

import pytest

from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    SignatureDelta,
    TextDelta,
)
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.errors import UpstreamFailed
from tests.unit.dialects.chats import captured, delta
from tests.unit.dialects.responses import (
    checked,
    encoded,
    encoder,
    new_stream,
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
    """Calls and texts behind a call that has no end to be seen keep their order."""
    out = encoded(
        CallBegan(0, "c0", "f"),
        ArgumentsDelta(0, "7"),
        TextDelta("a"),
        CallBegan(1, "c1", "g"),
        TextDelta("b"),
        TextDelta("c"),
        ArgumentsDelta(1, "[]"),
        Finished(FinishReason.TOOL_CALLS),
    )
    assert [item["type"] for item in out.output] == ["function_call", "message"] * 2
    assert [item.get("arguments") or text_of(item) for item in out.output] == ["7", "a", "[]", "bc"]
    assert out.response["status"] == "completed"


def test_a_call_without_arguments_gets_an_empty_object():
    """Where its reply ended well, in a piece and in the whole."""
    out = encoded(CallBegan(0, "c", "f"), Finished(FinishReason.TOOL_CALLS))
    assert out.output[0]["arguments"] == "{}"
    assert [one["delta"] for one in out.events if one["type"].endswith(".delta")] == ["{}"]


def test_calls_without_arguments_that_begin_behind_the_end_are_closed_in_turn():
    """Nothing more will be said of them; what waits behind them is opened once, and closed once."""
    out = encoded(
        Finished(FinishReason.STOP),
        CallBegan(0, "c0", "f"),
        CallBegan(1, "c1", "g"),
        TextDelta("late"),
    )
    assert [item["type"] for item in out.output] == ["function_call", "function_call", "message"]
    assert [item["arguments"] for item in out.output[:2]] == ["{}", "{}"]


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
