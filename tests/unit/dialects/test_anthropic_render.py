"""Requests of Chat and Responses callers, in the words of Messages engines."""

import json
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from anvil_trio.config.model import Tier
from anvil_trio.dialects.ir import OutputLimit, RenderedRequest
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Code, Problem, problem
from tests.unit.dialects import responses
from tests.unit.dialects.anthropic import engine_tier
from tests.unit.dialects.chats import parsed

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
PNG = "data:image/png;base64,QUJD"


def chat(to: Tier | None = None, **fields) -> RenderedRequest:
    """A Chat request as it is sent."""
    made = CHAT.render_request(parsed(**fields), to or engine_tier())
    assert isinstance(made, RenderedRequest), made
    return made


def sent(to: Tier | None = None, **fields) -> dict[str, Any]:
    """Its body."""
    body = json.loads(chat(to, **fields).body)
    assert isinstance(body, dict)
    return body


def refused(to: Tier | None = None, **fields) -> Problem:
    """Why a Chat request cannot be sent."""
    what = CHAT.render_request(parsed(**fields), to or engine_tier())
    assert isinstance(what, Problem), what
    assert what.code is Code.INVALID_REQUEST
    return what


def turns(*chat_messages: dict[str, Any], to: Tier | None = None) -> dict[str, Any]:
    """System and turns of a Chat conversation."""
    return sent(to, messages=list(chat_messages))


def user(content: Any) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": content}


def text(said: str) -> dict[str, Any]:
    """A text, the same block in both dialects."""
    return {"type": "text", "text": said}


def test_a_plain_chat_request():
    """The served name, a turn of one block, a limit, and nothing else."""
    assert sent() == {
        "messages": [{"role": "user", "content": [text("hi")]}],
        "model": "served-model",
        "max_tokens": 1024,
    }


@pytest.mark.parametrize(
    ("fields", "to", "limit"),
    [
        ({}, {}, OutputLimit(None, 1024)),
        ({}, {"max_output_tokens": 5000}, OutputLimit(None, 5000)),
        ({}, {"extra_body_defaults": {"max_tokens": 9}}, OutputLimit(None, 9)),
        ({}, {"extra_body_defaults": {"max_tokens": "x"}}, OutputLimit(None, 1024)),
        ({}, {"extra_body": {"max_tokens": 9}}, OutputLimit(None, 9)),
        ({"max_tokens": 70}, {"extra_body_defaults": {"max_tokens": 9}}, OutputLimit(70, 70)),
        ({"max_completion_tokens": 70}, {"max_output_tokens": 50}, OutputLimit(70, 50)),
    ],
)
def test_the_output_limit(fields, to, limit):
    """Messages needs one: the caller's, the operator's or a fixed one, never above the tier's."""
    made = chat(engine_tier(**to), **fields)
    assert made.output_limit == limit
    assert json.loads(made.body)["max_tokens"] == limit.applied


