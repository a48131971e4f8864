"""Every change that is made to a request: docs/dialects.md names one test here for each."""

import json

from anvil_trio.errors import Code
from tests.unit.dialects.chats import HI, parsed, refusal, rendered, sent, tier, unrendered

SYSTEM = {"role": "system", "content": "Be brief."}
LATE = {"role": "system", "content": "Now be long."}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
THOUGHT = {"role": "assistant", "reasoning": "hm", "content": "yes"}


def test_nothing_else_is_changed():
    """A request that needs no change reaches the engine byte for byte, but for the model's name."""
    raw = (
        '{"model":"llm.primary","messages":[ {"role" : "user","content":"caf\\u00e9 \\/ é"} ],'
        '"temperature":1.0,"seed":12345678901234567890,"logit_bias":{"50256": -100},'
        '"unknown":{"b":1e2,"a":[ ]},"user":null}'
    ).encode()
    assert rendered(parsed(raw), tier()).body == raw.replace(b"llm.primary", b"served-model")


def test_model_becomes_the_served_name():
    """The tier's own model goes upstream; without one the caller's spelling, trimmed."""
    assert sent(model="LLM.primary")["model"] == "served-model"
    assert sent(tier(model=None), model=" LLM.Primary\n")["model"] == "LLM.Primary"


def test_system_position_keep():
    """System messages stay where the caller put them."""
    assert sent(messages=[SYSTEM, *HI, LATE])["messages"] == [SYSTEM, *HI, LATE]


def test_system_position_merge_first():
    """All system messages become one, in front, in their order."""
    got = sent(tier({"system_position": "merge_first"}), messages=[*HI, SYSTEM, *HI, LATE])
    merged = {"role": "system", "content": "Be brief.\n\nNow be long."}
    assert got["messages"] == [merged, *HI, *HI]


def test_system_position_as_user():
    """Every system message but the very first message is the user's."""
    got = sent(tier({"system_position": "as_user"}), messages=[SYSTEM, *HI, LATE])
    assert got["messages"] == [SYSTEM, *HI, {"role": "user", "content": "Now be long."}]


def test_developer_role_system():
    """The role that engines' templates do not know becomes the one that they do."""
    got = sent(messages=[{"role": "developer", "content": "D", "name": "x"}, *HI])
    assert got["messages"][0] == {"role": "system", "content": "D", "name": "x"}


def test_developer_role_developer():
    """An engine that knows the role gets it as sent."""
    developer = {"role": "developer", "content": "D"}
    assert sent(tier({"developer_role": "developer"}), messages=[developer, *HI])["messages"] == [
        developer,
        *HI,
    ]


def test_empty_content_empty():
    """Assistant content that says nothing is "" and is never missing."""
    turns = [{"role": "assistant", "tool_calls": [CALL]}, {"role": "assistant", "content": None}]
    got = sent(messages=[*HI, *turns, *HI])["messages"]
    assert [turn["content"] for turn in got] == ["hi", "", "", "hi"]


def test_empty_content_null():
    """Assistant content that says nothing is null and is never missing."""
    turns = [{"role": "assistant", "tool_calls": [CALL]}, {"role": "assistant", "content": ""}]
    got = sent(tier({"empty_content": "null"}), messages=[*HI, *turns, *HI])["messages"]
    assert [turn["content"] for turn in got] == ["hi", None, None, "hi"]


def test_max_tokens_field_max_tokens():
    """Whichever name the caller used, the engine gets `max_tokens`."""
    got = sent(max_completion_tokens=50)
    assert got["max_tokens"] == 50
    assert "max_completion_tokens" not in got


def test_max_tokens_field_max_completion_tokens():
    """Whichever name the caller used, the engine gets `max_completion_tokens`."""
    got = sent(tier({"max_tokens_field": "max_completion_tokens"}), max_tokens=50)
    assert got["max_completion_tokens"] == 50
    assert "max_tokens" not in got


def test_max_tokens_field_both():
    """The engine gets the one limit under both names, the smaller one if the caller sent two."""
    got = sent(tier({"max_tokens_field": "both"}), max_tokens=50, max_completion_tokens=40)
    assert (got["max_tokens"], got["max_completion_tokens"]) == (40, 40)


def test_reasoning_history_drop():
    """Earlier thoughts are left out, and an assistant message that held nothing else with them."""
    only = {"role": "assistant", "content": None, "reasoning_content": "hm", "reasoning_text": ""}
    got = sent(messages=[*HI, THOUGHT, *HI, only, *HI])["messages"]
    assert got == [*HI, {"role": "assistant", "content": "yes"}, *HI, *HI]


def test_reasoning_history_reasoning_content():
    """The first non-empty of the three names is sent as `reasoning_content`, alone."""
    turn = {"role": "assistant", "reasoning_text": "b", "reasoning": "", "content": "x"}
    got = sent(tier({"reasoning_history": "reasoning_content"}), messages=[THOUGHT, turn, *HI])
    assert got["messages"] == [
        {"role": "assistant", "content": "yes", "reasoning_content": "hm"},
        {"role": "assistant", "content": "x", "reasoning_content": "b"},
        *HI,
    ]


def test_reasoning_history_reasoning():
    """The first non-empty of the three names is sent as `reasoning`, alone."""
    turn = {"role": "assistant", "reasoning_content": "a", "reasoning": "b", "content": "x"}
    got = sent(tier({"reasoning_history": "reasoning"}), messages=[turn, *HI])
    assert got["messages"][0] == {"role": "assistant", "reasoning": "a", "content": "x"}


