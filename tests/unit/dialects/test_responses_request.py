"""What becomes of each field of a Responses request."""

import json
import sys
from typing import Any

import pytest

from anvil_trio.dialects.ir import Media
from anvil_trio.dialects.responses_fields import FIELDS, Fate
from anvil_trio.errors import Code, Problem
from tests.unit.dialects.chats import tier
from tests.unit.dialects.responses import body, dialect, parsed, refusal, sent

FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}
SAMPLES: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.2,
    "stop": ["x"],
    "seed": 1,
    "top_k": 5,
    "min_p": 0.1,
    "chat_template_kwargs": {"enable_thinking": False},
    "stream": False,
    "include": ["reasoning.encrypted_content"],
    "store": True,
    "stream_options": {"include_obfuscation": False},
    "top_logprobs": 3,
    "max_tool_calls": 2,
    "previous_response_id": "resp_1",
    "conversation": "conv_1",
    "prompt": {"id": "p"},
    "background": True,
    "truncation": "auto",
    "moderation": {"mode": "block"},
}


def of(fate: Fate) -> list[str]:
    """The fields that have this fate."""
    return [name for name, field in FIELDS.items() if field.fate is fate]


@pytest.mark.parametrize("name", [one for one in of(Fate.KEPT) if one != "parallel_tool_calls"])
def test_a_kept_field_arrives_under_its_name(name: str):
    """With its value."""
    assert sent(**{name: SAMPLES[name]})[name] == SAMPLES[name]


@pytest.mark.parametrize("name", of(Fate.DROPPED))
def test_a_dropped_field_is_named_and_not_sent(name: str):
    """The engine gets the same request, the record the field's name."""
    value = SAMPLES.get(name, "text")
    assert parsed(**{name: value}).dropped_fields == (name,)
    assert sent(**{name: value}) == sent()


@pytest.mark.parametrize("name", of(Fate.REFUSED))
def test_a_refused_field_is_named(name: str):
    """What nothing here could honour is never ignored."""
    what = refusal(**{name: SAMPLES[name]})
    assert (what.status, what.code, what.param) == (400, Code.INVALID_REQUEST, name)
    assert name in what.message


@pytest.mark.parametrize("name", sorted(FIELDS.keys() - {"model", "input"}))
def test_null_is_as_good_as_nothing(name: str):
    """For every field, of whatever fate."""
    assert sent(**{name: None}) == sent()
    assert parsed(**{name: None}).dropped_fields == ()


@pytest.mark.parametrize(("name", "value"), [("background", False), ("truncation", "disabled")])
def test_the_default_of_a_refused_field_is_accepted(name: str, value: Any):
    """It asks for nothing."""
    assert sent(**{name: value}) == sent()


def test_unknown_fields_are_dropped_and_named():
    """Also by whoever sends them next year."""
    assert parsed(brand_new=1).dropped_fields == ("brand_new",)
    assert sent(brand_new=1) == sent()