def test_roles_and_results():
    """System in front, results in the next user turn, calls with their input as an object."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    other = {"id": "b", "type": "function", "function": {"name": "g", "arguments": ""}}
    body = turns(
        {"role": "system", "content": "S"},
        {"role": "developer", "content": [text("D")]},
        user("q"),
        {"role": "assistant", "content": "let me see", "tool_calls": [call, other]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": [text("two")]},
        user("and?"),
        {"role": "assistant", "content": "done"},
        {"role": "system", "content": "mid"},
        {"role": "system", "content": ""},
        user([text("go"), "on", text("")]),
        {"role": "assistant", "content": ""},
        user(""),
        {"role": "assistant", "refusal": "no"},
    )
    assert body["system"] == [text("S"), text("D")]
    assert body["messages"] == [
        {"role": "user", "content": [text("q")]},
        {
            "role": "assistant",
            "content": [
                text("let me see"),
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "g", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "one"},
                {"type": "tool_result", "tool_use_id": "b", "content": [text("two")]},
                text("and?"),
            ],
        },
        {"role": "assistant", "content": [text("done")]},
        {"role": "system", "content": [text("mid")]},
        {"role": "user", "content": [text("go"), text("on")]},
        {"role": "assistant", "content": [text("no")]},
    ]


def test_media():
    """Pictures in themselves or elsewhere, and PDF documents."""
    body = turns(
        user([
            {"type": "image_url", "image_url": {"url": PNG}},
            {"type": "image_url", "image_url": "https://a.test/x.png"},
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,QQ==", "filename": "n"},
            },
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ=="}},
        ])
    )
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "QQ=="}
    assert body["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
        {"type": "image", "source": {"type": "url", "url": "https://a.test/x.png"}},
        {"type": "document", "source": pdf, "title": "n"},
        {"type": "document", "source": pdf},
    ]


@pytest.mark.parametrize(
    ("message", "where"),
    [
        (user([{"type": "input_audio", "input_audio": {"data": "x"}}]), "messages[0].content[0]"),
        (user([{"type": "file", "file": {"file_id": "x"}}]), "messages[0].content[0]"),
        (
            user([{"type": "image_url", "image_url": "data:image/png,raw"}]),
            "messages[0].content[0]",
        ),
        ({"role": "function", "name": "f", "content": "x"}, "messages[0].role"),
        (
            {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
            "messages[0].function_call",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "type": "custom"}]},
            "messages[0].tool_calls[0]",
        ),
        (
            {
                "role": "assistant",
                "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"x'}}],
            },
            "messages[0].tool_calls[0].function.arguments",
        ),
        ({"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}]}, "messages"),
    ],
)
def test_what_messages_cannot_say_is_refused(message, where):
    """By its place, before anything is sent."""
    assert refused(messages=[message]).param == where


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({"stop": "a"}, {"stop_sequences": ["a"]}),
        ({"stop": ["a", "", "b"]}, {"stop_sequences": ["a", "b"]}),
        ({"stop": [""]}, {}),
        (
            {"temperature": 0.5, "top_p": 1, "top_k": 4},
            {"temperature": 0.5, "top_p": 1, "top_k": 4},
        ),
        ({"stream": True, "stream_options": {"include_usage": True}}, {"stream": True}),
        ({"user": "u"}, {"metadata": {"user_id": "u"}}),
        ({"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}),
        ({"reasoning_effort": "minimal"}, {"output_config": {"effort": "low"}}),
        ({"reasoning_effort": "high"}, {"output_config": {"effort": "high"}}),
        ({"response_format": {"type": "text"}}, {}),
        (
            {"response_format": {"type": "json_object"}},
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        ),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": {}},
                }
            },
            {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
        ),
        ({"n": 1, "logprobs": False, "seed": None}, {}),
    ],
)
def test_fields(fields, want):
    """Each in Messages' words; what asks for nothing is not mentioned."""
    made = chat(**fields)
    body = json.loads(made.body)
    assert {name: body[name] for name in body.keys() - {"messages", "model", "max_tokens"}} == want
    assert made.dropped_fields == ()


def test_unknown_extras_are_dropped_and_named():
    """Decision 12: fixed names in the record."""
    made = chat(seed=1, logit_bias={"1": 2}, presence_penalty=0.5, store=True, frequency_penalty=0)
    assert made.dropped_fields == ("logit_bias", "presence_penalty", "seed", "store")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"audio": {"voice": "x"}}, "audio"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"tools": [TOOL], "tool_choice": "sometimes"}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
    ],
)
def test_fields_that_must_not_be_lost(fields, param):
    """A 400 that names the field."""
    assert refused(**fields).param == param


@pytest.mark.parametrize(
    ("choice", "parallel", "want"),
    [
        ("auto", None, {"type": "auto"}),
        ("required", True, {"type": "any"}),
        ("none", False, {"type": "none"}),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        ({"type": "function", "function": {"name": "f"}}, None, {"type": "tool", "name": "f"}),
        (None, None, None),
    ],
)
def test_tool_choice(choice, parallel, want):
    """With the wish for one call at a time."""
    body = sent(tools=[TOOL], tool_choice=choice, parallel_tool_calls=parallel)
    assert body["tools"] == [{"name": "f", "input_schema": {"type": "object"}}]
    assert body.get("tool_choice") == want


def test_tools():
    """Description and strictness kept, a schema always there, hosted ones dropped."""
    function = {"name": "g", "description": "d", "strict": True}
    hosted = {"type": "custom", "custom": {"name": "c"}}
    made = chat(tools=[{"type": "function", "function": function}, hosted])
    assert json.loads(made.body)["tools"] == [
        {**function, "input_schema": {"type": "object", "properties": {}}}
    ]
    assert made.dropped_fields == ("tools.hosted",)
    made = chat(tools=[hosted], tool_choice="auto")
    assert made.dropped_fields == ("tool_choice", "tools.hosted")
    assert "tool_choice" not in sent(tools=[], tool_choice="auto")


