"""The fields of a Messages request: what each must be, and what becomes of it for Chat engines."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from anvil_trio.dialects.messages_content import MESSAGES, SYSTEM, Block, Message
from anvil_trio.dialects.messages_tools import TOOL_CHOICE, TOOLS, Tool, ToolChoice
from anvil_trio.dialects.raw_json import ABSENT, is_given
from anvil_trio.errors import Code, Problem, problem

__all__ = [
    "REFUSED_FIELDS",
    "SAID_FIELDS",
    "TRANSLATED_FIELDS",
    "Fields",
    "Format",
    "check_fields",
    "invalid",
]

SAID_FIELDS = ("temperature", "top_p", "top_k")
"""Fields that Chat's engines read under the same name; their values pass byte for byte."""

TRANSLATED_FIELDS = (
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "output_format",
    "stop_sequences",
    "stream",
    "system",
    "thinking",
    "tool_choice",
    "tools",
)
"""Fields that have another shape or name in Chat."""

REFUSED_FIELDS = ("thread",)
"""Fields that would change what the request means, and that only Anthropic's servers can obey."""

_BROKEN = (msgspec.DecodeError, RecursionError)
_GREATEST = 2**63 - 1  # no engine counts further
_Positive = Annotated[int, msgspec.Meta(ge=1, le=_GREATEST)]


class _Metadata(msgspec.Struct, gc=False):
    user_id: str | None = None


class _Thinking(msgspec.Struct, gc=False):
    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: _Positive | None = None
    display: msgspec.Raw = ABSENT


class Format(msgspec.Struct, gc=False):
    """The shape that an answer must have."""

    type: str
    schema: msgspec.Raw = ABSENT
    name: str | None = None


class _OutputConfig(msgspec.Struct, gc=False):
    effort: str | None = None
    format: Format | None = None


class Fields(msgspec.Struct, gc=False):
    """The checked values; each is decoded from the field of its name."""

    model: str | None = None
    max_tokens: int | None = None
    messages: list[Message] = []
    metadata: _Metadata | None = None
    output_config: _OutputConfig | None = None
    output_format: Format | None = None
    stop_sequences: list[str] | None = None
    stream: bool | None = None
    system: str | list[Block] | None = None
    temperature: float | None = None
    thinking: _Thinking | None = None
    tool_choice: ToolChoice | None = None
    tools: list[Tool] = []
    top_k: int | None = None
    top_p: float | None = None


class _Check:
    """What one field must be, and the fixed words for when it is not."""

    __slots__ = ("decode", "message")

    def __init__(self, decode: Callable[[bytes], object], message: str) -> None:
        self.decode, self.message = decode, message


def _check(kind: object, message: str) -> _Check:
    decoder: msgspec.json.Decoder[object] = msgspec.json.Decoder(kind)
    return _Check(decoder.decode, message)


_CHECKS: Mapping[str, _Check] = MappingProxyType({
    "model": _check(str, "`model` must be a string."),
    "max_tokens": _check(_Positive, "`max_tokens` must be a positive integer."),
    "messages": _Check(
        MESSAGES.decode,
        "`messages` must be a non-empty list of objects, each with a `role` and with `content` "
        "that is a string or a list of blocks.",
    ),
    "metadata": _check(_Metadata, "`metadata` must be an object; its `user_id` a string."),
    "output_config": _check(_OutputConfig, "`output_config` must be an object."),
    "output_format": _check(Format, "`output_format` must be an object with a `type`."),
    "stop_sequences": _check(list[str], "`stop_sequences` must be a list of strings."),
    "stream": _check(bool, "`stream` must be true or false."),
    "system": _Check(SYSTEM.decode, "`system` must be a string or a list of text blocks."),
    "temperature": _check(float, "`temperature` must be a finite number."),
    "thinking": _check(
        _Thinking,
        "`thinking` must have the type enabled, disabled or adaptive, and a positive budget.",
    ),
    "tool_choice": _Check(
        TOOL_CHOICE.decode, "`tool_choice` must have the type auto, any, none or tool."
    ),
    "tools": _Check(TOOLS.decode, "`tools` must be a list of objects, each with a `name`."),
    "top_k": _check(_Positive, "`top_k` must be a positive integer."),
    "top_p": _check(float, "`top_p` must be a finite number."),
})


def check_fields(members: Mapping[str, msgspec.Raw]) -> Fields | Problem:
    """The fields that have a rule, decoded."""
    fields = Fields()
    for name, raw in members.items():
        check = _CHECKS.get(name)
        if check is not None and is_given(raw):
            try:
                setattr(fields, name, check.decode(raw))
            except _BROKEN:
                return invalid(name)
    return fields


def invalid(name: str, message: str | None = None) -> Problem:
    """A 400 that names the field; in the field's own fixed words if no others are given."""
    if message is None:
        message = _CHECKS[name].message
    return problem(Code.INVALID_REQUEST, message=message, param=name)
