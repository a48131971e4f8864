"""The edges of the compat table."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.config.model import Compat
from anvil_trio.dialects.ir import ChatRequest, RenderedRequest
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Problem
from tests.unit.dialects.chats import HI, parsed, patient, rendered, sent, tier

CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def raw_messages(text: str, compat: dict[str, Any] | None = None) -> str:
    """The messages in the engine's body, as text, of a request with these."""
    raw = f'{{"model":"m","messages":{text}}}'.encode()
    out = rendered(parsed(raw), tier(compat)).body
    return out.removeprefix(b'{"model":"served-model","messages":').removesuffix(b"}").decode()


@pytest.mark.parametrize(
    "text",
    [
        '[ {"role":"user", "content":"a"} ]',
        '[ {"role":"system","content":"s"}, {"role":"user", "content":"a"} ]',
        '[ {"role":"assistant","content":"a","x":[ 1 ]}, {"role":"user", "content":"a"} ]',
        '[ {"role":"user","reasoning":"mine","content":""}, {"role":"tool","content":null} ]',
    ],
)
def test_history_that_needs_no_change_keeps_its_bytes(text: str):
    """Blanks and all."""
    assert raw_messages(text) == text


def test_only_the_message_that_must_change_is_written_anew():
    """Its neighbours keep their bytes, and so do its own other members."""
    text = '[ {"role":"user", "content" :"a"},{"role":"developer","x":[ 1 ] , "content":"b"} ]'
    assert raw_messages(text) == (
        '[{"role":"user", "content" :"a"},{"role":"system","x":[ 1 ],"content":"b"}]'
    )


def test_only_the_call_that_must_change_is_written_anew():
    """The other calls of a message keep their bytes."""
    fine = '{ "id":"a","function":{"name":"f","arguments":"{}"} }'
    odd = '{"id":"b","function":{"name":"g","arguments":{"x": 1}} }'
    text = f'[{{"role":"assistant","content":"c","tool_calls":[{fine},{odd}]}}]'
    assert f'{fine},{{"id":"b","function":{{"name":"g","arguments":"{{\\"x\\": 1}}"}}}}' in (
        raw_messages(text)
    )


@pytest.mark.parametrize("content", ["", None, [], [""], [{"type": "text", "text": ""}], ...])
def test_all_ways_to_say_nothing_are_one(content: object):
    """Missing, null, "", no parts and empty parts."""
    turn: dict[str, Any] = {"role": "assistant", "tool_calls": [CALL]}
    if content is not ...:
        turn["content"] = content
    for name, wanted in (("empty", ""), ("null", None)):
        got = sent(tier({"empty_content": name}), messages=[*HI, turn, *HI])["messages"][1]
        assert got["content"] == wanted