@pytest.mark.parametrize(
    ("compat", "roles", "system"),
    [
        ({}, ["user", "system", "user"], ["S"]),
        ({"system_position": "merge_first"}, ["user", "user"], ["S\n\nM"]),
        ({"system_position": "as_user"}, ["user", "user", "user"], ["S"]),
    ],
)
def test_where_system_messages_go(compat, roles, system):
    """The compat table counts here, too."""
    conversation = [("system", "S"), ("user", "a"), ("system", "M"), ("user", "b")]
    spoken = [{"role": role, "content": said} for role, said in conversation]
    body = turns(*spoken, to=engine_tier(compat))
    assert [one["role"] for one in body["messages"]] == roles
    assert [one["text"] for one in body["system"]] == system


def test_earlier_thoughts_of_chat_callers():
    """Dropped by default; else a thinking block, which has no signature."""
    spoken = [
        user("q"),
        {"role": "assistant", "content": "a", "reasoning_content": "hm"},
        user("b"),
    ]
    assert turns(*spoken)["messages"][1]["content"] == [text("a")]
    kept = turns(*spoken, to=engine_tier({"reasoning_history": "reasoning_content"}))
    thought = {"type": "thinking", "thinking": "hm", "signature": ""}
    assert kept["messages"][1]["content"] == [thought, text("a")]


@pytest.mark.parametrize("prefill", ["continue", "refuse"])
def test_prefill(prefill):
    """A last word of the assistant is continued by Messages engines anyway, unless refused."""
    spoken = [user("q"), {"role": "assistant", "content": "so"}]
    to = engine_tier({"prefill": prefill})
    if prefill == "refuse":
        assert refused(to, messages=spoken).param == "messages"
    else:
        body = sent(to, messages=spoken)
        assert body.keys() == {"messages", "model", "max_tokens"}


def test_the_operators_members_come_last():
    """In the engine's own names; the caller's spelling where the tier names no model."""
    to = engine_tier(
        model=None, extra_body_defaults={"top_k": 1, "temperature": 0}, extra_body={"x": True}
    )
    body = sent(to, temperature=1, model=" LLM.primary ")
    assert (body["top_k"], body["temperature"], body["x"]) == (1, 1, True)
    assert body["model"] == "LLM.primary"


def test_arguments_that_are_too_deep_are_refused():
    """A call's input that cannot be read is named, and is never an exception."""
    call = {"id": "a", "function": {"name": "f", "arguments": "[" * 5000}}
    what = refused(messages=[{"role": "assistant", "tool_calls": [call]}])
    assert what.param == "messages[0].tool_calls[0].function.arguments"


def test_a_request_that_is_too_deep_is_refused():
    """What is nested too deeply to be read again gets a 400 and is never an exception."""
    deep = msgspec.Raw(b'[{"role":"user","content":"hi","x":%b%b}]' % (b"[" * 5000, b"]" * 5000))
    request = parsed()
    request = replace(request, fields={**request.fields, "messages": deep})
    what = CHAT.render_request(request, engine_tier())
    assert isinstance(what, Problem)
    assert (what.code, what.param) == (Code.INVALID_REQUEST, None)
    assert "nested too deeply" in what.message


def test_what_only_messages_can_say_is_refused_for_other_callers():
    """A request marked as untranslatable gets the very problem that was found in it."""
    found = problem(Code.INVALID_REQUEST, param="context_management")
    request = replace(parsed(), untranslatable=found)
    assert CHAT.render_request(request, engine_tier()) is found


def test_a_document_that_is_no_pdf_is_refused_by_name():
    """Messages takes no other file in base64, and none is left out silently."""
    file = {"type": "file", "file": {"file_data": "data:text/csv;base64,QQ=="}}
    assert refused(messages=[user([file])]).param == "messages[0].content[0]"


def test_responses_callers():
    """Through Chat's members; what those cannot say is refused as ever."""
    request = responses.parsed(input="hi", instructions="S", max_output_tokens=5)
    made = responses.dialect().render_request(request, engine_tier())
    assert isinstance(made, RenderedRequest)
    body = json.loads(made.body)
    assert (body["system"], body["max_tokens"]) == ([text("S")], 5)
