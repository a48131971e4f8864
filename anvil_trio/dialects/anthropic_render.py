"""A checked request of any dialect as a body for engines that speak Anthropic Messages.

A caller of Messages has their own body sent, with the changes that docs/dialects/anthropic_tiers.md
lists. Other callers' requests, which are Chat members here, are put in Messages' words; a field
that would change meaning silently is refused by name, whatever else is dropped and named in the
record.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from anvil_trio.config.model import Tier
from anvil_trio.dialects.anthropic_history import ChatTurn, Turns, Unsaid
from anvil_trio.dialects.anthropic_source import message_fields
from anvil_trio.dialects.chat_compat import shape_history
from anvil_trio.dialects.ir import ChatRequest, OutputLimit, RenderedRequest
from anvil_trio.dialects.raw_json import ABSENT, encode, is_given, is_string, raw_of
from anvil_trio.errors import Code, Problem, problem

__all__ = ["render_request"]

Fields = dict[str, msgspec.Raw]

_DEFAULT_LIMIT = 1024
_BROKEN = (msgspec.DecodeError, RecursionError)
_SAID = ("temperature", "top_p", "top_k", "stream")
_TRANSLATED = frozenset({
    *_SAID,
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "stop",
    "stream_options",
    "tool_choice",
    "tools",
    "user",
})
_REFUSED = ("audio", "functions", "function_call", "moderation")
"""Fields that change what the answer is, and that Messages has no word for."""

_IDLE = frozenset({b"null", b"false", b"{}", b"[]", b"0", b"0.0"})
_EFFORTS: Mapping[str, str] = MappingProxyType({"minimal": "low"})
_NO_SCHEMA = msgspec.Raw(b'{"type":"object","properties":{}}')
_ANY_OBJECT = msgspec.Raw(b'{"type":"object"}')
_CANNOT_SAY = "This model's server has no word for `{}`."
_FORCED_WITHOUT_TOOLS = "`tool_choice` asks for a call, but there are no `tools`."
_TOO_DEEP = "The body is nested too deeply."
_PREFILL_REFUSED = "This model does not continue a last message of the assistant."


class _Function(msgspec.Struct, gc=False):
    name: str
    description: str | None = None
    parameters: msgspec.Raw = ABSENT
    strict: bool | None = None


class _Tool(msgspec.Struct, gc=False):
    type: str = "function"
    function: _Function | None = None


class _Named(msgspec.Struct, gc=False):
    name: str


class _Choice(msgspec.Struct, gc=False):
    type: str = "function"
    function: _Named | None = None


class _Schema(msgspec.Struct, gc=False):
    schema: msgspec.Raw = ABSENT


class _Format(msgspec.Struct, gc=False):
    type: str
    json_schema: _Schema | None = None


_TURNS = msgspec.json.Decoder(list[ChatTurn])
_TOOLS = msgspec.json.Decoder(list[_Tool])
_CHOICE = msgspec.json.Decoder(str | _Choice)
_FORMAT = msgspec.json.Decoder(_Format)
_STOP = msgspec.json.Decoder(str | list[str])
_TEXT = msgspec.json.Decoder(str)
_LIMIT = msgspec.json.Decoder(int | None)


def render_request(
    request: ChatRequest, tier: Tier, *, is_messages: bool
) -> RenderedRequest | Problem:
    """The body for the tier's engines, or a 400 where this tier cannot take the request.

    Order of precedence: the request, `extra_body_defaults` where it is silent, the tier's rules,
    `extra_body` over everything. Never raises.
    """
    if request.is_prefill and tier.compat.prefill == "refuse":
        return problem(Code.INVALID_REQUEST, message=_PREFILL_REFUSED, param="messages")
    if not is_messages and request.untranslatable is not None:
        return request.untranslatable
    try:
        return _render(request, tier, is_messages=is_messages)
    except Unsaid as unsaid:
        words = _CANNOT_SAY.format(unsaid.where)
        return problem(Code.INVALID_REQUEST, message=words, param=unsaid.where)
    except msgspec.DecodeError:
        return problem(Code.INVALID_REQUEST, param="messages")
    except RecursionError:
        return problem(Code.INVALID_REQUEST, message=_TOO_DEEP)


def _render(request: ChatRequest, tier: Tier, *, is_messages: bool) -> RenderedRequest | Problem:
    dropped: set[str] = set()
    if is_messages:
        assert request.source is not None, "a Messages request keeps its source"
        fields = message_fields(request.source, tier.compat, dropped)
    else:
        dropped |= set(request.dropped_fields)
        fields = _translated(request, tier, dropped)
    if "tools" not in fields and _forces(fields.get("tool_choice", ABSENT)):
        return problem(Code.INVALID_REQUEST, message=_FORCED_WITHOUT_TOOLS, param="tool_choice")
    fields["model"] = raw_of(request.model.strip() if tier.model is None else tier.model)
    for name, value in tier.extra_body_defaults.items():
        if not is_given(fields.get(name, ABSENT)):
            fields[name] = raw_of(value)
    limit = _limit_output(fields, request, tier, dropped)
    fields.update({name: raw_of(value) for name, value in tier.extra_body.items()})
    return RenderedRequest(encode(fields), limit, tuple(sorted(dropped)))


def _translated(request: ChatRequest, tier: Tier, dropped: set[str]) -> Fields:
    """Chat members in Messages' words. Raises Unsaid."""
    sent = {name: raw for name, raw in request.fields.items() if is_given(raw)}
    asked = [name for name, raw in sent.items() if bytes(raw) not in _IDLE]
    for name in _REFUSED:
        if name in asked:
            raise Unsaid(name)
    if request.choices != 1:
        raise Unsaid("n")
    dropped |= {name for name in asked if name not in _TRANSLATED}
    turns = Turns()
    history = shape_history(request.fields["messages"], tier.compat, request.roles)
    turns.add_all(_TURNS.decode(history.messages))
    dropped |= turns.dropped
    fields: Fields = {"messages": raw_of(turns.turns)}
    if turns.system:
        fields["system"] = raw_of(turns.system)
    fields |= {name: sent[name] for name in _SAID if name in sent}
    return {
        **fields,
        **_stops(sent.get("stop", ABSENT)),
        **_tools(sent, dropped),
        **_output(sent),
        **({"metadata": raw_of({"user_id": sent["user"]})} if "user" in sent else {}),
    }


