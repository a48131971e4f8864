"""What the embedded engine answers when a request asks for a form: thoughts, calls, JSON."""

import json
from typing import Any

import pytest

from anvil_trio.demo.answer import Wanted, answer_to, cut
from anvil_trio.demo.chat import (
    ChatOrder,
    Refusal,
    parse_chat,
    render_end,
    render_piece,
    render_reply,
)
from anvil_trio.demo.instance import instance_of

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name: str, **parameters: object) -> dict[str, Any]:
    """One on offer."""
    return {"type": "function", "function": {"name": name, "parameters": parameters or CITY}}


def order(**fields: Any) -> ChatOrder:
    """What the engine makes of a request."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}
    made = parse_chat(json.dumps(body).encode(), "m", 8192)
    assert isinstance(made, ChatOrder), made
    return made


def message(**fields: Any) -> dict[str, Any]:
    """The message of a whole reply."""
    made: dict[str, Any] = json.loads(render_reply(order(**fields)))["choices"][0]["message"]
    return made


@pytest.mark.parametrize(
    ("choice", "parallel", "names"),
    [
        ("required", None, ["a", "b"]),
        ("required", True, ["a", "b"]),
        ("required", False, ["a"]),
        ({"type": "function", "function": {"name": "b"}}, None, ["b"]),
        ("auto", None, []),
        ("none", None, []),
        (None, None, []),
    ],
)
def test_forced_calls_are_made(choice: object, parallel: bool | None, names: list[str]):
    """One of each tool, or the named one; nothing is called that was not demanded."""
    tools = [tool("a"), tool("b")]
    said = message(tools=tools, tool_choice=choice, parallel_tool_calls=parallel)
    calls = said.get("tool_calls", [])
    assert [call["function"]["name"] for call in calls] == names
    assert all(json.loads(call["function"]["arguments"])["city"] for call in calls)
    assert len({call["id"] for call in calls}) == len(names)
    assert (said["content"] is None) == bool(names)


def test_a_tool_without_parameters_gets_an_object():
    """Arguments are never anything else."""
    bare = {"type": "function", "function": {"name": "f"}}
    (call,) = message(tools=[bare], tool_choice="required")["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {}


def test_a_schema_is_filled():
    """The text is JSON of the kind that was asked for."""
    wanted = {"type": "json_schema", "json_schema": {"name": "c", "schema": CITY}}
    assert json.loads(message(response_format=wanted)["content"])["city"]
    assert message(response_format={"type": "text"})["content"].count(".") >= 3


@pytest.mark.parametrize(("effort", "thinks"), [("low", True), ("none", False), (None, False)])
def test_an_effort_is_a_thought_in_front(effort: str | None, thinks: bool):
    """One sentence, counted as reasoning."""
    made = order(reasoning_effort=effort)
    assert (made.reply[0].kind == "thought") == thinks
    reply = json.loads(render_reply(made))
    assert ("reasoning_content" in reply["choices"][0]["message"]) == thinks
    details = reply["usage"].get("completion_tokens_details", {})
    assert bool(details.get("reasoning_tokens")) == thinks
    assert reply["choices"][0]["message"]["content"] == message()["content"]


def test_a_stream_joins_to_the_whole():
    """Thoughts and calls piece by piece, ids and names in each call's first."""
    made = order(tools=[tool("a"), tool("b")], tool_choice="required", reasoning_effort="low")
    deltas = [
        json.loads(render_piece(made, piece)[6:])["choices"][0]["delta"] for piece in made.reply
    ]
    whole = json.loads(render_reply(made))["choices"][0]["message"]
    thoughts = "".join(one.get("reasoning_content", "") for one in deltas)
    assert thoughts == whole["reasoning_content"]
    calls: dict[int, dict[str, Any]] = {}
    for one in deltas:
        for piece in one.get("tool_calls", ()):
            known = calls.setdefault(piece["index"], piece)
            if known is not piece:
                assert set(piece) == {"index", "function"}
                known["function"]["arguments"] += piece["function"]["arguments"]
    assert [{**call, "index": ...} for call in calls.values()] == [
        {"index": ..., **call} for call in whole["tool_calls"]
    ]
    assert b'"finish_reason":"tool_calls"' in render_end(made)


def test_a_limit_cuts_a_call():
    """The reason says so."""
    made = order(tools=[tool("a")], tool_choice="required", max_tokens=2)
    assert (len(made.reply), made.finish_reason) == (2, "length")


def test_only_prose_goes_on_without_end():
    """A value or a call ends when it is whole."""
    wanted = {"type": "json_schema", "json_schema": {"name": "c", "schema": CITY}}
    made = order(ignore_eos=True, max_tokens=500, response_format=wanted)
    assert (made.reply, made.finish_reason) == (order(response_format=wanted).reply, "stop")
    made = order(ignore_eos=True, max_tokens=500, tools=[tool("a")], tool_choice="required")
    assert made.finish_reason == "tool_calls"
    prose, reason = cut(answer_to("hi", Wanted()), 100, is_endless=True)
    assert (len(prose), reason) == (100, "length")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 3}, 3),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": "integer"}, 7),
        ({"type": "number"}, 0.5),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["integer", "null"]}, 7),
        ({"type": []}, None),
        ({"type": "array", "items": {"type": "integer"}}, [7]),
        ({"type": "array"}, []),
        ({"type": "object"}, {}),
        ({"properties": {"a": {"const": 1}}}, {"a": 1}),
        ({"anyOf": [{"const": 1}, {"const": 2}]}, 1),
        ({"$defs": {"C": {"const": 5}}, "$ref": "#/$defs/C"}, 5),
        ({"$ref": "#/nowhere/at/all"}, None),
        ({"type": "strange"}, None),
        (True, None),
    ],
)
def test_a_value_fits_its_schema(schema: object, value: object):
    """As far as the schema is understood."""
    assert instance_of(schema, "hi") == value


def test_a_string_is_a_word_of_the_reply():
    """The same for the same prompt."""
    assert instance_of({}, "hi") == instance_of({"type": "string"}, "hi")
    assert isinstance(instance_of({}, "hi"), str)
    assert instance_of({}, "hi")


def test_a_schema_that_refers_to_itself_ends():
    """In null, deep down."""
    node = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    value: Any = instance_of(node, "hi")
    depth = 0
    while value:
        value, depth = value["next"], depth + 1
    assert depth == 8


def test_a_form_that_cannot_be_read_is_refused():
    """In OpenAI's shape, like any other request that is wrong."""
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": "all"}
    assert isinstance(parse_chat(json.dumps(body).encode(), "m", 8192), Refusal)
