"""The tools of a Responses request as Chat's, and which of them must be called.

A function is kept. All others run on OpenAI's side (`web_search`, `file_search`, `computer`, ...)
or answer in a shape that no engine can be asked for: a `custom` tool takes free text, under a
grammar if it has one, where an engine's call is a JSON object; a function put in its place would be
called in a way that its owner does not know. Those are left out and named in the record, and so is
a choice that asks for one of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from anvil_trio.dialects.raw_json import ABSENT, is_given, is_string, items_of, members_of, raw_of
from anvil_trio.dialects.responses_parts import refuse

__all__ = ["ChatTools", "chat_tools"]


class _Tool(msgspec.Struct, gc=False):
    type: str = "function"
    name: str | None = None
    function: msgspec.Raw = ABSENT


class _Choice(msgspec.Struct, gc=False):
    type: str = "function"
    name: str | None = None
    mode: str | None = None
    function: _Tool | None = None
    tools: list[_Tool] | None = None


class ChatTools(NamedTuple):
    """What Chat gets; ABSENT where there is nothing to send. `dropped` names what is left out."""

    tools: msgspec.Raw = ABSENT
    choice: msgspec.Raw = ABSENT
    dropped: tuple[str, ...] = ()


_TOOL = msgspec.json.Decoder(_Tool)
_FUNCTION = msgspec.json.Decoder(_Tool)
_CHOICE = msgspec.json.Decoder(_Choice)
_WORD = msgspec.json.Decoder(str)
_BROKEN = (msgspec.DecodeError, RecursionError)
_FUNCTION_MEMBERS = ("name", "description", "parameters", "strict")
_TOOLS_WORDS = "`tools` must be a list of objects, each function with a string `name`."
_CHOICE_WORDS = "`tool_choice` must be auto, none, required, or an object that names tools."
_WORDS = frozenset({"auto", "none", "required"})
_REQUIRED = raw_of("required")


def chat_tools(tools: msgspec.Raw, choice: msgspec.Raw) -> ChatTools:
    """Both in Chat's shape. Raises `responses_parts.Refused`."""
    functions, dropped = _functions(tools)
    wanted, allowed = _choice(choice)
    if allowed is not None:
        functions = [(name, raw) for name, raw in functions if name in allowed]
    if wanted is None or (not functions and dropped):
        if is_given(choice):
            dropped.append("tool_choice")
        wanted = ABSENT
    kept = raw_of([raw for _, raw in functions]) if functions else ABSENT
    return ChatTools(kept, wanted, tuple(dropped))


def _functions(raw: msgspec.Raw) -> tuple[list[tuple[str, msgspec.Raw]], list[str]]:
    """Each function by name in Chat's shape, and what the others are called in the record."""
    functions: list[tuple[str, msgspec.Raw]] = []
    dropped: list[str] = []
    if not is_given(raw):
        return functions, dropped
    try:
        for tool in items_of(raw):
            found = _TOOL.decode(tool)
            if found.type == "function":
                functions.append(_function(tool, found))
            else:
                dropped.append(f"tools-{found.type}")
    except _BROKEN:
        raise refuse("tools", _TOOLS_WORDS) from None
    return functions, dropped


def _function(raw: msgspec.Raw, found: _Tool) -> tuple[str, msgspec.Raw]:
    """A function's name and itself; Chat's own shape is taken too, as it is."""
    if is_given(found.function):
        name = _FUNCTION.decode(found.function).name
    else:
        name = found.name
        members = members_of(raw)
        kept = {at: members[at] for at in _FUNCTION_MEMBERS if is_given(members.get(at, ABSENT))}
        raw = raw_of({"type": "function", "function": kept})
    if name is None:
        raise refuse("tools", _TOOLS_WORDS)
    return name, raw


def _choice(raw: msgspec.Raw) -> tuple[msgspec.Raw | None, frozenset[str] | None]:
    """The choice in Chat's shape, None if it is about no function; and to which it narrows."""
    if not is_given(raw):
        return ABSENT, None
    try:
        if is_string(raw):
            if _WORD.decode(raw) not in _WORDS:
                raise refuse("tool_choice", _CHOICE_WORDS)
            return raw, None
        choice = _CHOICE.decode(raw)
    except _BROKEN:
        raise refuse("tool_choice", _CHOICE_WORDS) from None
    if choice.type == "allowed_tools":
        allowed = _names(choice.tools or ())
        return (_REQUIRED if choice.mode == "required" else raw_of("auto")), allowed
    if choice.type != "function":
        return None, None
    name = choice.name if choice.function is None else choice.function.name
    if name is None:
        raise refuse("tool_choice", _CHOICE_WORDS)
    return raw_of({"type": "function", "function": {"name": name}}), None


def _names(tools: Sequence[_Tool]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools if tool.type == "function" and tool.name)
