"""Whole replies: what is learnt from them, and what is no reply."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.chat_reply import render_reply
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Code, Problem, UpstreamFailed, problem
from tests.unit.dialects.chats import captured, new_stream, parsed, tier


def reply(message: dict[str, Any], finish: str | None = "stop", **members) -> bytes:
    """An engine's whole reply with this message."""
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return json.dumps({"model": "served-model", "choices": choices, **members}).encode()


def failure_of(raw: bytes) -> Problem:
    """Why a body is no reply."""
    with pytest.raises(UpstreamFailed) as failed:
        render_reply(raw, "a")
    return failed.value.problem


def test_finish_reason_and_usage_are_learnt():
    """From the engines' real replies."""
    made = render_reply(captured("llamacpp-tools.json"), "a")
    assert (made.finish_reason, made.usage) == (FinishReason.TOOL_CALLS, Usage(287, 6, 0, None))
    made = render_reply(captured("vllm-think.json"), "a")
    assert (made.finish_reason, made.usage) == (FinishReason.STOP, Usage(23, 8, None, 3))


def test_a_reply_without_reason_or_usage_is_a_reply():
    """Both are unknown, whether they are left out or are nothing at all."""
    made = render_reply(reply({"role": "assistant", "content": None}, None), "a")
    assert (made.finish_reason, made.usage) == (None, Usage())
    made = render_reply(reply({"role": "assistant", "content": "x"}, None, usage=None), "a")
    assert (made.finish_reason, made.usage) == (None, Usage())


def test_the_dialect_answers_in_the_callers_spelling():
    """Blanks in the engine's JSON do not hide its name."""
    made = CHAT.render_reply(reply({"content": "x"}), parsed(model="LLM.Primary"), tier())
    assert json.loads(made.body)["model"] == "LLM.Primary"


def test_calls_and_reasoning_are_mended_in_each_choice():
    """Only the choices that need it are written anew."""
    bare = {"id": "a", "function": {"name": "f", "arguments": {}}}
    custom = {"id": "b", "type": "custom", "custom": {"input": "x"}}
    fine = {"id": "c", "function": {"name": "f", "arguments": '{"a":1}'}}
    messages = [{"content": "x"}, {"reasoning_text": "r", "tool_calls": [custom, bare, fine]}]
    choices = [{"index": at, "message": one} for at, one in enumerate(messages)]
    made = render_reply(json.dumps({"model": "m", "choices": choices}).encode(), "a")
    mended = {**bare, "function": {"name": "f", "arguments": "{}"}}
    assert [one["message"] for one in json.loads(made.body)["choices"]] == [
        {"content": "x"},
        {"reasoning_text": "r", "reasoning_content": "r", "tool_calls": [custom, mended, fine]},
    ]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"choices":[]}',
        b'{"choices":null}',
        b'{"choices":[{"index":0}]}',
        b'{"choices":[{"message":7}]}',
        b'{"choices":[{"message":{"content":"\xff"}}]}',
        b'{"x":' + b"[" * 20_000,
    ],
)
def test_what_is_no_reply_is_a_failure(raw: bytes):
    """Malformed, without an answer, of a wrong shape, or no text."""
    assert failure_of(raw) == problem(Code.UPSTREAM_ERROR)


def test_an_error_object_in_a_200_is_a_failure():
    """With its own code where it has one."""
    assert failure_of(b'{"error":{"code":400}}') == problem(Code.UPSTREAM_REFUSED, status=400)
    assert failure_of(b'{"object":"error","code":503}') == problem(Code.UPSTREAM_OVERLOADED)
    assert failure_of(reply({"content": "x"}, error="secret")) == problem(Code.UPSTREAM_ERROR)


def test_a_problem_is_rendered_as_openai_does():
    """Message, type, param and our code; in a stream it is the last event."""
    what = problem(Code.CONTEXT_LENGTH_EXCEEDED, param="messages")
    expected = {
        "error": {
            "message": "The prompt is longer than this model's context.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    }
    assert json.loads(CHAT.render_problem(what)) == expected
    frame = new_stream().terminal_error(what)
    assert frame.startswith(b"data: {")
    assert frame.endswith(b"}\n\n")
    assert json.loads(frame[6:]) == expected


def test_the_dialect_has_a_name():
    """By which the table of routes finds it."""
    assert CHAT.name == "chat"
