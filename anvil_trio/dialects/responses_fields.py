"""Every top-level field of a Responses request that is known here, and what becomes of it.

The page about this dialect is compared with this table, and the table with the types of OpenAI's
own SDK. A field that is not in it is dropped and named in the record.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

import msgspec

from anvil_trio.dialects.raw_json import is_given
from anvil_trio.errors import Code, Problem, problem

__all__ = ["FIELDS", "Fate", "Field", "Reasoning", "check_fields"]

_GREATEST = 2**63 - 1  # no engine counts further
_Positive = Annotated[int, msgspec.Meta(ge=1, le=_GREATEST)]


class Fate(StrEnum):
    """What becomes of a field."""

    KEPT = "kept"  # Chat has it under the same name
    TRANSLATED = "translated"  # Chat has other words for it, or we act on it
    DROPPED = "dropped"  # no engine could tell the difference; named in the record
    REFUSED = "refused"  # without it the answer would mean something else; null and default pass


class _Object(msgspec.Struct, gc=False):
    """Any JSON object."""


class Reasoning(msgspec.Struct, gc=False):
    """The part of `reasoning` that is read."""

    effort: str | None = None
    summary: str | None = None
    generate_summary: str | None = None


class _Format(msgspec.Struct, gc=False):
    type: str = "text"
    name: str | None = None
    schema: _Object | None = None


class _Text(msgspec.Struct, gc=False):
    format: _Format | None = None
    verbosity: str | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """What becomes of one field, and what it must be: a type, and the words for when it is not.

    The words are fixed. `default` is the value that a refused field may have.
    """

    fate: Fate
    kind: object = object
    words: str = ""
    default: object = None


def _number(name: str, fate: Fate = Fate.KEPT) -> Field:
    return Field(fate, float, f"`{name}` must be a finite number.")


def _text(name: str) -> Field:
    return Field(Fate.DROPPED, str, f"`{name}` must be a string.")


_ANY = Field(Fate.DROPPED)
_KEPT = Field(Fate.KEPT)
_STATELESS = "Nothing is kept here between requests: `{}` is not supported."
_UNSUPPORTED = "`{}` is not supported here."
_UNREADABLE = "`{}` has a number that is too large, or is nested too deeply."
"""Of a field that may be anything; its name is one of the table's and never input."""

FIELDS: Mapping[str, Field] = MappingProxyType({
    "model": Field(Fate.TRANSLATED, str, "`model` must be a string."),
    "input": Field(Fate.TRANSLATED),
    "instructions": Field(Fate.TRANSLATED, str, "`instructions` must be a string."),
    "tools": Field(Fate.TRANSLATED),
    "tool_choice": Field(Fate.TRANSLATED),
    "text": Field(
        Fate.TRANSLATED,
        _Text,
        "`text` must be an object; its `format` an object with a string `type`.",
    ),
    "reasoning": Field(
        Fate.TRANSLATED,
        Reasoning,
        "`reasoning` must be an object; its `effort` and `summary` strings.",
    ),
    "max_output_tokens": Field(
        Fate.TRANSLATED, _Positive, "`max_output_tokens` must be a positive integer."
    ),
    "metadata": Field(Fate.TRANSLATED, dict[str, str], "`metadata` must be an object of strings."),
    "stream": Field(Fate.KEPT, bool, "`stream` must be true or false."),
    "temperature": _number("temperature"),
    "top_p": _number("top_p"),
    "parallel_tool_calls": Field(Fate.KEPT, bool, "`parallel_tool_calls` must be true or false."),
    # These are no part of the API; engines and their callers know them by Chat's names.
    "presence_penalty": _number("presence_penalty"),
    "frequency_penalty": _number("frequency_penalty"),
    "stop": Field(Fate.KEPT, str | list[str], "`stop` must be a string or a list of strings."),
    "seed": _KEPT,
    "top_k": _KEPT,
    "min_p": _KEPT,
    "chat_template_kwargs": Field(Fate.KEPT, _Object, "`chat_template_kwargs` must be an object."),
    "include": Field(Fate.DROPPED, list[str], "`include` must be a list of strings."),
    "store": Field(Fate.DROPPED, bool, "`store` must be true or false."),
    "stream_options": Field(Fate.DROPPED, _Object, "`stream_options` must be an object."),
    "top_logprobs": Field(Fate.DROPPED, int, "`top_logprobs` must be an integer."),
    "max_tool_calls": Field(
        Fate.DROPPED, _Positive, "`max_tool_calls` must be a positive integer."
    ),
    "prompt_cache_key": _text("prompt_cache_key"),
    "prompt_cache_options": _ANY,
    "prompt_cache_retention": _text("prompt_cache_retention"),
    "safety_identifier": _text("safety_identifier"),
    "service_tier": _text("service_tier"),
    "user": _text("user"),
    "client_metadata": _ANY,
    "access_programs": _ANY,
    "background_options": _ANY,
    "context_management": _ANY,
    "image": _ANY,
    "previous_response_id": Field(Fate.REFUSED, words=_STATELESS.format("previous_response_id")),
    "conversation": Field(Fate.REFUSED, words=_STATELESS.format("conversation")),
    "prompt": Field(Fate.REFUSED, words=_STATELESS.format("prompt")),
    "background": Field(Fate.REFUSED, words=_STATELESS.format("background"), default=False),
    "truncation": Field(
        Fate.REFUSED,
        words="`truncation` other than `disabled` is not supported here.",
        default="disabled",
    ),
    "moderation": Field(Fate.REFUSED, words=_UNSUPPORTED.format("moderation")),
})

_DECODERS: Mapping[str, msgspec.json.Decoder[object]] = MappingProxyType({
    name: msgspec.json.Decoder(field.kind) for name, field in FIELDS.items()
})
_BROKEN = (msgspec.DecodeError, RecursionError)


def check_fields(fields: Mapping[str, msgspec.Raw]) -> dict[str, object] | Problem:
    """The known fields, decoded; nulls are left out. A 400 that names the first bad one."""
    values: dict[str, object] = {}
    for name, raw in fields.items():
        field = FIELDS.get(name)
        if field is None or not is_given(raw):
            continue
        try:
            value = _DECODERS[name].decode(raw)
        except _BROKEN:
            words = field.words or _UNREADABLE.format(name)
            return problem(Code.INVALID_REQUEST, message=words, param=name)
        if field.fate is Fate.REFUSED and value != field.default:
            return problem(Code.INVALID_REQUEST, message=field.words, param=name)
        values[name] = value
    return values
