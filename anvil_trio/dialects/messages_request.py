"""An Anthropic Messages body, checked for types and put into Chat's members.

What each field becomes is listed in docs/dialects.md. A field that must not be lost in silence is
refused by name; whatever else Chat has no word for is dropped and named in the request's record.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from anvil_trio.dialects.chat_messages import MESSAGES as CHAT_MESSAGES
from anvil_trio.dialects.chat_messages import facts_of
from anvil_trio.dialects.ir import ChatRequest
from anvil_trio.dialects.messages_fields import (
    REFUSED_FIELDS,
    SAID_FIELDS,
    TRANSLATED_FIELDS,
    Fields,
    check_fields,
    invalid,
)
from anvil_trio.dialects.messages_history import History
from anvil_trio.dialects.messages_tools import chat_tool_choice, chat_tools
from anvil_trio.dialects.raw_json import ABSENT, is_given, is_utf8, members_of, raw_of
from anvil_trio.dialects.tokens import prompt_of
from anvil_trio.errors import Code, Problem, problem

__all__ = ["parse_request"]

_BROKEN = (msgspec.DecodeError, RecursionError)
_ROLES = frozenset({"user", "assistant", "system", "developer"})
_SOME_THOUGHT, _MUCH_THOUGHT = 4096, 16_384  # budgets from which effort is medium, and high
_EFFORTS: Mapping[str, str] = MappingProxyType({
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
})
_SCHEMA_NAME = "output"  # Chat wants one, and shows it to nobody
_TRUE = msgspec.Raw(b"true")
_IDLE = frozenset({b"false", b"{}", b"[]"})
_BODY_WORDS = "The body must be one JSON object in UTF-8."
_CANNOT_SAY = "Only Anthropic's own servers can obey `{}`; this model's cannot."
_ROLE_WORDS = "`messages[].role` must be user, assistant or system."


def parse_request(
    body: bytes, *, is_count: bool = False, keeps_billing_header: bool = False
) -> ChatRequest | Problem:
    """The request in `body`, or a 400 that names the field and never shows a value.

    A null is as good as nothing. A request whose tokens shall only be counted needs no limit.
    Never raises, whatever the body is.
    """
    members = _members(body)
    if members is None:
        return problem(Code.INVALID_REQUEST, message=_BODY_WORDS)
    fields = check_fields(members)
    if isinstance(fields, Problem):
        return fields
    missing = _missing(fields, is_count=is_count)
    if missing is not None:
        return missing
    history = History(keeps_billing_header=keeps_billing_header)
    try:
        _tell(history, fields)
        return _request(body, members, fields, history)
    except _BROKEN:  # also for text that is nested just too deeply for what is done here
        return invalid("messages")


def _missing(fields: Fields, *, is_count: bool) -> Problem | None:
    """What must be there and is not. Without a model there is no such model: a 404."""
    if fields.model is None:
        return problem(Code.MODEL_NOT_FOUND, param="model")
    if fields.max_tokens is None and not is_count:
        return invalid("max_tokens")
    if not fields.messages:
        return invalid("messages")
    if any(message.role not in _ROLES for message in fields.messages):
        return invalid("messages", _ROLE_WORDS)
    return None


def _members(body: bytes) -> dict[str, msgspec.Raw] | None:
    try:
        return members_of(body) if is_utf8(body) else None
    except _BROKEN:
        return None


def _tell(history: History, fields: Fields) -> None:
    """The whole conversation. Raises msgspec.DecodeError for blocks of a wrong shape."""
    if fields.system is not None:
        history.add_system(fields.system)
    for at, message in enumerate(fields.messages):
        history.add(message, at)


def _request(
    body: bytes, members: Mapping[str, msgspec.Raw], fields: Fields, history: History
) -> ChatRequest:
    dropped = history.dropped
    messages = raw_of(history.messages)
    made = {
        "model": raw_of(fields.model),
        "messages": messages,
        **{name: members[name] for name in SAID_FIELDS if is_given(members.get(name, ABSENT))},
        **_limits(fields),
        **_tools(fields, dropped),
        **_metadata(members, fields, dropped),
        **_output(members, fields, dropped, history),
        **_effort(fields, dropped),
    }
    known = {*SAID_FIELDS, *TRANSLATED_FIELDS, *REFUSED_FIELDS}
    dropped |= {name for name, raw in members.items() if name not in known and _asks(raw)}
    refused = [name for name in REFUSED_FIELDS if _asks(members.get(name, ABSENT))]
    unsaid = refused[0] if refused else history.unsaid
    read = CHAT_MESSAGES.decode(messages)
    facts, is_stream = facts_of(read), fields.stream is True
    return ChatRequest(
        model=fields.model or "",
        stream=is_stream,
        usage_wanted=True,
        fields=MappingProxyType(made),
        prompt=prompt_of(messages, read, is_stream=is_stream),
        roles=facts.roles,
        output_limit=fields.max_tokens,
        media=facts.media,
        has_tools="tools" in made or facts.has_tool_history,
        is_prefill=facts.is_prefill,
        dropped_fields=tuple(sorted(dropped)),
        source=body,
        untranslatable=None if unsaid is None else _refused(unsaid),
    )


def _limits(fields: Fields) -> dict[str, msgspec.Raw]:
    made = {} if fields.max_tokens is None else {"max_tokens": raw_of(fields.max_tokens)}
    if fields.stop_sequences:
        made["stop"] = raw_of(fields.stop_sequences)
    if fields.stream:
        made["stream"] = _TRUE
    return made


def _tools(fields: Fields, dropped: set[str]) -> dict[str, msgspec.Raw]:
    tools = chat_tools(fields.tools, dropped)
    made = {"tools": raw_of(tools)} if tools else {}
    if fields.tool_choice is not None:
        made |= chat_tool_choice(fields.tool_choice, fields.tools, dropped)
    return made


def _metadata(
    members: Mapping[str, msgspec.Raw], fields: Fields, dropped: set[str]
) -> dict[str, msgspec.Raw]:
    if fields.metadata is None:
        return {}
    if members_of(members["metadata"]).keys() - {"user_id"}:
        dropped.add("metadata")
    return {} if fields.metadata.user_id is None else {"user": raw_of(fields.metadata.user_id)}


def _output(
    members: Mapping[str, msgspec.Raw], fields: Fields, dropped: set[str], history: History
) -> dict[str, msgspec.Raw]:
    """The format that the answer must have. The older name counts where the newer is silent."""
    config = fields.output_config
    if config is not None and members_of(members["output_config"]).keys() - {"effort", "format"}:
        dropped.add("output_config")
    wanted = (config and config.format) or fields.output_format
    if wanted is None:
        return {}
    if wanted.type != "json_schema" or not is_given(wanted.schema):
        history.unsaid = history.unsaid or "output_config.format"
        return {}
    schema = {"name": wanted.name or _SCHEMA_NAME, "schema": wanted.schema, "strict": True}
    return {"response_format": raw_of({"type": "json_schema", "json_schema": schema})}


def _effort(fields: Fields, dropped: set[str]) -> dict[str, msgspec.Raw]:
    """How hard to think: the effort that is named, else what the budget amounts to."""
    thinking = fields.thinking
    if thinking is not None and (thinking.type != "enabled" or is_given(thinking.display)):
        dropped.add("thinking")
    named = fields.output_config.effort if fields.output_config else None
    if named is not None:
        if named in _EFFORTS:
            return {"reasoning_effort": raw_of(_EFFORTS[named])}
        dropped.add("output_config")
    if thinking is None or thinking.budget_tokens is None or thinking.type != "enabled":
        return {}
    budget = thinking.budget_tokens
    effort = "low" if budget < _SOME_THOUGHT else "medium" if budget < _MUCH_THOUGHT else "high"
    return {"reasoning_effort": raw_of(effort)}


def _asks(raw: msgspec.Raw) -> bool:
    """Whether a member asks for anything: null, false, {} and [] do not."""
    return is_given(raw) and bytes(raw) not in _IDLE


def _refused(where: str) -> Problem:
    return invalid(where, _CANNOT_SAY.format(where))
