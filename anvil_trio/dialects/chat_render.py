"""A checked Chat request as a body for one tier's engines.

Every change that is ever made to a request is made here or in `chat_compat`, stands in
docs/dialects.md and has one test there; all else keeps its bytes.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from pydantic import JsonValue

from anvil_trio.config.model import Tier
from anvil_trio.dialects.chat_compat import shape_history
from anvil_trio.dialects.chat_request import LIMIT_FIELDS
from anvil_trio.dialects.ir import ChatRequest, OutputLimit, RenderedRequest, least
from anvil_trio.dialects.raw_json import (
    ABSENT,
    NULL,
    encode,
    is_empty_list,
    is_given,
    is_list,
    is_string,
    items_of,
    raw_of,
    with_members,
)
from anvil_trio.errors import Code, Problem, problem

__all__ = ["render_request"]

_Fields = dict[str, msgspec.Raw]

_TRUE, _FALSE = msgspec.Raw(b"true"), msgspec.Raw(b"false")
_OFTEN_IDLE = frozenset({"stop", "tools", "tool_choice"})
_EMPTY_STRING = msgspec.Raw(b'""')
_NOT_FORCING = (msgspec.Raw(b'"auto"'), msgspec.Raw(b'"none"'))
_ASK_FOR_USAGE = msgspec.Raw(b'{"include_usage":true}')
_CONTINUE: Mapping[str, msgspec.Raw] = MappingProxyType({
    "continue_final_message": _TRUE,
    "add_generation_prompt": _FALSE,
})
_LIMIT_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "max_tokens": ("max_tokens",),
    "max_completion_tokens": ("max_completion_tokens",),
    "both": LIMIT_FIELDS,
})
_LIMIT = msgspec.json.Decoder(int | None)
_FORCED_WITHOUT_TOOLS = "`tool_choice` asks for a call, but there are no `tools`."
_TOO_DEEP = "The body is nested too deeply."
_PREFILL_REFUSED = "This model does not continue a last message of the assistant."


def render_request(request: ChatRequest, tier: Tier) -> RenderedRequest | Problem:
    """The body for the tier's engines, or a 400 where this tier cannot take the request.

    Order of precedence: the request, `extra_body_defaults` where it is silent, the tier's rules,
    `extra_body` over everything. Never raises.
    """
    if request.untranslatable is not None:
        return request.untranslatable
    if request.is_prefill and tier.compat.prefill == "refuse":
        return problem(Code.INVALID_REQUEST, message=_PREFILL_REFUSED, param="messages")
    try:
        return _render(request, tier)
    except RecursionError:  # the checks ran with more room on the stack than there is here
        return problem(Code.INVALID_REQUEST, message=_TOO_DEEP)


def _render(request: ChatRequest, tier: Tier) -> RenderedRequest | Problem:
    fields = request.fields.copy()
    history = shape_history(fields["messages"], tier.compat, request.roles)
    fields["messages"] = history.messages
    fields["model"] = raw_of(request.model.strip() if tier.model is None else tier.model)
    if tier.extra_body_defaults:
        _fill(fields, tier.extra_body_defaults)
    dropped = request.dropped_fields
    if not _OFTEN_IDLE.isdisjoint(fields):
        dropped += _drop_idle(fields)
        if "tool_choice" in fields and "tools" not in fields:
            return problem(Code.INVALID_REQUEST, message=_FORCED_WITHOUT_TOOLS, param="tool_choice")
    limit = _limit_output(fields, request, tier)
    if history.is_prefill and not any(is_given(fields.get(name, ABSENT)) for name in _CONTINUE):
        fields.update(_CONTINUE)
    if request.stream:
        _ask_for_usage(fields, request, tier)
    for name, value in tier.extra_body.items():
        fields[name] = raw_of(value)
    return RenderedRequest(body=encode(fields), output_limit=limit, dropped_fields=dropped)


def _fill(fields: _Fields, defaults: Mapping[str, JsonValue]) -> None:
    """Set what the caller left out; a limit only if they set neither of its two names."""
    is_limited = any(is_given(fields.get(name, ABSENT)) for name in LIMIT_FIELDS)
    for name, value in defaults.items():
        if not is_given(fields.get(name, ABSENT)) and not (is_limited and name in LIMIT_FIELDS):
            fields[name] = raw_of(value)


def _drop_idle(fields: _Fields) -> tuple[str, ...]:
    """Take out what says nothing, and would be refused for it; the names of what went."""
    dropped = _drop_empty_stops(fields) if "stop" in fields else ()
    return dropped + _drop_idle_tools(fields)


def _drop_empty_stops(fields: _Fields) -> tuple[str, ...]:
    """Take out stop strings that would stop at once; the names of what went altogether."""
    stop = fields["stop"]
    stops = [stop] if is_string(stop) else items_of(stop) if is_list(stop) else []
    left = [text for text in stops if text != _EMPTY_STRING]
    if len(left) == len(stops):
        return ()
    if left:
        fields["stop"] = raw_of(left)
        return ()
    del fields["stop"]
    return ("stop",)


def _drop_idle_tools(fields: _Fields) -> tuple[str, ...]:
    """Take out `tools` that hold none, and a `tool_choice` that then forces nothing."""
    dropped: tuple[str, ...] = ()
    tools = fields.get("tools", NULL)
    if tools == NULL or is_empty_list(tools):
        fields.pop("tools", None)
        dropped += ("tools",) if tools != NULL else ()
    choice = fields.get("tool_choice", ABSENT)
    if choice == NULL or ("tools" not in fields and choice in _NOT_FORCING):
        del fields["tool_choice"]
        dropped += ("tool_choice",) if choice != NULL else ()
    return dropped


def _limit_output(fields: _Fields, request: ChatRequest, tier: Tier) -> OutputLimit:
    """Set the output limit under the names that the engine reads, never above the tier's."""
    requested = request.output_limit
    applied = least(requested, tier.max_output_tokens)
    if requested is None:  # then the operator's default may be one
        for name in LIMIT_FIELDS:
            if name in fields:
                applied = least(applied, _count(fields[name]))
    if applied is not None:
        raw, names = raw_of(applied), _LIMIT_NAMES[tier.compat.max_tokens_field]
        for name in LIMIT_FIELDS:
            if name in names:
                fields[name] = raw
            else:
                fields.pop(name, None)
    if tier.extra_body:
        pinned = [value for name in LIMIT_FIELDS if type(value := tier.extra_body.get(name)) is int]
        applied = min(pinned, default=applied)
    return OutputLimit(requested, applied)


def _count(raw: msgspec.Raw) -> int | None:
    try:
        return _LIMIT.decode(raw)
    except msgspec.DecodeError:
        return None


def _ask_for_usage(fields: _Fields, request: ChatRequest, tier: Tier) -> None:
    """Ask for the engine's counts, also for a caller that did not; the operator may decide."""
    sent = request.fields.get("stream_options", ABSENT)
    if is_given(sent):
        if not request.usage_wanted:
            fields["stream_options"] = with_members(sent, {"include_usage": _TRUE})
    elif "stream_options" not in tier.extra_body_defaults:
        fields["stream_options"] = _ASK_FOR_USAGE
