"""A Chat Completions body, checked for types and otherwise left as it is."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

import msgspec

from anvil_trio.dialects.chat_messages import (
    MESSAGES,
    Message,
    has_tool_history,
    is_prefill,
    media_in,
    texts_of,
)
from anvil_trio.dialects.ir import ChatRequest
from anvil_trio.dialects.raw_json import ABSENT, is_given, is_utf8, members_of
from anvil_trio.dialects.tokens import estimate_tokens
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


class _Check:
    """What one field must be, and the fixed words for when it is not."""

    __slots__ = ("decode", "message")

    def __init__(self, kind: object, message: str) -> None:
        decoder: msgspec.json.Decoder[object] = msgspec.json.Decoder(kind)
        self.decode = decoder.decode
        self.message = message


def _number(name: str) -> _Check:
    return _Check(float, f"`{name}` must be a finite number.")


def _positive(name: str) -> _Check:
    kind = Annotated[int, msgspec.Meta(ge=1, le=_GREATEST)]
    return _Check(kind, f"`{name}` must be a positive integer.")


def _objects(name: str) -> _Check:
    return _Check(list[_Object], f"`{name}` must be a list of objects.")


_CHECKS: Mapping[str, _Check] = MappingProxyType({
    "stream": _Check(bool, "`stream` must be true or false."),
    "n": _positive("n"),
    **{name: _positive(name) for name in LIMIT_FIELDS},
    "temperature": _number("temperature"),
    "top_p": _number("top_p"),
    "presence_penalty": _number("presence_penalty"),
    "frequency_penalty": _number("frequency_penalty"),
    "stop": _Check(str | list[str], "`stop` must be a string or a list of strings."),
    "tools": _objects("tools"),
    "functions": _objects("functions"),
    "tool_choice": _Check(
        str | _Choice, "`tool_choice` must be a string or an object that names a function."
    ),
    "stream_options": _Check(
        _StreamOptions, "`stream_options` must be an object; its `include_usage` true or false."
    ),
})

_MODEL = msgspec.json.Decoder(str)
_MODEL_WORDS = "`model` must be a string."
_MESSAGES_WORDS = (
    "`messages` must be a non-empty list of objects, each with a string `role` and with `content` "
    "that is a string, a list of parts or null."
)
_BODY_WORDS = "The body must be one JSON object in UTF-8."
_BROKEN = (msgspec.DecodeError, RecursionError)


def parse_request(body: bytes) -> ChatRequest | Problem:
    """The request in `body`, or a 400 that names the field and never shows a value.

    A null is as good as nothing. Fields that are not checked here are the engine's to judge.
    Never raises, whatever the body is.
    """
    try:
        fields = members_of(body) if is_utf8(body) else None
    except _BROKEN:
        fields = None
    if fields is None:
        return problem(Code.INVALID_REQUEST, message=_BODY_WORDS)
    model = _model(fields.get("model", ABSENT))
    if isinstance(model, Problem):
        return model
    values = _values(fields)
    if isinstance(values, Problem):
        return values
    messages = _messages(fields.get("messages", ABSENT))
    if messages is None:
        return _invalid("messages", _MESSAGES_WORDS)
    return _request(model, fields, values, messages)


def _model(raw: msgspec.Raw) -> str | Problem:
    """The caller's spelling. Without one there is no such model: a 404, as for an unknown one."""
    if not is_given(raw):
        return problem(Code.MODEL_NOT_FOUND, param="model")
    try:
        return _MODEL.decode(raw)
    except _BROKEN:
        return _invalid("model", _MODEL_WORDS)


def _values(fields: Mapping[str, msgspec.Raw]) -> dict[str, object] | Problem:
    """The fields that have a rule, decoded; nulls are left out."""
    values: dict[str, object] = {}
    for name, raw in fields.items():
        check = _CHECKS.get(name)
        if check is not None and is_given(raw):
            try:
                values[name] = check.decode(raw)
            except _BROKEN:
                return _invalid(name, check.message)
    return values


def _messages(raw: msgspec.Raw) -> list[Message] | None:
    try:
        return MESSAGES.decode(raw) or None
    except _BROKEN:
        return None


def _request(
    model: str,
    fields: dict[str, msgspec.Raw],
    values: dict[str, object],
    messages: list[Message],
) -> ChatRequest:
    limits = [value for name in LIMIT_FIELDS if isinstance(value := values.get(name), int)]
    options = values.get("stream_options")
    choices = values.get("n")
    return ChatRequest(
        model=model,
        stream=values.get("stream") is True,
        usage_wanted=isinstance(options, _StreamOptions) and options.include_usage is True,
        fields=MappingProxyType(fields),
        prompt_tokens=estimate_tokens(texts_of(messages)),
        output_limit=min(limits, default=None),
        choices=choices if isinstance(choices, int) else 1,
        media=media_in(messages),
        has_tools=bool(values.get("tools") or values.get("functions"))
        or has_tool_history(messages),
        is_prefill=is_prefill(messages),
        roles=frozenset([message.role for message in messages]),
    )


def _invalid(name: str, message: str) -> Problem:
    return problem(Code.INVALID_REQUEST, message=message, param=name)
