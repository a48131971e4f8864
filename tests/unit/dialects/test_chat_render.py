"""The edges of rendering a request."""

import pytest

from tests.unit.dialects.chats import HI, parsed, rendered, sent, tier

PREFILL = [*HI, {"role": "assistant", "content": "1, 2,"}]


@pytest.mark.parametrize("name", ["continue_final_message", "add_generation_prompt"])
def test_a_caller_who_steers_the_continuation_is_left_alone(name: str):
    """Whoever sets one of the two knows what they do."""
    got = sent(None, messages=PREFILL, **{name: False})
    assert [key for key in got if key in {"continue_final_message", "add_generation_prompt"}] == [
        name
    ]


def test_a_null_does_not_steer_the_continuation():
    """A null is as good as nothing."""
    assert sent(messages=PREFILL, continue_final_message=None)["continue_final_message"] is True


def test_a_last_tool_call_is_not_continued():
    """There are no words to go on from."""
    turn = {"role": "assistant", "content": "x", "tool_calls": [{"id": "a"}]}
    assert "continue_final_message" not in sent(messages=[*HI, turn])


def test_defaults_fill_a_null():
    """A null is as good as nothing."""
    assert sent(tier(extra_body_defaults={"top_k": 5}), top_k=None)["top_k"] == 5


def test_a_default_limit_fills_only_where_the_caller_gave_none():
    """Neither of its two names, that is; and it is lowered like a caller's."""
    to = tier(extra_body_defaults={"max_tokens": 300}, max_output_tokens=200)
    assert sent(to, max_completion_tokens=50)["max_tokens"] == 50
    assert sent(to)["max_tokens"] == 200
    assert sent(tier(extra_body_defaults={"max_completion_tokens": 7}))["max_tokens"] == 7
    limit = rendered(parsed(), to).output_limit
    assert (limit.requested, limit.applied) == (None, 200)


def test_a_pinned_limit_is_what_applies():
    """The operator's body overwrites the limit, and the record says so."""
    to = tier(extra_body={"max_tokens": 9}, max_output_tokens=200)
    assert sent(to, max_tokens=50)["max_tokens"] == 9
    assert rendered(parsed(max_tokens=50), to).output_limit.applied == 9


@pytest.mark.parametrize("odd", ["many", True, 1.5, None])
def test_an_operators_odd_limit_is_sent_and_not_counted(odd: object):
    """What is no count is the engine's to judge."""
    assert rendered(parsed(), tier(extra_body={"max_tokens": odd})).output_limit.applied is None
    to = tier(extra_body_defaults={"max_tokens": odd})
    assert rendered(parsed(), to).output_limit.applied is None
    assert sent(to)["max_tokens"] == odd


def test_without_any_limit_none_is_set():
    """No limit is made up, and a null is left as it is."""
    assert "max_tokens" not in sent()
    assert sent(max_tokens=None)["max_tokens"] is None


def test_tools_that_there_are_keep_their_choice():
    """Only a null goes, which some engines do not take."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    for choice in ("auto", "none", "required", {"type": "function", "function": {"name": "f"}}):
        got = sent(tools=tools, tool_choice=choice)
        assert (got["tools"], got["tool_choice"]) == (tools, choice)
    assert "tool_choice" not in sent(tools=tools, tool_choice=None)


def test_blanks_in_an_empty_list_do_not_fill_it():
    """`[ ]` holds no tools."""
    raw = b'{"model":"m","messages":[{"role":"user"}],"tools":[ \n ]}'
    assert b"tools" not in rendered(parsed(raw), tier()).body


@pytest.mark.parametrize("odd", [7, "x", {}])
def test_an_operators_odd_defaults_are_sent_as_they_are(odd: object):
    """Our rules are about callers; what the operator wrote is the engine's to judge."""
    got = sent(tier(extra_body_defaults={"tools": odd, "stop": odd}))
    assert (got["tools"], got["stop"]) == (odd, odd)


def test_stop_strings_that_say_something_keep_their_bytes():
    """Blanks and all."""
    raw = b'{"model":"m","messages":[{"role":"user"}],"stop":[ "a" , " "]}'
    assert b'"stop":[ "a" , " "]' in rendered(parsed(raw), tier()).body


def test_a_caller_who_asks_for_usage_keeps_their_bytes():
    """There is nothing to add."""
    options = b'"stream_options":{ "include_usage":true }'
    raw = b'{"model":"m","messages":[{"role":"user"}],"stream":true,%b}' % options
    assert options in rendered(parsed(raw), tier()).body


def test_the_operators_defaults_may_decide_on_usage():
    """For callers who say nothing about it."""
    to = tier(extra_body_defaults={"stream_options": {"include_usage": False}})
    assert sent(to, stream=True)["stream_options"] == {"include_usage": False}
    assert sent(to, stream=True, stream_options={})["stream_options"] == {"include_usage": True}
