"""Whole replies and errors for Messages callers."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.events import Finished, ReasoningDelta, SignatureDelta, StreamEvent
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.dialects.messages_errors import error_event, error_type, render_problem
from anvil_trio.dialects.messages_reply import render_reply
from anvil_trio.errors import Code, Overflow, UpstreamFailed, problem
from tests.unit.dialects.chats import captured, tier
from tests.unit.dialects.messages import asked, call, image, refused, replied, text


def test_a_whole_answer_is_a_message():
    """Thoughts, text and calls are blocks in that order, with the reason and the counts."""
    said = {
        "role": "assistant",
        "content": "so",
        "reasoning": "why",
        **call(None, "a", name="f", arguments='{"x": 1.0}'),
    }
    counts = {"prompt_tokens": 9, "completion_tokens": 4}
    message = replied(said, "tool_calls", usage=counts)
    assert message.pop("id").startswith("msg_")
    assert message == {
        "type": "message",
        "role": "assistant",
        "model": "llm.primary",
        "content": [
            {"type": "thinking", "thinking": "why", "signature": ""},
            {"type": "text", "text": "so"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1.0}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 4},
    }


def test_an_empty_answer_has_no_blocks():
    """Nothing is made up; counts that are missing are estimates."""
    message = replied({"content": None})
    assert message["content"] == []
    assert message["usage"] == {"input_tokens": 1, "output_tokens": 0}


def test_the_stop_sequence_is_named():
    """Engines that say which text it was are believed if the caller gave it."""
    raw = {"index": 0, "message": {"content": "x"}, "finish_reason": "stop", "matched_stop": "END"}
    reply = json.dumps({"choices": [raw]}).encode()
    made = json.loads(MESSAGES.render_reply(reply, asked(stop_sequences=["END"]), tier()).body)
    assert (made["stop_reason"], made["stop_sequence"]) == ("stop_sequence", "END")


@pytest.mark.parametrize("arguments", ["", " ", "null", None])
def test_a_call_without_arguments_has_an_empty_input(arguments: str | None):
    """Whatever an engine puts in place of none."""
    message = replied(call(0, "a", name="f", arguments=arguments), "tool_calls")
    assert message["content"][0]["input"] == {}


@pytest.mark.parametrize("arguments", ['{"x":', "[1]", "oops", "[" * 100_000])
def test_a_call_that_is_broken_is_a_failure(arguments: str):
    """An input must be an object; one that is not was never meant."""
    with pytest.raises(UpstreamFailed) as failed:
        replied(call(0, "a", name="f", arguments=arguments), "tool_calls")
    assert failed.value.problem == problem(Code.UPSTREAM_ERROR)


def test_a_call_that_a_limit_cut_was_never_made():
    """The reason says what happened, and no half input is passed off as one."""
    said = {"content": "so", **call(0, "a", name="f", arguments='{"x":')}
    message = replied(said, "length")
    assert [block["type"] for block in message["content"]] == ["text"]
    assert message["stop_reason"] == "max_tokens"


def test_the_record_learns_of_a_reply():
    """Finish reason and counts are the engine's own, never estimates."""
    made = MESSAGES.render_reply(captured("llamacpp-tools.json"), asked(), tier())
    assert made.finish_reason is FinishReason.TOOL_CALLS
    assert made.usage.prompt_tokens is not None
    (block,) = json.loads(made.body)["content"]
    assert (block["name"], block["input"]) == ("get_weather", {"city": "Paris"})
    bare = b'{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}'
    made = MESSAGES.render_reply(bare, asked(), tier())
    assert made.usage == Usage()


def test_thoughts_of_an_engine_are_kept():
    """A captured thinking answer comes out as thinking and text."""
    made = json.loads(MESSAGES.render_reply(captured("vllm-think.json"), asked(), tier()).body)
    assert [block["type"] for block in made["content"]] == ["thinking", "text"]


def test_a_signature_is_kept():
    """An engine that signs its thoughts is believed."""
    events: list[StreamEvent] = [
        ReasoningDelta("t"),
        SignatureDelta("s"),
        Finished(FinishReason.STOP),
    ]
    made = render_reply(events, "m", prompt_tokens=1, stop_sequences=frozenset())
    block = json.loads(made.body)["content"][0]
    assert block == {"type": "thinking", "thinking": "t", "signature": "s"}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (Code.INVALID_REQUEST, "invalid_request_error"),
        (Code.AUTHENTICATION, "authentication_error"),
        (Code.SCOPE_DENIED, "permission_error"),
        (Code.MODEL_NOT_FOUND, "not_found_error"),
        (Code.NOT_FOUND, "not_found_error"),
        (Code.PAYLOAD_TOO_LARGE, "request_too_large"),
        (Code.CLIENT_CONCURRENCY_EXHAUSTED, "rate_limit_error"),
        (Code.UPSTREAM_RATE_LIMITED, "rate_limit_error"),
        (Code.SERVICE_UNAVAILABLE, "overloaded_error"),
        (Code.SERVER_BUSY, "overloaded_error"),
        (Code.UPSTREAM_OVERLOADED, "overloaded_error"),
        (Code.IDLE_TIMEOUT, "timeout_error"),
        (Code.CONNECT_TIMEOUT, "timeout_error"),
        (Code.UPSTREAM_ERROR, "api_error"),
        (Code.INTERNAL_ERROR, "api_error"),
    ],
)
def test_problems_have_anthropics_words(code: Code, kind: str):
    """Each family of failures has one type."""
    assert error_type(problem(code)) == kind


def test_every_problem_has_a_word():
    """No code is without one, and a status that says more counts first."""
    assert all(error_type(problem(code)).endswith(("_error", "_large")) for code in Code)
    assert error_type(problem(Code.SERVICE_UNAVAILABLE, status=429)) == "rate_limit_error"
    assert error_type(problem(Code.UPSTREAM_REFUSED, status=413)) == "request_too_large"


def said(what: Any) -> str:
    """The message of a rendered problem."""
    body = json.loads(render_problem(what))
    assert body["type"] == "error"
    assert set(body["error"]) == {"type", "message"}
    message: str = body["error"]["message"]
    return message


def test_an_overflow_is_worded_so_that_clients_compact():
    """With both numbers where they are known."""
    known = problem(Code.CONTEXT_LENGTH_EXCEEDED, overflow=Overflow(9007, 8192))
    assert said(known) == "prompt is too long: 9007 tokens > 8192 maximum"
    assert said(problem(Code.CONTEXT_LENGTH_EXCEEDED)) == "prompt is too long"


def test_a_refused_field_is_named():
    """In front of the message, unless that names it."""
    what = problem(Code.UNSUPPORTED_MEDIA, param="messages")
    assert said(what) == f"messages: {what.message}"
    assert said(refused(max_tokens=...)) == "`max_tokens` must be a positive integer."
    assert said(problem(Code.UPSTREAM_ERROR)) == "The model's answer could not be used."


def test_a_stream_that_failed_ends_in_an_error_event():
    """One event, by its name."""
    frame = error_event(problem(Code.UPSTREAM_ERROR))
    assert frame.startswith(b'event: error\ndata: {"type":"error"')
    assert frame.endswith(b"}\n\n")
    assert frame.count(b"\n") == 3
    assert MESSAGES.render_problem(problem(Code.UPSTREAM_ERROR)) in frame


def test_the_dialect_has_a_name():
    """By which the table of routes finds it."""
    assert MESSAGES.name == "messages"
    assert asked(messages=[{"role": "user", "content": [text("a"), image()]}]).model
