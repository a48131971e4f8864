"""What real clients asked and what real engines answered, through the translation."""

import json
from pathlib import Path
from typing import Any

import pytest

from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ChatRequest, RenderedRequest
from anvil_trio.dialects.messages_count import parse_count
from tests.support.grammars import read_messages
from tests.unit.dialects.chats import captured, tier
from tests.unit.dialects.messages import new_translator

CLIENTS = Path(__file__).parents[2] / "data" / "clients"
CHATS = [
    "anthropic-python-02",
    "anthropic-python-03",
    "anthropic-python-04",
    "anthropic-python-06",
    "claude-code-02",
    "claude-code-03",
    "opencode-anthropic-01",
    "opencode-anthropic-02",
    "opencode-anthropic-03",
    "pi-anthropic-01",
    "pi-anthropic-02",
]


def asked_by(name: str) -> bytes:
    """The body of a captured request."""
    return json.dumps(json.loads((CLIENTS / f"{name}.json").read_text())["body"]).encode()


def sent_for(name: str) -> tuple[dict[str, Any], ChatRequest]:
    """What a Chat engine gets for it."""
    request = MESSAGES.parse_request(asked_by(name))
    assert isinstance(request, ChatRequest), request
    made = MESSAGES.render_request(request, tier())
    assert isinstance(made, RenderedRequest), made
    return json.loads(made.body), request


@pytest.mark.parametrize("name", CHATS)
def test_captured_requests_are_accepted(name: str):
    """Nothing of theirs that is about caches or billing reaches the engine."""
    got, request = sent_for(name)
    raw = json.dumps(got)
    assert "cache_control" not in raw
    assert "billing" not in raw
    assert got["max_tokens"] == request.output_limit
    assert len(got.get("tools", ())) == len(json.loads(asked_by(name)).get("tools", ()))


def test_claude_code_is_understood():
    """Its inline system message, tool result, effort and user arrive; its hints are dropped."""
    got, request = sent_for("claude-code-03")
    roles = [message["role"] for message in got["messages"]]
    assert roles == ["system", "user", "system", "assistant", "tool"]
    assert got["messages"][-1]["content"] == "stub-was-here"
    assert got["reasoning_effort"] == "high"
    assert "user" in got
    assert request.dropped_fields == (
        "cache_control",
        "context_management",
        "system.billing_header",
        "thinking",
    )


def test_a_captured_count_is_accepted():
    """The SDK asks for a count without a limit."""
    assert isinstance(parse_count(asked_by("anthropic-python-count")), ChatRequest)


@pytest.mark.parametrize(
    ("name", "kinds", "reason"),
    [
        ("llamacpp-text.sse", ["text"], "end_turn"),
        ("vllm-text.sse", ["text"], "end_turn"),
        ("sglang-text.sse", ["text"], "end_turn"),
        ("vllm-continuous.sse", ["text"], "end_turn"),
        ("llamacpp-think.sse", ["thinking", "text"], "end_turn"),
        ("vllm-think.sse", ["thinking", "text"], "end_turn"),
        ("llamacpp-tools.sse", ["tool_use"], "tool_use"),
        ("vllm-tools.sse", ["tool_use"], "tool_use"),
        ("sglang-tools.sse", ["tool_use"], "tool_use"),
    ],
)
def test_captured_streams_say_what_they_said(name: str, kinds: list[str], reason: str):
    """Text, thoughts, calls and counts of three engines are those of their own Chat streams."""
    stream = captured(name)
    translator = new_translator()
    message = read_messages(translator.feed(stream) + translator.close())
    assert [block["type"] for block in message["content"]] == kinds
    assert message["stop_reason"] == reason
    said = joined(stream)
    for block in message["content"]:
        if block["type"] == "tool_use":
            assert (block["name"], block["input"]) == ("get_weather", {"city": "Paris"})
        else:
            assert block[block["type"]] == said[block["type"]]
    counts = translator.usage
    cached = counts.cached_tokens or 0
    if counts.prompt_tokens is not None:
        assert message["usage"]["input_tokens"] == counts.prompt_tokens - cached
        assert message["usage"]["output_tokens"] == counts.completion_tokens


def joined(stream: bytes) -> dict[str, str]:
    """Text and thoughts of a Chat stream, read without the code under test."""
    text, thinking = "", ""
    for line in stream.decode().splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:]).get("choices") or ():
                said = choice["delta"]
                text += said.get("content") or ""
                thinking += said.get("reasoning_content") or said.get("reasoning") or ""
    return {"text": text, "thinking": thinking}


def test_a_captured_error_is_an_error():
    """An error object within a 200 never ends as a message."""
    translator = new_translator()
    out = translator.feed(captured("sglang-error.sse"))
    assert translator.failure is not None
    assert "error" in read_messages(out + translator.terminal_error(translator.failure))
