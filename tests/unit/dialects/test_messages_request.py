"""What each field of a Messages request is checked for, and what it becomes for Chat engines."""

import json
import sys
from typing import Any

import pytest

from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import ChatRequest, Media
from anvil_trio.dialects.messages_count import parse_count, render_count, render_question
from anvil_trio.dialects.tokens import estimate_request
from anvil_trio.errors import Code, Problem
from tests.unit.dialects.chats import tier
from tests.unit.dialects.messages import (
    WEATHER,
    asked,
    body,
    image,
    refused,
    result,
    sent,
    text,
    unsendable,
    use,
)


def test_a_plain_request_becomes_a_plain_chat_request():
    """Model, messages and limit are all that an engine gets of a request with no more in it."""
    assert sent() == {
        "model": "served-model",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 64,
    }


def test_sampling_and_stops_keep_their_values():
    """The three sampling fields pass as they are; stop sequences are called stop."""
    got = sent(temperature=0.5, top_p=0.9, top_k=40, stop_sequences=["END", ""], stream=True)
    assert (got["temperature"], got["top_p"], got["top_k"]) == (0.5, 0.9, 40)
    assert got["stop"] == ["END"]
    assert got["stream"] is True
    assert got["stream_options"] == {"include_usage": True}


def test_a_request_is_known_without_its_body():
    """What gates and record need is found in the translated request."""
    blocks = [text("word " * 8), image()]
    request = asked(messages=[{"role": "user", "content": blocks}], tools=[WEATHER], stream=True)
    assert request.stream
    assert request.usage_wanted
    assert request.prompt_tokens == 10
    assert request.output_limit == 64
    assert request.media == Media(images=1)
    assert request.has_tools
    assert not request.is_prefill
    assert request.source is not None
    assert json.loads(request.source)["max_tokens"] == 64


def test_a_tool_history_needs_tools():
    """Calls of earlier turns count as tools for the gate, also where none are offered now."""
    turns = [{"role": "assistant", "content": [use("a")]}]
    assert asked(messages=turns).has_tools


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": 1}, "model"),
        ({"max_tokens": ...}, "max_tokens"),
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens": "64"}, "max_tokens"),
        ({"messages": ...}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image", "source": 1}]}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages"),
        ({"messages": [{"role": "user", "content": [result("a", 1)]}]}, "messages"),
        ({"system": 1}, "system"),
        ({"stream": "no"}, "stream"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": []}, "top_p"),
        ({"top_k": 0}, "top_k"),
        ({"stop_sequences": "END"}, "stop_sequences"),
        ({"metadata": {"user_id": 1}}, "metadata"),
        ({"thinking": {"type": "on"}}, "thinking"),
        ({"thinking": {"type": "enabled", "budget_tokens": 0}}, "thinking"),
        ({"tools": [{"description": "no name"}]}, "tools"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"tool_choice": {"type": "some"}}, "tool_choice"),
        ({"output_config": "json"}, "output_config"),
        ({"output_format": {}}, "output_format"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], param: str):
    """Whatever the tier, a field of the wrong type is a 400 that names it and shows no value."""
    what = refused(**fields)
    assert (what.status, what.code, what.param) == (400, Code.INVALID_REQUEST, param)
    assert f"`{param}" in what.message


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"model":"\xff"}', b"[" * 100_000])
def test_a_body_must_be_an_object(raw: bytes):
    """Anything else is a 400 that names no field."""
    assert refused(raw).param is None


def test_no_model_is_an_unknown_model():
    """As on the other routes it is a 404."""
    assert refused(model=...).code is Code.MODEL_NOT_FOUND


def test_nulls_are_as_good_as_nothing():
    """A client that writes out every optional field as null is served like one that does not."""
    names = ("system", "tools", "tool_choice", "metadata", "thinking", "stop_sequences", "thread")
    got = asked(**dict.fromkeys((*names, "stream", "output_config", "temperature", "container")))
    assert got.fields == asked().fields
    assert got.dropped_fields == ()


def test_what_no_other_engine_knows_is_dropped_and_named():
    """Known-harmless and unknown extras go and are recorded; idle ones are not worth it."""
    got = asked(
        context_management={"edits": []},
        service_tier="auto",
        cache_control={"type": "ephemeral"},
        invented=1,
        mcp_servers=[],
        speed=False,
    )
    assert got.dropped_fields == ("cache_control", "context_management", "invented", "service_tier")
    assert set(json.loads(sent_body(got))) == {"model", "messages", "max_tokens"}


def sent_body(request: ChatRequest) -> bytes:
    """The engine's body of a request."""
    made = MESSAGES.render_request(request, tier())
    assert not hasattr(made, "code"), made
    assert made.dropped_fields == request.dropped_fields
    return made.body


def test_a_server_side_thread_is_refused():
    """A conversation that Anthropic's servers keep would be lost in silence: a 400 names it."""
    what = unsendable(thread={"id": "t"})
    assert (what.status, what.code, what.param) == (400, Code.INVALID_REQUEST, "thread")