def test_reasoning_history_as_sent():
    """Earlier thoughts go upstream as they came."""
    got = sent(tier({"reasoning_history": "as_sent"}), messages=[*HI, THOUGHT, *HI])
    assert got["messages"][1] == THOUGHT


def test_prefill_continue():
    """A last message of the assistant is continued, not answered."""
    got = sent(messages=[*HI, {"role": "assistant", "content": "1, 2,"}])
    assert (got["continue_final_message"], got["add_generation_prompt"]) == (True, False)


def test_prefill_refuse():
    """A tier that cannot continue says so before anything is reserved."""
    request = parsed(messages=[*HI, {"role": "assistant", "content": "1, 2,"}])
    to = tier({"prefill": "refuse"})
    what = unrendered(request, to)
    assert (what.status, what.code, what.param) == (400, Code.INVALID_REQUEST, "messages")


def test_drop_billing_header_has_no_effect():
    """The setting is about Messages: a Chat system message is not touched by it."""
    header = {"role": "system", "content": "x-anthropic-billing-header: a; cch=1"}
    for value in (True, False):
        got = sent(tier({"drop_billing_header": value}), messages=[header, *HI])
        assert got["messages"] == [header, *HI]


def test_extra_body_defaults_fill():
    """The operator's defaults are taken where the caller is silent, and only there."""
    to = tier(
        extra_body_defaults={"top_k": 20, "temperature": 0.1, "chat_template_kwargs": {"a": 1}}
    )
    got = sent(to, temperature=0.9)
    assert (got["top_k"], got["temperature"], got["chat_template_kwargs"]) == (20, 0.9, {"a": 1})


def test_extra_body_overwrites():
    """The operator's body wins over the caller, over defaults and over our own rules."""
    to = tier(
        extra_body={"temperature": 0, "model": "pinned", "top_k": 1, "stream_options": {}},
        extra_body_defaults={"top_k": 2},
    )
    got = sent(to, temperature=0.9, stream=True)
    assert (got["temperature"], got["model"], got["top_k"]) == (0, "pinned", 1)
    assert got["stream_options"] == {}


def test_output_limit_is_lowered():
    """A limit above the tier's is lowered, a missing one is set, and the record learns of it."""
    to = tier(max_output_tokens=100)
    assert [sent(to, max_tokens=value)["max_tokens"] for value in (50, 100, 500)] == [50, 100, 100]
    assert sent(to)["max_tokens"] == 100
    limit = rendered(parsed(max_tokens=500), to).output_limit
    assert (limit.requested, limit.applied, limit.is_clamped) == (500, 100, True)
    assert not rendered(parsed(), to).output_limit.is_clamped


def test_idle_tools_are_dropped():
    """Empty `tools` go, with a `tool_choice` that forces nothing; a forcing one is a 400."""
    for choice in ("auto", "none", None):
        got = sent(tools=[], tool_choice=choice)
        assert not {"tools", "tool_choice"} & got.keys()
    assert rendered(parsed(tools=[], tool_choice="auto"), tier()).dropped_fields == (
        "tools",
        "tool_choice",
    )
    for forcing in ("required", {"type": "function", "function": {"name": "f"}}):
        what = unrendered(parsed(tool_choice=forcing), tier())
        assert (what.status, what.code, what.param) == (400, Code.INVALID_REQUEST, "tool_choice")


def test_loose_tool_arguments_are_mended():
    """Arguments in the history are JSON strings: "" is `{}`, an object its own text."""
    functions = [
        {"name": "f", "arguments": ""},
        {"name": "g", "arguments": {"city": "Rome"}},
        {"name": "h", "arguments": '{"a": 1'},
        {"name": "i"},
        {"name": "j", "arguments": None},
    ]
    calls = [
        {"id": str(at), "type": "function", "function": one} for at, one in enumerate(functions)
    ]
    turn = {"role": "assistant", "content": "", "tool_calls": calls}
    got = sent(messages=[*HI, turn, *HI])["messages"][1]["tool_calls"]
    assert [call["function"]["arguments"] for call in got] == [
        "{}",
        '{"city": "Rome"}',
        '{"a": 1',
        "{}",
        "{}",
    ]
    assert [call["id"] for call in got] == list("01234")


def test_empty_stop_strings_are_dropped():
    """A stop string that would end every reply at once never reaches the engine."""
    assert sent(stop=["", "END", ""])["stop"] == ["END"]
    for nothing in ("", [""], ["", ""]):
        assert "stop" not in sent(stop=nothing)
    assert rendered(parsed(stop=""), tier()).dropped_fields == ("stop",)


def test_usage_is_asked_for():
    """A stream is always asked for its counts; the caller's other options stay."""
    assert sent(stream=True)["stream_options"] == {"include_usage": True}
    options = {"include_usage": False, "continuous_usage_stats": True}
    assert sent(stream=True, stream_options=options)["stream_options"] == {
        "include_usage": True,
        "continuous_usage_stats": True,
    }
    assert "stream_options" not in sent(stream=False)


def test_a_field_given_twice_is_sent_once():
    """Of a top-level field that is given twice the engine sees what we have checked: the last."""
    raw = b'{"model":"a","temperature":1,"messages":[{"role":"user"}],"temperature":0.5}'
    assert rendered(parsed(raw), tier()).body.count(b"temperature") == 1
    assert json.loads(rendered(parsed(raw), tier()).body)["temperature"] == 0.5
    assert refusal(raw.replace(b"0.5", b'"x"')).param == "temperature"
