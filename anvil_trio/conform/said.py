"""What an answer says, in whichever dialect it was given: one value for all three. Pure."""

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec
from pydantic import JsonValue

from anvil_trio.conform.grammar import (
    JsonObject,
    as_count,
    as_list,
    as_object,
    as_text,
    fail,
    list_in,
    must,
    object_in,
    text_in,
)

__all__ = [
    "Counts",
    "Finish",
    "Said",
    "ToolCall",
    "expect_no_error",
    "said_in_chat",
    "said_in_messages",
    "said_in_response",
]


class Finish(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    CALLS = "calls"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call, its arguments as text."""

    id: str = field(repr=False)
    name: str = field(repr=False)
    arguments: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Counts:
    """The tokens that an answer says it took; `total` only where the dialect has it."""

    prompt: int
    completion: int
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """One whole answer. `thinking_field` is the field that thoughts came in."""

    model: str = field(repr=False)
    text: str = field(repr=False)
    finish: Finish
    calls: tuple[ToolCall, ...] = ()
    counts: Counts | None = None
    thinking: str = field(default="", repr=False)
    thinking_field: str | None = None


_THINKING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_CHAT_FINISH = {"stop": Finish.STOP, "length": Finish.LENGTH, "tool_calls": Finish.CALLS}
_MESSAGES_FINISH = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "tool_use": Finish.CALLS,
}
_ONE = 1


def expect_no_error(found: JsonObject) -> JsonObject:
    """What a stream's reader gave, which must not be the error that it ended with."""
    must("error" not in found or found["error"] is None, "the stream ends with an error")
    return found


def said_in_chat(body: JsonObject) -> Said:
    """A completion, whole or put together from its chunks. Raises GrammarError."""
    choices = list_in(body, "choices")
    must(len(choices) == _ONE, "the answer has no choice, or several")
    choice = as_object(choices[0])
    message = object_in(choice, "message")
    calls = message.get("tool_calls")
    usage = body.get("usage")
    name = next((one for one in _THINKING_FIELDS if message.get(one)), None)
    return Said(
        model=text_in(body, "model"),
        text=_text_or_none(message.get("content")),
        finish=_CHAT_FINISH.get(text_in(choice, "finish_reason"), Finish.OTHER),
        calls=tuple(map(_chat_call, [] if calls is None else as_list(calls))),
        counts=None if usage is None else _chat_counts(as_object(usage)),
        thinking="" if name is None else text_in(message, name),
        thinking_field=name,
    )


def _text_or_none(value: JsonValue) -> str:
    return "" if value is None else as_text(value)


def _chat_call(value: JsonValue) -> ToolCall:
    call = as_object(value)
    function = object_in(call, "function") if "function" in call else call
    return ToolCall(text_in(call, "id"), text_in(function, "name"), text_in(function, "arguments"))


def _chat_counts(usage: JsonObject) -> Counts:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return Counts(*(as_count(usage.get(name)) for name in names))


def said_in_messages(body: JsonObject) -> Said:
    """A message, whole or put together from its events. Raises GrammarError."""
    must(body.get("type") == "message", "the answer is not a message")
    blocks = [as_object(block) for block in list_in(body, "content")]
    usage = object_in(body, "usage")
    thinking = _joined(blocks, "thinking", "thinking")
    return Said(
        model=text_in(body, "model"),
        text=_joined(blocks, "text", "text"),
        finish=_MESSAGES_FINISH.get(text_in(body, "stop_reason"), Finish.OTHER),
        calls=tuple(_messages_call(block) for block in blocks if block.get("type") == "tool_use"),
        counts=_messages_counts(usage),
        thinking=thinking,
        thinking_field="thinking" if thinking else None,
    )


def _messages_counts(usage: JsonObject) -> Counts:
    # What was read from a cache, or into one, is not among the input tokens here.
    cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
    told = [usage[name] for name in cached if usage.get(name) is not None]
    prompt = as_count(usage.get("input_tokens")) + sum(map(as_count, told))
    return Counts(prompt, as_count(usage.get("output_tokens")))


def _joined(blocks: list[JsonObject], kind: str, member: str) -> str:
    return "".join(text_in(block, member) for block in blocks if block.get("type") == kind)


def _messages_call(block: JsonObject) -> ToolCall:
    # An object is whole by itself; what a limit has cut stays the text that it is.
    told = block.get("input")
    return ToolCall(text_in(block, "id"), text_in(block, "name"), _as_json(told))


def _as_json(value: JsonValue) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def said_in_response(body: JsonObject) -> Said:
    """A response, whole or the last of its stream. Raises GrammarError."""
    must(body.get("object") == "response", "the answer is not a response")
    items = [as_object(item) for item in list_in(body, "output")]
    usage = object_in(body, "usage")
    names = ("input_tokens", "output_tokens", "total_tokens")
    calls = tuple(_response_call(one) for one in items if one.get("type") == "function_call")
    parts = [
        as_object(part)
        for item in items
        if item.get("type") == "message"
        for part in list_in(item, "content")
    ]
    return Said(
        model=text_in(body, "model"),
        text=_joined(parts, "output_text", "text"),
        finish=_response_finish(text_in(body, "status"), calls),
        calls=calls,
        counts=Counts(*(as_count(usage.get(name)) for name in names)),
    )


def _response_call(item: JsonObject) -> ToolCall:
    return ToolCall(text_in(item, "call_id"), text_in(item, "name"), text_in(item, "arguments"))


def _response_finish(status: str, calls: tuple[ToolCall, ...]) -> Finish:
    if status == "incomplete":
        return Finish.LENGTH
    if status != "completed":
        fail("the response has failed")
    return Finish.CALLS if calls else Finish.STOP
