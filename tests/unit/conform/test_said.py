"""An answer is one value, whichever dialect it came in."""

from typing import Any

import pytest

from anvil_trio.conform.grammar import GrammarError
from anvil_trio.conform.said import (
    Counts,
    Finish,
    ToolCall,
    expect_no_error,
    said_in_chat,
    said_in_messages,
    said_in_response,
)
from tests.support.answers import chat_reply

CALL: Any = {"id": "c1", "function": {"name": "f", "arguments": "{}"}}
MESSAGE: Any = {
    "type": "message",
    "model": "m",
    "content": [{"type": "text", "text": "Hi."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
RESPONSE: Any = {
    "object": "response",
    "model": "m",
    "status": "completed",
    "output": [
        {"type": "reasoning", "content": []},
        {"type": "message", "content": [{"type": "output_text", "text": "Hi."}]},
    ],
    "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
}


def test_a_completion_says_its_text_and_counts():
    """And whose model it is, and why it ended."""
    said = said_in_chat(chat_reply())
    assert (said.model, said.text, said.finish) == ("m", "Hi.", Finish.STOP)
    assert said.counts == Counts(5, 2, 7)
    assert (said.calls, said.thinking, said.thinking_field) == ((), "", None)


@pytest.mark.parametrize("call", [CALL, {"id": "c1", "name": "f", "arguments": "{}"}])
def test_a_completions_calls_are_read_whole_or_from_a_stream(call):
    """The reader of a stream gives them flat."""
    said = said_in_chat(chat_reply(None, "tool_calls", tool_calls=[call], usage=None))
    assert said.calls == (ToolCall("c1", "f", "{}"),)
    assert (said.text, said.finish, said.counts) == ("", Finish.CALLS, None)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thoughts_are_found_in_each_of_the_three_fields(name):
    """Which one it was is told."""
    said = said_in_chat(chat_reply("Hi.", "content_filter", **{name: "hm"}))
    assert (said.thinking, said.thinking_field, said.finish) == ("hm", name, Finish.OTHER)


@pytest.mark.parametrize(
    "body", [{}, {"choices": []}, {"choices": [1]}, chat_reply() | {"model": None}]
)
def test_what_is_no_completion_is_refused(body):
    """No choice, no object, no model."""
    with pytest.raises(GrammarError):
        said_in_chat(body)


def test_a_message_says_its_text_and_counts():
    """It has no sum."""
    said = said_in_messages(MESSAGE)
    assert (said.model, said.text, said.finish) == ("m", "Hi.", Finish.STOP)
    assert said.counts == Counts(3, 2)


def test_what_a_message_read_from_a_cache_is_a_part_of_its_prompt():
    """Anthropic counts it beside the input tokens; a null is none."""
    usage: dict[str, int | None] = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 51,
    }
    usage["cache_creation_input_tokens"] = None
    assert said_in_messages(MESSAGE | {"usage": usage}).counts == Counts(52, 2)


def test_a_messages_calls_and_thoughts_are_read():
    """An input is written as text; one that a limit cut stays the text it is."""
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "b", "name": "g", "input": '{"x'},
    ]
    said = said_in_messages(MESSAGE | {"content": blocks, "stop_reason": "max_tokens"})
    assert said.calls == (ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", '{"x'))
    assert (said.thinking, said.thinking_field) == ("hm", "thinking")
    assert said.finish is Finish.LENGTH


def test_a_response_says_its_text_and_counts():
    """Only messages are text."""
    said = said_in_response(RESPONSE)
    assert (said.model, said.text, said.finish) == ("m", "Hi.", Finish.STOP)
    assert said.counts == Counts(3, 2, 5)


def test_a_responses_end_is_read_from_its_status():
    """A call makes it one of calls; incomplete is cut; all else has failed."""
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    said = said_in_response(RESPONSE | {"output": [call]})
    assert (said.finish, said.calls) == (Finish.CALLS, (ToolCall("a", "f", "{}"),))
    assert said_in_response(RESPONSE | {"status": "incomplete"}).finish is Finish.LENGTH
    with pytest.raises(GrammarError):
        said_in_response(RESPONSE | {"status": "failed"})


def test_an_error_at_the_end_of_a_stream_is_no_answer():
    """A null is none."""
    assert expect_no_error({"error": None, "a": 1}) == {"error": None, "a": 1}
    with pytest.raises(GrammarError):
        expect_no_error({"error": {"type": "x"}})
