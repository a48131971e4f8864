"""Tools and tool choices of a Messages request for Chat engines."""

from typing import Any

import pytest

from tests.unit.dialects.messages import WEATHER, asked, sent, unsendable

SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def test_tools_become_functions():
    """Name, description, schema and strictness are kept, all else is dropped."""
    mine = {**WEATHER, "type": "custom", "strict": True, "cache_control": {"type": "ephemeral"}}
    bare = {"name": "f"}
    got = sent(tools=[mine, bare])["tools"]
    function = {
        "name": "get_weather",
        "description": "w",
        "parameters": WEATHER["input_schema"],
        "strict": True,
    }
    assert got[0] == {"type": "function", "function": function}
    empty = {"type": "object", "properties": {}}
    assert got[1] == {"type": "function", "function": {"name": "f", "parameters": empty}}
    assert asked(tools=[mine]).dropped_fields == ("cache_control",)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        (
            {"type": "tool", "name": "get_weather"},
            {"type": "function", "function": {"name": "get_weather"}},
        ),
    ],
)
def test_a_choice_has_its_word_in_chat(choice: dict[str, Any], expected: object):
    """Each of the four has one."""
    assert sent(tools=[WEATHER], tool_choice=choice)["tool_choice"] == expected


def test_parallel_calls_can_be_switched_off():
    """`disable_parallel_tool_use` is Chat's `parallel_tool_calls: false`; its default is silent."""
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    assert sent(tools=[WEATHER], tool_choice=choice)["parallel_tool_calls"] is False
    choice["disable_parallel_tool_use"] = False
    assert "parallel_tool_calls" not in sent(tools=[WEATHER], tool_choice=choice)


def test_hosted_tools_are_dropped_with_their_choice():
    """Tools that Anthropic runs or defines are no tools here, and cannot be chosen."""
    got = sent(tools=[SEARCH, WEATHER], tool_choice={"type": "tool", "name": "web_search"})
    assert [tool["function"]["name"] for tool in got["tools"]] == ["get_weather"]
    assert "tool_choice" not in got
    request = asked(tools=[SEARCH], tool_choice={"type": "any"})
    assert request.dropped_fields == ("tool_choice", "tools.hosted")
    assert not request.has_tools
    assert "tools" not in request.fields


def test_a_choice_of_ones_own_tools_stays():
    """A hosted tool beside it takes nothing from a choice that own tools can obey."""
    got = sent(tools=[SEARCH, WEATHER], tool_choice={"type": "any"})
    assert got["tool_choice"] == "required"


def test_a_forced_call_without_tools_is_refused():
    """As for Chat callers it is a 400 that names the choice."""
    assert unsendable(tool_choice={"type": "any"}).param == "tool_choice"
    assert unsendable(tool_choice={"type": "tool"}).param == "tool_choice"