def _stops(raw: msgspec.Raw) -> Fields:
    if not is_given(raw):
        return {}
    found = _STOP.decode(raw)
    stops = [text for text in ([found] if isinstance(found, str) else found) if text]
    return {"stop_sequences": raw_of(stops)} if stops else {}


def _tools(sent: Mapping[str, msgspec.Raw], dropped: set[str]) -> Fields:
    tools = _TOOLS.decode(sent["tools"]) if "tools" in sent else []
    made = [_tool(tool.function) for tool in tools if tool.type == "function" and tool.function]
    if len(made) < len(tools):
        dropped.add("tools.hosted")
    if tools and not made:
        dropped |= {"tool_choice"} & sent.keys()
        return {}
    fields: Fields = {"tools": raw_of(made)} if made else {}
    choice = _choice(sent["tool_choice"]) if "tool_choice" in sent else {}
    parallel = sent.get("parallel_tool_calls", ABSENT)
    if made and is_given(parallel) and bytes(parallel) == b"false" and choice.get("type") != "none":
        choice = {"type": "auto", **choice, "disable_parallel_tool_use": True}
    if choice and (made or choice["type"] not in {"auto", "none"}):
        fields["tool_choice"] = raw_of(choice)
    return fields


def _tool(function: _Function) -> dict[str, object]:
    tool: dict[str, object] = {"name": function.name}
    if function.description is not None:
        tool["description"] = function.description
    tool["input_schema"] = function.parameters if is_given(function.parameters) else _NO_SCHEMA
    if function.strict is not None:
        tool["strict"] = function.strict
    return tool


def _choice(raw: msgspec.Raw) -> dict[str, object]:
    found = _CHOICE.decode(raw)
    if isinstance(found, str):
        words = {"auto": "auto", "none": "none", "required": "any"}
        if found not in words:
            raise Unsaid("tool_choice")
        return {"type": words[found]}
    if found.type != "function" or found.function is None:
        raise Unsaid("tool_choice")
    return {"type": "tool", "name": found.function.name}


def _output(sent: Mapping[str, msgspec.Raw]) -> Fields:
    """How hard to think, and the format that the answer must have."""
    config: dict[str, object] = {}
    fields: Fields = {}
    if "reasoning_effort" in sent and is_string(sent["reasoning_effort"]):
        effort = _TEXT.decode(sent["reasoning_effort"])
        if effort == "none":
            fields["thinking"] = raw_of({"type": "disabled"})
        else:
            config["effort"] = _EFFORTS.get(effort, effort)
    if "response_format" in sent:
        wanted = _FORMAT.decode(sent["response_format"])
        if (
            wanted.type == "json_schema"
            and wanted.json_schema
            and is_given(wanted.json_schema.schema)
        ):
            config["format"] = {"type": "json_schema", "schema": wanted.json_schema.schema}
        elif wanted.type == "json_object":
            config["format"] = {"type": "json_schema", "schema": _ANY_OBJECT}
        elif wanted.type != "text":
            raise Unsaid("response_format")
    return {**fields, "output_config": raw_of(config)} if config else fields


def _forces(raw: msgspec.Raw) -> bool:
    """Whether a tool choice, in Messages' words, asks for a call."""
    if not is_given(raw):
        return False
    return _CHOICE_TYPE.decode(raw).type in {"any", "tool"}


class _ChoiceType(msgspec.Struct, gc=False):
    type: str


_CHOICE_TYPE = msgspec.json.Decoder(_ChoiceType)


def _limit_output(
    fields: Fields, request: ChatRequest, tier: Tier, dropped: set[str]
) -> OutputLimit:
    """Messages needs a limit: the caller's, the operator's, or a fixed one; never above the tier's.

    A thinking budget, which must be below it, is lowered with it.
    """
    requested = request.output_limit
    known = [requested, tier.max_output_tokens]
    if requested is None:
        known.append(_count(fields.get("max_tokens", ABSENT)))
    applied = min((limit for limit in known if limit is not None), default=_DEFAULT_LIMIT)
    fields["max_tokens"] = raw_of(applied)
    if requested is not None and applied < requested:
        _lower_budget(fields, applied, dropped)
    pinned = tier.extra_body.get("max_tokens")
    return OutputLimit(requested, pinned if type(pinned) is int else applied)


class _Thinking(msgspec.Struct, gc=False):
    type: str
    budget_tokens: int | None = None


_THINKING = msgspec.json.Decoder(_Thinking)
_LEAST_BUDGET = 1024


def _lower_budget(fields: Fields, limit: int, dropped: set[str]) -> None:
    if not is_given(fields.get("thinking", ABSENT)):
        return
    thinking = _THINKING.decode(fields["thinking"])
    if thinking.budget_tokens is None or thinking.budget_tokens < limit:
        return
    if limit > _LEAST_BUDGET:
        fields["thinking"] = raw_of({"type": thinking.type, "budget_tokens": limit - 1})
    else:
        del fields["thinking"]
        dropped.add("thinking")


def _count(raw: msgspec.Raw) -> int | None:
    try:
        return _LIMIT.decode(raw) if is_given(raw) else None
    except msgspec.DecodeError:
        return None