def test_a_user_id_becomes_the_user():
    """`metadata.user_id` is Chat's `user`; other metadata is dropped and named."""
    assert sent(metadata={"user_id": "u"})["user"] == "u"
    assert asked(metadata={"user_id": "u"}).dropped_fields == ()
    assert asked(metadata={"team": "t"}).dropped_fields == ("metadata",)
    assert "user" not in sent(metadata={"team": "t"})


@pytest.mark.parametrize("name", ["output_config", "output_format"])
def test_a_json_schema_becomes_a_response_format(name: str):
    """Both spellings of a schema for the answer are Chat's strict json_schema."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    wanted = {"type": "json_schema", "schema": schema}
    fields: dict[str, Any] = {name: {"format": wanted} if name == "output_config" else wanted}
    got = sent(**fields)
    expected = {"name": "output", "schema": schema, "strict": True}
    assert got["response_format"] == {"type": "json_schema", "json_schema": expected}


@pytest.mark.parametrize("wanted", [{"type": "xml"}, {"type": "json_schema"}])
def test_another_format_is_refused(wanted: dict[str, Any]):
    """A format that cannot be asked for is not dropped in silence."""
    assert unsendable(output_config={"format": wanted}).param == "output_config.format"


@pytest.mark.parametrize(
    ("fields", "effort", "dropped"),
    [
        ({"output_config": {"effort": "low"}}, "low", ()),
        ({"output_config": {"effort": "medium"}}, "medium", ()),
        ({"output_config": {"effort": "high"}}, "high", ()),
        ({"output_config": {"effort": "xhigh"}}, "high", ()),
        ({"output_config": {"effort": "max"}}, "high", ()),
        ({"output_config": {"effort": "odd"}}, None, ("output_config",)),
        ({"output_config": {"task_budget": 1}}, None, ("output_config",)),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "low", ()),
        ({"thinking": {"type": "enabled", "budget_tokens": 4096}}, "medium", ()),
        ({"thinking": {"type": "enabled", "budget_tokens": 16384}}, "high", ()),
        ({"thinking": {"type": "enabled"}}, None, ()),
        ({"thinking": {"type": "adaptive"}}, None, ("thinking",)),
        ({"thinking": {"type": "disabled"}}, None, ("thinking",)),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 1, "display": "omitted"}},
            "low",
            ("thinking",),
        ),
        (
            {
                "thinking": {"type": "enabled", "budget_tokens": 1024},
                "output_config": {"effort": "high"},
            },
            "high",
            (),
        ),
    ],
)
def test_effort_is_what_was_named_or_what_the_budget_is(
    fields: dict[str, Any], effort: str | None, dropped: tuple[str, ...]
):
    """Chat knows three efforts; a named one counts before a budget."""
    assert sent(**fields).get("reasoning_effort") == effort
    assert asked(**fields).dropped_fields == dropped


def test_the_older_format_counts_where_the_newer_is_silent():
    """`output_config` without a format leaves `output_format` in force, with its own name."""
    wanted = {"type": "json_schema", "schema": {}, "name": "mine"}
    got = sent(output_config={"effort": "low"}, output_format=wanted)
    assert got["response_format"]["json_schema"]["name"] == "mine"


def test_a_limit_is_clamped_as_for_chat():
    """The tier's own limit applies, and the record knows both."""
    made = MESSAGES.render_request(asked(max_tokens=100), tier(max_output_tokens=10))
    assert not hasattr(made, "code")
    assert json.loads(made.body)["max_tokens"] == 10
    assert (made.output_limit.requested, made.output_limit.applied) == (100, 10)


def test_counting_needs_no_limit():
    """A request whose tokens are counted is complete without `max_tokens`, and asks only that."""
    request = parse_count(body(max_tokens=..., system="S" * 8, tools=[WEATHER], metadata={}))
    assert isinstance(request, ChatRequest)
    assert estimate_request(request) > request.prompt_tokens > 0
    question = json.loads(render_question(request, tier()))
    assert list(question) == ["model", "messages", "system", "tools"]
    assert question["model"] == "served-model"
    assert json.loads(render_question(request, tier(model=None)))["model"] == "llm.primary"
    assert json.loads(render_count(7)) == {"input_tokens": 7}


def test_an_empty_request_still_counts_one():
    """No engine takes an empty prompt, so no estimate is 0."""
    request = asked(messages=[{"role": "user", "content": ""}])
    assert estimate_request(request) == 1


@pytest.mark.parametrize(
    "member",
    [
        b'"deep":%b',
        b'"metadata":{"deep":%b}',
        b'"output_config":{"deep":%b}',
        b'"tools":[{"name":"f","input_schema":%b}]',
        b'"system":[{"type":"text","deep":%b}]',
        b'"messages":[{"role":"assistant","content":[{"type":"tool_use","input":%b}]}]',
    ],
)
def test_no_depth_of_nesting_gets_through_half_way(member: bytes):
    """What is shallow enough to be read once may be too deep to be read again further inside."""
    before = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}],'
    statuses = set()
    for depth in range(1, sys.getrecursionlimit() + 50):
        made = MESSAGES.parse_request(before + member % (b"[" * depth + b"]" * depth) + b"}")
        sent_on = MESSAGES.render_request(made, tier()) if isinstance(made, ChatRequest) else made
        statuses.add(sent_on.status if isinstance(sent_on, Problem) else 200)
    assert statuses == {200, 400}