WRONG: list[tuple[str, object]] = [
    ("model", 1),
    ("instructions", ["a"]),
    ("stream", "yes"),
    ("stream", 1),
    ("temperature", "warm"),
    ("top_p", []),
    ("max_output_tokens", 0),
    ("max_output_tokens", -1),
    ("max_output_tokens", 1.5),
    ("max_output_tokens", "9"),
    ("max_tool_calls", 0),
    ("parallel_tool_calls", "no"),
    ("metadata", {"a": 1}),
    ("metadata", []),
    ("store", "no"),
    ("include", "reasoning.encrypted_content"),
    ("include", [1]),
    ("reasoning", "high"),
    ("reasoning", {"effort": 3}),
    ("text", "json"),
    ("text", {"format": "json"}),
    ("text", {"format": {"type": 1}}),
    ("stop", 1),
    ("user", 1),
    ("top_logprobs", "a"),
    ("chat_template_kwargs", 1),
    ("stream_options", True),
    ("input", 1),
    ("input", {}),
    ("input", []),
    ("input", None),
    ("input", ...),
    ("tools", {}),
    ("tools", [1]),
    ("tools", [{"type": "function"}]),
    ("tools", [{"type": "function", "function": {}}]),
    ("tool_choice", "any"),
    ("tool_choice", 1),
    ("tool_choice", {"type": "function"}),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_type_is_refused_by_name(name: str, value: Any):
    """Before anything is selected, and without showing the value."""
    what = refusal(**{name: value})
    assert (what.status, what.code, what.param) == (400, Code.INVALID_REQUEST, name)
    assert f"`{name}`" in what.message


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_number_beyond_every_float_is_refused_by_name(name: str):
    """Also where the field may otherwise be anything."""
    what = refusal(b'{"input":"hi","model":"m","%b":1e400}' % name.encode())
    assert (what.status, what.param) == (400, name)
    assert f"`{name}`" in what.message


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"1", b'{"a":"\xff"}', b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(raw: bytes):
    """Whatever it is."""
    what = refusal(raw)
    assert (what.status, what.param) == (400, None)


@pytest.mark.parametrize("name", ["input", "tools", "text", "metadata", "tool_choice"])
def test_a_body_nested_beyond_reason_is_refused(name: str):
    """It cannot exhaust the stack."""
    deep = b"[" * 100_000 + b"]" * 100_000
    what = refusal(b'{"model":"m","input":"hi","%b":%b}' % (name.encode(), deep))
    assert what.status == 400


def test_a_request_without_a_model_names_none():
    """It is a 404, as an unknown model is."""
    assert (refusal(model=...).status, refusal(model=None).param) == (404, "model")


def test_the_callers_spelling_of_the_model_is_kept():
    """The tier's own name goes upstream."""
    assert parsed(model=" LLM ").model == " LLM "
    assert sent(model=" LLM ")["model"] == "served-model"


def test_the_output_limit_is_translated_and_lowered():
    """It is found under the name that the tier's engines read."""
    assert sent(max_output_tokens=9)["max_tokens"] == 9
    assert sent(tier(max_output_tokens=5), max_output_tokens=9)["max_tokens"] == 5
    both = sent(tier({"max_tokens_field": "max_completion_tokens"}), max_output_tokens=9)
    assert both["max_completion_tokens"] == 9
    assert parsed(max_output_tokens=9).output_limit == 9


def test_a_stream_asks_for_counts():
    """The end of a response has them, whoever asks."""
    assert sent(stream=True)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in sent()


def test_instructions_come_first():
    """As a system message; empty ones are none."""
    assert sent(instructions="Be brief.")["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ]
    assert sent(instructions="") == sent()


def test_instructions_alone_are_a_request():
    """Some clients put all they have to say there."""
    assert sent(instructions="Go.", input=[])["messages"] == [{"role": "system", "content": "Go."}]


def test_reasoning_effort_and_verbosity_are_translated():
    """To Chat's names for them; what else is in there is about the reply."""
    made = sent(reasoning={"effort": "low", "summary": "auto"}, text={"verbosity": "high"})
    assert (made["reasoning_effort"], made["verbosity"]) == ("low", "high")
    assert sent(reasoning={"effort": None}, text={"verbosity": None}) == sent()
    assert sent(reasoning={}, text={}) == sent()


def test_formats_are_translated():
    """Plain text is what comes anyway."""
    schema = {"type": "object", "properties": {}}
    made = sent(
        text={"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": None}}
    )
    assert made["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": schema},
    }
    assert sent(text={"format": {"type": "json_object"}})["response_format"] == {
        "type": "json_object"
    }
    for plain in ({"type": "text"}, {}, None):
        assert sent(text={"format": plain}) == sent()


@pytest.mark.parametrize(
    "asked", [{"type": "grammar"}, {"type": "json_schema"}, {"type": "json_schema", "name": "n"}]
)
def test_a_format_that_no_engine_knows_is_refused(asked: dict[str, Any]):
    """An answer in another format would mean something else."""
    assert refusal(text={"format": asked}).param == "text.format"


def test_functions_are_translated():
    """With the members that Chat knows; nulls are nothing."""
    made = sent(tools=[{**FUNCTION, "description": None, "defer_loading": True}])
    assert made["tools"] == [
        {
            "type": "function",
            "function": {"name": "f", "parameters": {"type": "object"}, "strict": False},
        }
    ]
    chat = {"type": "function", "function": {"name": "g"}}
    assert sent(tools=[chat])["tools"] == [chat]


HOSTED = ["web_search", "namespace", "computer", "file_search", "code_interpreter", "custom", "mcp"]


@pytest.mark.parametrize("kind", HOSTED)
def test_other_tools_are_dropped_and_named(kind: str):
    """With a choice that asks for one of them, or that nothing else is left to serve."""
    request = parsed(tools=[{"type": kind, "name": "x"}, FUNCTION], tool_choice={"type": kind})
    assert request.dropped_fields == (f"tools-{kind}", "tool_choice")
    assert "tool_choice" not in request.fields
    alone = parsed(tools=[{"type": kind}], tool_choice="required")
    assert alone.dropped_fields == (f"tools-{kind}", "tool_choice")
    assert not alone.has_tools
    assert "tools" not in sent(tools=[{"type": kind}])


