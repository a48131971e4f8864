"""A Responses body, checked and put in Chat's words."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from anvil_trio.dialects.chat_messages import MESSAGES, facts_of
from anvil_trio.dialects.ir import ChatRequest
from anvil_trio.dialects.raw_json import ABSENT, is_given, is_utf8, members_of, raw_of
from anvil_trio.dialects.responses_fields import FIELDS, Fate, Reasoning, check_fields
from anvil_trio.dialects.responses_input import chat_messages
from anvil_trio.dialects.responses_parts import Refused, refuse
from anvil_trio.dialects.responses_tools import chat_tools
from anvil_trio.dialects.tokens import prompt_of
from anvil_trio.errors import Code, Problem, problem

__all__ = ["parse_request", "wants_summary"]

_Fields = Mapping[str, msgspec.Raw]

_BROKEN = (msgspec.DecodeError, RecursionError)
_BODY_WORDS = "The body must be one JSON object in UTF-8."
_FORMAT_WORDS = "`text.format` must be text, json_object, or json_schema with `name` and `schema`."
_FORMAT_MEMBERS = ("name", "description", "schema", "strict")
_WORD = msgspec.json.Decoder(str)
_REASONING = msgspec.json.Decoder(Reasoning)
_LIMIT = "max_completion_tokens"
_SAME_NAME = frozenset(
    name
    for name, field in FIELDS.items()
    if field.fate is Fate.KEPT and name != "parallel_tool_calls"
)


def parse_request(body: bytes) -> ChatRequest | Problem:
    """The request in `body`, or a 400 that names the field and never shows a value.

    A null is as good as nothing. Never raises, whatever the body is.
    """
    try:
        fields = members_of(body) if is_utf8(body) else None
    except _BROKEN:
        fields = None
    if fields is None:
        return problem(Code.INVALID_REQUEST, message=_BODY_WORDS)
    if not is_given(fields.get("model", ABSENT)):
        return problem(Code.MODEL_NOT_FOUND, param="model")
    values = check_fields(fields)
    if isinstance(values, Problem):
        return values
    try:
        return _request(fields, values, body)
    except Refused as refused:
        return refused.problem
    except _BROKEN:
        return problem(Code.INVALID_REQUEST, message=_BODY_WORDS)


def wants_summary(sent: Mapping[str, msgspec.Raw]) -> bool:
    """Whether a request that was checked asks for a summary of the reasoning."""
    raw = sent.get("reasoning", ABSENT)
    asked = _REASONING.decode(raw) if is_given(raw) else Reasoning()
    return bool(asked.summary or asked.generate_summary)


def _request(fields: _Fields, values: Mapping[str, object], source: bytes) -> ChatRequest:
    """All of it in Chat's shape. Raises Refused."""
    dropped = [name for name, raw in fields.items() if is_given(raw) and _is_dropped(name)]
    instructions = str(values.get("instructions", ""))
    sent = chat_messages(fields.get("input", ABSENT), instructions, dropped)
    tools = chat_tools(fields.get("tools", ABSENT), fields.get("tool_choice", ABSENT))
    raw = raw_of(sent)
    messages = MESSAGES.decode(raw)
    facts, is_stream = facts_of(messages), values.get("stream") is True
    chat = {
        "model": fields["model"],
        "messages": raw,
        "tools": tools.tools,
        "tool_choice": tools.choice,
        "parallel_tool_calls": _parallel(fields, tools.tools, dropped),
        _LIMIT: fields.get("max_output_tokens", ABSENT),
        "reasoning_effort": _member(fields, "reasoning", "effort"),
        "verbosity": _member(fields, "text", "verbosity"),
        "response_format": _response_format(_member(fields, "text", "format")),
        **{name: value for name, value in fields.items() if name in _SAME_NAME},
    }
    limit = values.get("max_output_tokens")
    return ChatRequest(
        model=str(values["model"]),
        stream=is_stream,
        usage_wanted=True,
        fields=MappingProxyType({name: value for name, value in chat.items() if is_given(value)}),
        prompt=prompt_of(raw, messages, is_stream=is_stream),
        roles=facts.roles,
        output_limit=limit if isinstance(limit, int) else None,
        media=facts.media,
        has_tools=is_given(tools.tools) or facts.has_tool_history,
        is_prefill=facts.is_prefill,
        dropped_fields=(*dropped, *tools.dropped),
        source=source,
    )


def _is_dropped(name: str) -> bool:
    field = FIELDS.get(name)
    return field is None or field.fate is Fate.DROPPED


def _parallel(fields: _Fields, tools: msgspec.Raw, dropped: list[str]) -> msgspec.Raw:
    """`parallel_tool_calls`, which means something only where there are tools."""
    asked = fields.get("parallel_tool_calls", ABSENT)
    if is_given(asked) and not is_given(tools):
        dropped.append("parallel_tool_calls")
        return ABSENT
    return asked


def _member(fields: _Fields, name: str, inner: str) -> msgspec.Raw:
    """A member of a field that is an object; ABSENT if either is not there."""
    raw = fields.get(name, ABSENT)
    return members_of(raw).get(inner, ABSENT) if is_given(raw) else ABSENT


def _response_format(raw: msgspec.Raw) -> msgspec.Raw:
    """`text.format` as Chat's `response_format`; plain text is what comes anyway."""
    if not is_given(raw):
        return ABSENT
    members = members_of(raw)
    kind = members.get("type", ABSENT)
    match _WORD.decode(kind) if is_given(kind) else "text":
        case "text":
            return ABSENT
        case "json_object":
            return raw_of({"type": "json_object"})
        case "json_schema" if {"name", "schema"} <= members.keys():
            kept = [name for name in _FORMAT_MEMBERS if is_given(members.get(name, ABSENT))]
            schema = {name: members[name] for name in kept}
            return raw_of({"type": "json_schema", "json_schema": schema})
    raise refuse("text.format", _FORMAT_WORDS)
