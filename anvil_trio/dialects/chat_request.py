"""A Chat Completions body, checked for types and otherwise left as it is."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, get_type_hints

import msgspec

from anvil_trio.dialects.chat_messages import Message, facts_of
from anvil_trio.dialects.ir import ChatRequest, least
from anvil_trio.dialects.raw_json import ABSENT, encode, is_given, is_utf8, members_of
from anvil_trio.dialects.tokens import prompt_of
from anvil_trio.errors import Code, Problem, problem

__all__ = ["LIMIT_FIELDS", "parse_request"]

LIMIT_FIELDS = ("max_tokens", "max_completion_tokens")
"""Both names of the output limit; where a caller sends both the smaller applies."""


_GREATEST = 2**63 - 1  # no engine counts further


class _Object(msgspec.Struct, gc=False):
    """Any JSON object."""


class _NamedFunction(msgspec.Struct, gc=False):
    name: str


class _Choice(msgspec.Struct, gc=False):
    type: str = "function"
    function: _NamedFunction | None = None


class _StreamOptions(msgspec.Struct, gc=False):
    include_usage: bool | None = None


_Positive = Annotated[int, msgspec.Meta(ge=1, le=_GREATEST)]


class _Body(msgspec.Struct, gc=False):
    """What has a rule in a body. A null is as good as nothing, except for what must be there."""

    model: str
    messages: Annotated[list[Message], msgspec.Meta(min_length=1)]
    stream: bool | None = None
    n: _Positive | None = None
    max_tokens: _Positive | None = None
    max_completion_tokens: _Positive | None = None
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: str | list[str] | None = None
    tools: list[_Object] | None = None
    functions: list[_Object] | None = None
    tool_choice: str | _Choice | None = None
    stream_options: _StreamOptions | None = None


_INTEGER = "a positive integer"
_NUMBER = "a finite number"
_OBJECTS = "a list of objects"
_KINDS: Mapping[str, str] = MappingProxyType({
    "stream": "true or false",
    "n": _INTEGER,
    **dict.fromkeys(LIMIT_FIELDS, _INTEGER),
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "presence_penalty": _NUMBER,
    "frequency_penalty": _NUMBER,
    "stop": "a string or a list of strings",
    "tools": _OBJECTS,
    "functions": _OBJECTS,
    "tool_choice": "a string or an object that names a function",
    "stream_options": "an object; its `include_usage` true or false",
})
_MESSAGES_KIND = (
    "a non-empty list of objects, each with a string `role` and with `content` "
    "that is a string, a list of parts or null"
)
_BODY = msgspec.json.Decoder(_Body)
_FIELDS: Mapping[str, msgspec.json.Decoder[object]] = MappingProxyType({
    name: msgspec.json.Decoder(kind)
    for name, kind in get_type_hints(_Body, include_extras=True).items()
})
_NO_OBJECT = problem(Code.INVALID_REQUEST, message="The body must be one JSON object in UTF-8.")
_BROKEN = (msgspec.DecodeError, RecursionError)


def parse_request(body: bytes) -> ChatRequest | Problem:
    """The request in `body`, or a 400 that names the field and never shows a value.

    A null is as good as nothing. Fields that are not checked here are the engine's to judge.
    Never raises, whatever the body is.
    """
    if not body.isascii() and not is_utf8(body):
        return _NO_OBJECT
    try:
        fields = members_of(body)
        try:
            asked = _BODY.decode(body)
        except _BROKEN:
            # Looked at one by one only to say which is at fault. If none is, it was the first value
            # of one that was given twice.
            fault = _fault_in(fields)
            if fault is not None:
                return fault
            asked = _BODY.decode(encode(fields))
        return _request(asked, fields)
    except _BROKEN:
        return _NO_OBJECT


def _request(asked: _Body, fields: dict[str, msgspec.Raw]) -> ChatRequest:
    facts, options, is_stream = facts_of(asked.messages), asked.stream_options, asked.stream is True
    return ChatRequest(
        model=asked.model,
        stream=is_stream,
        usage_wanted=options is not None and options.include_usage is True,
        fields=MappingProxyType(fields),
        prompt=prompt_of(fields["messages"], asked.messages, is_stream=is_stream),
        roles=facts.roles,
        output_limit=least(asked.max_tokens, asked.max_completion_tokens),
        choices=1 if asked.n is None else asked.n,
        media=facts.media,
        has_tools=bool(asked.tools or asked.functions) or facts.has_tool_history,
        is_prefill=facts.is_prefill,
    )


def _fault_in(fields: Mapping[str, msgspec.Raw]) -> Problem | None:
    """What is wrong: the model, else the first field in their order, the messages last."""
    if not is_given(fields.get("model", ABSENT)):  # there is no such model, as for an unknown one
        return problem(Code.MODEL_NOT_FOUND, param="model")
    if not _is_right("model", fields["model"]):
        return _invalid("model", "a string")
    for name, raw in fields.items():
        if name in _KINDS and not _is_right(name, raw):
            return _invalid(name, _KINDS[name])
    if not _is_right("messages", fields.get("messages", ABSENT)):
        return _invalid("messages", _MESSAGES_KIND)
    return None


def _is_right(name: str, raw: msgspec.Raw) -> bool:
    try:
        _FIELDS[name].decode(raw)
    except _BROKEN:
        return False
    return True


def _invalid(name: str, kind: str) -> Problem:
    return problem(Code.INVALID_REQUEST, message=f"`{name}` must be {kind}.", param=name)
