"""The three dialects as a client speaks them: requests, whole answers, streams, refusals. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from anvil_trio.conform.chat_grammar import read_chat_stream
from anvil_trio.conform.grammar import JsonObject, object_in
from anvil_trio.conform.messages_grammar import read_messages_stream
from anvil_trio.conform.responses_grammar import read_responses_stream
from anvil_trio.conform.said import (
    Said,
    ToolCall,
    expect_no_error,
    said_in_chat,
    said_in_messages,
    said_in_response,
)

__all__ = [
    "CHAT",
    "CITY_SCHEMA",
    "MESSAGES",
    "RESPONSES",
    "TOOL_NAME",
    "VOICES",
    "Ask",
    "ReadStream",
    "Voice",
]

TOOL_NAME = "get_weather"
_TOOL_TEXT = "The weather in a city."
_RESULT = "Sunny, 21 degrees."
_THINKING_TOKENS = 1024
CITY_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked. `offers_tool` demands a call, `called` goes on from one that was made."""

    prompt: str = field(repr=False)
    limit: int = 256
    is_stream: bool = False
    wants_counts: bool = False
    offers_tool: bool = False
    called: ToolCall | None = None
    wants_schema: bool = False
    thinks: bool = False
    more: JsonObject = field(default_factory=dict, repr=False)


class ReadStream(Protocol):
    """Reads a whole stream, strictly or as an engine may write it. Raises GrammarError."""

    def __call__(self, stream: bytes, *, usage_wanted: bool, is_engine: bool) -> Said:
        """What the stream says, put together."""
        ...


@dataclass(frozen=True, slots=True)
class Voice:
    """One dialect. `is_messages` says that keys and refusals are told in Anthropic's way."""

    name: str
    path: str
    is_messages: bool
    render: Callable[[str, Ask], JsonObject]
    said_in: Callable[[JsonObject], Said]
    read_stream: ReadStream

    def is_refusal(self, body: JsonObject) -> bool:
        """Whether this is an error as the dialect's clients read it. Raises GrammarError."""
        error = object_in(body, "error")
        is_told = all(isinstance(error.get(name), str) and error[name] for name in _ERROR_MEMBERS)
        return is_told and (not self.is_messages or body.get("type") == "error")


_ERROR_MEMBERS = ("type", "message")


def _render_chat(model: str, ask: Ask) -> JsonObject:
    body: JsonObject = {
        "model": model,
        "messages": _chat_history(ask),
        "max_tokens": ask.limit,
        "stream": ask.is_stream,
    }
    if ask.is_stream and ask.wants_counts:
        body["stream_options"] = {"include_usage": True}
    if ask.offers_tool:
        function: JsonObject = {"name": TOOL_NAME, "description": _TOOL_TEXT}
        function["parameters"] = CITY_SCHEMA
        body["tools"] = [{"type": "function", "function": function}]
        if ask.called is None:
            body["tool_choice"] = "required"
    if ask.wants_schema:
        schema: JsonObject = {"name": "place", "strict": True, "schema": CITY_SCHEMA}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if ask.thinks:
        body["reasoning_effort"] = "low"
    return {**body, **ask.more}


def _chat_history(ask: Ask) -> list[JsonValue]:
    messages: list[JsonValue] = [{"role": "user", "content": ask.prompt}]
    if ask.called is not None:
        function: JsonObject = {"name": ask.called.name, "arguments": ask.called.arguments}
        call: JsonObject = {"id": ask.called.id, "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": ask.called.id, "content": _RESULT},
        ]
    return messages


def _render_messages(model: str, ask: Ask) -> JsonObject:
    limit = ask.limit + _THINKING_TOKENS if ask.thinks else ask.limit
    body: JsonObject = {
        "model": model,
        "messages": _messages_history(ask),
        "max_tokens": limit,
        "stream": ask.is_stream,
    }
    if ask.offers_tool:
        body["tools"] = [
            {"name": TOOL_NAME, "description": _TOOL_TEXT, "input_schema": CITY_SCHEMA}
        ]
        if ask.called is None:
            body["tool_choice"] = {"type": "any"}
    if ask.thinks:
        body["thinking"] = {"type": "enabled", "budget_tokens": _THINKING_TOKENS}
    return {**body, **ask.more}


def _messages_history(ask: Ask) -> list[JsonValue]:
    messages: list[JsonValue] = [{"role": "user", "content": ask.prompt}]
    called = ask.called
    if called is not None:
        use: JsonObject = {"type": "tool_use", "id": called.id, "name": called.name}
        use["input"] = {"city": "Rome"}
        result: JsonObject = {"type": "tool_result", "tool_use_id": called.id, "content": _RESULT}
        messages += [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]
    return messages


def _render_response(model: str, ask: Ask) -> JsonObject:
    body: JsonObject = {
        "model": model,
        "input": [{"role": "user", "content": ask.prompt}],
        "max_output_tokens": ask.limit,
        "stream": ask.is_stream,
        "store": False,
    }
    if ask.offers_tool:
        tool: JsonObject = {"type": "function", "name": TOOL_NAME, "description": _TOOL_TEXT}
        body["tools"] = [{**tool, "parameters": CITY_SCHEMA, "strict": True}]
        body["tool_choice"] = "required"
    return {**body, **ask.more}


def _chat_stream(stream: bytes, *, usage_wanted: bool, is_engine: bool) -> Said:
    del is_engine  # whose chunks they are is always the engine's affair: they may be relayed
    found = read_chat_stream(stream, usage_wanted=usage_wanted, is_relayed=True)
    return said_in_chat(expect_no_error(found))


def _messages_stream(stream: bytes, *, usage_wanted: bool, is_engine: bool) -> Said:
    del usage_wanted  # they always have them
    return said_in_messages(expect_no_error(read_messages_stream(stream, is_relayed=is_engine)))


def _responses_stream(stream: bytes, *, usage_wanted: bool, is_engine: bool) -> Said:
    del usage_wanted, is_engine  # they always have them, and no engine is asked in this dialect
    return said_in_response(expect_no_error(read_responses_stream(stream).response))


CHAT = Voice(
    "chat",
    "/chat/completions",
    is_messages=False,
    render=_render_chat,
    said_in=said_in_chat,
    read_stream=_chat_stream,
)
MESSAGES = Voice(
    "messages",
    "/messages",
    is_messages=True,
    render=_render_messages,
    said_in=said_in_messages,
    read_stream=_messages_stream,
)
RESPONSES = Voice(
    "responses",
    "/responses",
    is_messages=False,
    render=_render_response,
    said_in=said_in_response,
    read_stream=_responses_stream,
)
VOICES = (CHAT, MESSAGES, RESPONSES)
