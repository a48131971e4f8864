"""Tool definitions and tool choice of a Messages request, in Chat's words."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec
from pydantic import JsonValue

from anvil_trio.dialects.raw_json import ABSENT, is_given, raw_of

__all__ = ["TOOLS", "TOOL_CHOICE", "Tool", "ToolChoice", "chat_tool_choice", "chat_tools"]


class Tool(msgspec.Struct, gc=False):
    """One tool. Only `custom` ones, which is also what no type means, are the caller's own."""

    name: str
    type: str | None = None
    description: str | None = None
    input_schema: msgspec.Raw = ABSENT
    strict: bool | None = None
    cache_control: msgspec.Raw = ABSENT

    @property
    def is_custom(self) -> bool:
        """Whether the caller runs this tool and says what it takes."""
        return self.type is None or self.type == "custom"


class ToolChoice(msgspec.Struct, gc=False):
    """Whether and which tools must be used."""

    type: Literal["auto", "any", "none", "tool"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


TOOLS = msgspec.json.Decoder(list[Tool])
TOOL_CHOICE = msgspec.json.Decoder(ToolChoice)

_FALSE = msgspec.Raw(b"false")
_NO_SCHEMA = msgspec.Raw(b'{"type":"object","properties":{}}')
_CHOICES: Mapping[str, JsonValue] = MappingProxyType({
    "auto": "auto",
    "any": "required",
    "none": "none",
})


def chat_tools(tools: Sequence[Tool], dropped: set[str]) -> list[msgspec.Raw]:
    """The caller's own tools as functions; those that Anthropic would run or define are dropped."""
    made = []
    for tool in tools:
        if not tool.is_custom:
            dropped.add("tools.hosted")
            continue
        if is_given(tool.cache_control):
            dropped.add("cache_control")
        function: dict[str, object] = {"name": tool.name}
        if tool.description is not None:
            function["description"] = tool.description
        function["parameters"] = tool.input_schema if is_given(tool.input_schema) else _NO_SCHEMA
        if tool.strict is not None:
            function["strict"] = tool.strict
        made.append(raw_of({"type": "function", "function": function}))
    return made


def chat_tool_choice(
    choice: ToolChoice, tools: Sequence[Tool], dropped: set[str]
) -> dict[str, msgspec.Raw]:
    """The members that say the same in Chat; nothing where a dropped tool was meant.

    A choice that forces a call where the caller has sent no tools at all stays, to be refused.
    """
    members: dict[str, msgspec.Raw] = {}
    if choice.disable_parallel_tool_use:
        members["parallel_tool_calls"] = _FALSE
    own = {tool.name for tool in tools if tool.is_custom}
    hosted = {tool.name for tool in tools if not tool.is_custom}
    if (choice.type == "tool" and choice.name in hosted - own) or (hosted and not own):
        dropped.add("tool_choice")
    elif choice.type == "tool":
        function = {"name": choice.name or ""}
        members["tool_choice"] = raw_of({"type": "function", "function": function})
    else:
        members["tool_choice"] = raw_of(_CHOICES[choice.type])
    return members