@pytest.mark.parametrize("word", ["auto", "none", "required"])
def test_the_words_of_a_choice_are_chats_words(word: str):
    """They pass."""
    assert sent(tools=[FUNCTION], tool_choice=word)["tool_choice"] == word


@pytest.mark.parametrize(
    "choice", [{"type": "function", "name": "f"}, {"type": "function", "function": {"name": "f"}}]
)
def test_a_named_function_is_translated(choice: dict[str, Any]):
    """Chat has one more level; its own shape is taken too."""
    made = sent(tools=[FUNCTION], tool_choice=choice)
    assert made["tool_choice"] == {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_a_choice_of_several_tools_narrows_them(mode: str):
    """No engine knows such a choice, but none can call what it is not told of."""
    choice = {
        "type": "allowed_tools",
        "mode": mode,
        "tools": [{"type": "function", "name": "g"}, {"type": "mcp", "server_label": "s"}],
    }
    made = sent(tools=[FUNCTION, {**FUNCTION, "name": "g"}], tool_choice=choice)
    assert [tool["function"]["name"] for tool in made["tools"]] == ["g"]
    assert made["tool_choice"] == mode


def test_a_choice_that_allows_nothing_forces_nothing():
    """A choice among no tools is no choice."""
    choice = {"type": "allowed_tools", "mode": "auto"}
    assert sent(tools=[FUNCTION], tool_choice=choice) == sent()


def test_a_forced_call_without_tools_is_refused():
    """By its name here."""
    made = dialect().render_request(parsed(tool_choice="required"), tier())
    problem: Any = made
    assert (problem.status, problem.param) == (400, "tool_choice")


def test_parallel_calls_are_about_tools():
    """Kept where there are some, else dropped and named."""
    assert sent(tools=[FUNCTION], parallel_tool_calls=False)["parallel_tool_calls"] is False
    request = parsed(parallel_tool_calls=True, tool_choice="auto")
    assert request.dropped_fields == ("parallel_tool_calls",)
    assert sent(parallel_tool_calls=True, tool_choice="auto") == sent()


def test_a_field_given_twice_counts_once():
    """The last one."""
    request = parsed(b'{"model":"a","input":"x","model":"b","input":"hello there"}')
    assert (request.model, request.prompt_tokens) == ("b", 2)


def test_what_the_gates_ask_for_is_known():
    """Media, tools, estimate and prefill, as for every dialect."""
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    user = {"role": "user", "content": [{"type": "input_text", "text": "one two three"}, image]}
    request = parsed(input=[user], tools=[FUNCTION])
    assert (request.media, request.has_tools, request.is_prefill) == (Media(images=1), True, False)
    assert request.prompt_tokens == 3
    assert parsed(input=[user, {"role": "assistant", "content": "So"}]).is_prefill
    history = [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]
    assert parsed(input=[user, *history]).has_tools
    assert not parsed().has_tools


def test_problems_found_on_the_way_have_the_names_of_this_api():
    """Chat's `messages` are called `input` here."""
    refused = tier({"prefill": "refuse"})
    history = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    made: Any = dialect().render_request(parsed(input=history), refused)
    error = json.loads(dialect().render_problem(made))["error"]
    assert (error["param"], error["code"]) == ("input", "invalid_request")
    assert json.loads(dialect().render_problem(refusal(model=1)))["error"]["param"] == "model"
    nothing = json.loads(dialect().render_problem(refusal(b"{")))["error"]
    assert nothing["param"] is None


def test_the_body_is_kept_for_the_echo():
    """As it came."""
    assert parsed().source == body()


@pytest.mark.parametrize(
    "template",
    [
        b'{"model":"m","input":[{"role":"user","content":[{"type":"input_audio","input_audio":%b}]}]}',
        b'{"model":"m","input":"hi","text":{"deep":%b}}',
    ],
)
def test_no_depth_of_nesting_gets_through_half_way(template: bytes):
    """What is shallow enough to be read once may be too deep to be read again further inside."""
    statuses = set()
    for depth in range(1, sys.getrecursionlimit() + 50):
        made = dialect().parse_request(template % (b"[" * depth + b"]" * depth))
        statuses.add(made.status if isinstance(made, Problem) else 200)
    assert statuses == {200, 400}