def test_content_that_says_something_in_another_way_stays():
    """A part that is no text is content."""
    turn = {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    assert sent(messages=[*HI, turn, *HI])["messages"][1] == turn


def test_only_assistant_messages_are_emptied():
    """An empty question is the caller's affair."""
    assert sent(messages=[{"role": "user", "content": None}])["messages"][0]["content"] is None


@pytest.mark.parametrize(
    "rest", [{"content": "x"}, {"tool_calls": [CALL]}, {"function_call": {"name": "f"}}]
)
def test_a_message_that_holds_more_than_thoughts_is_kept(rest: dict[str, Any]):
    """Only what the dropped reasoning leaves empty is dropped with it."""
    turn = {"role": "assistant", "reasoning": "hm", **rest}
    got = sent(messages=[*HI, turn, *HI])["messages"]
    assert len(got) == 3
    assert got[1] == {"role": "assistant", "content": "", **rest}


def test_a_message_that_was_empty_before_is_kept():
    """Without thoughts nothing was dropped, so nothing was left empty."""
    turn = {"role": "assistant", "content": "", "reasoning_content": None}
    assert sent(messages=[*HI, turn, *HI])["messages"][1] == {"role": "assistant", "content": ""}


def test_a_thought_under_the_right_name_alone_keeps_its_bytes():
    """There is nothing to rename."""
    text = '[{"role":"assistant", "reasoning":"a", "content":"b"},{"role":"user"}]'
    assert raw_messages(text, {"reasoning_history": "reasoning"}) == text


def test_thoughts_that_are_all_empty_are_not_renamed():
    """Empty members go, and no new one comes."""
    turn = {"role": "assistant", "content": "x", "reasoning": "", "reasoning_content": None}
    got = sent(tier({"reasoning_history": "reasoning_content"}), messages=[turn, *HI])
    assert got["messages"][0] == {"role": "assistant", "content": "x"}


def test_a_dropped_last_thought_is_no_prefill():
    """What is not sent cannot be continued."""
    turn = {"role": "assistant", "content": "", "reasoning": "hm"}
    assert "continue_final_message" not in sent(messages=[*HI, turn])


def test_one_late_system_message_moves_to_the_front():
    """`merge_first` is about the place as much as about the number."""
    late = {"role": "developer", "content": "D", "name": "x"}
    got = sent(tier({"system_position": "merge_first"}), messages=[*HI, late])
    assert got["messages"] == [{"role": "system", "content": "D", "name": "x"}, *HI]


def test_one_first_system_message_is_already_merged():
    """It keeps its bytes, and a chat without any keeps all of them."""
    last = ', {"role":"user"} ]'
    for text in (
        '[ {"role":"system","content":"s"}' + last,
        '[ {"role":"assistant","content":"s"}' + last,
    ):
        assert raw_messages(text, {"system_position": "merge_first"}) == text


def test_parts_of_system_messages_are_merged_as_parts():
    """Nothing that a part holds is lost; an empty message adds nothing."""
    cached = {"type": "text", "text": "B", "cache_control": {"type": "ephemeral"}}
    system = [
        {"role": "system", "content": "A"},
        {"role": "system", "content": [cached]},
        {"role": "system", "content": ""},
        {"role": "system"},
    ]
    got = sent(tier({"system_position": "merge_first"}), messages=[*HI, *system])["messages"]
    assert got == [{"role": "system", "content": [{"type": "text", "text": "A"}, cached]}, *HI]


def test_late_developer_messages_count_as_system_messages():
    """Also where the engine knows the role."""
    developer = {"role": "developer", "content": "D"}
    compat = {"system_position": "as_user", "developer_role": "developer"}
    got = sent(tier(compat), messages=[developer, *HI, developer])["messages"]
    assert [turn["role"] for turn in got] == ["developer", "user", "user"]


COMPATS = st.builds(
    Compat,
    system_position=st.sampled_from(["keep", "merge_first", "as_user"]),
    developer_role=st.sampled_from(["system", "developer"]),
    empty_content=st.sampled_from(["empty", "null"]),
    max_tokens_field=st.sampled_from(["max_tokens", "max_completion_tokens", "both"]),
    reasoning_history=st.sampled_from(["drop", "reasoning_content", "reasoning", "as_sent"]),
)
CONTENTS = (
    st.none()
    | st.text(max_size=3)
    | st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "image_url"])}, optional={"text": st.text(max_size=3)}
        ),
        max_size=2,
    )
)
ARGUMENTS = (
    st.none() | st.sampled_from(["", "{}", "{"]) | st.dictionaries(st.text(max_size=2), st.none())
)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"id": st.text(max_size=2)},
        optional={
            "function": st.fixed_dictionaries(
                {"name": st.text(max_size=2)}, optional={"arguments": ARGUMENTS}
            )
        },
    ),
    max_size=2,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool"])},
        optional={
            "content": CONTENTS,
            "tool_calls": CALLS,
            "reasoning": st.none() | st.text(max_size=2),
            "reasoning_content": st.none() | st.text(max_size=2),
            "name": st.text(max_size=2),
        },
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


@patient
@given(MESSAGES, COMPATS, st.booleans())
def test_any_history_is_shaped_without_loss(messages: list[Any], compat: Compat, stream: bool):
    """Every text and call arrives, in order, and shaping what was shaped changes nothing."""
    messages = [
        turn for turn in messages if turn["role"] == "assistant" or "tool_calls" not in turn
    ]
    to = tier().model_copy(update={"compat": compat})
    made = CHAT.render_request(parsed(messages=messages or HI, stream=stream), to)
    assert isinstance(made, RenderedRequest)
    got = json.loads(made.body)["messages"] if messages else []
    if compat.system_position != "merge_first":
        assert said(got) == said(messages)
    else:
        assert sorted(said(got).replace("\n", "")) == sorted(said(messages).replace("\n", ""))
    calls = [call.get("id") for turn in messages for call in turn.get("tool_calls") or ()]
    assert [call.get("id") for turn in got for call in turn.get("tool_calls") or ()] == calls
    if got:
        again = CHAT.render_request(parsed(messages=got, stream=stream), to)
        assert isinstance(again, RenderedRequest)
        assert json.loads(again.body)["messages"] == got


def test_a_body_nested_to_the_edge_of_the_stack_breaks_nothing():
    """What passed the checks may be too deep where it is written anew: then it is refused."""
    seen = set()
    for depth in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit()):
        nested = b"[" * depth + b"]" * depth
        raw = b'{"model":"m","messages":[{"role":"developer","x":%b}]}' % nested
        request = CHAT.parse_request(raw)
        made = CHAT.render_request(request, tier()) if isinstance(request, ChatRequest) else request
        seen.add(type(made))
    assert seen == {RenderedRequest, Problem}


def said(messages: list[Any]) -> str:
    """All text of all contents."""
    texts = []
    for turn in messages:
        content = turn.get("content") or ""
        parts = [content] if isinstance(content, str) else content
        texts += [part if isinstance(part, str) else part.get("text", "") for part in parts]
    return "".join(texts)
