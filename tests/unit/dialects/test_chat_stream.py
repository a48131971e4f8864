"""What a translator learns from a stream, and what it hands on."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.ir import FinishReason, StreamTranslator, Usage
from anvil_trio.dialects.openai_chat import CHAT
from tests.unit.dialects.chats import (
    DONE,
    captured,
    choice,
    contents,
    delta,
    event,
    new_stream,
    parsed,
    served,
    tier,
    translated,
)

TEXT = "Hello from a tiny model: café, 你好 🦙."
CALL = {"name": "get_weather", "arguments": '{"city": "Paris"}'}


@pytest.mark.parametrize("name", ["llamacpp-text", "vllm-text", "vllm-continuous", "sglang-text"])
def test_the_known_text_of_each_engine_arrives(name: str):
    """The engines' real streams, the caller's model and nothing else."""
    stream = new_stream()
    out = served(stream, captured(f"{name}.sse"))
    assert contents(out) == TEXT
    assert {one["model"] for one in out[:-1]} == {"llm.primary"}
    assert out[-1] == DONE
    assert (stream.finish_reason, stream.failure) == (FinishReason.STOP, None)
    assert stream.is_finished
    assert stream.is_done
    assert stream.has_content
    assert not stream.is_finish_reason_missing


@pytest.mark.parametrize("name", ["llamacpp-tools", "vllm-tools", "sglang-tools"])
def test_the_known_call_of_each_engine_arrives(name: str):
    """However an engine cuts it."""
    stream = new_stream()
    out = served(stream, captured(f"{name}.sse"))
    chunks = [one["choices"][0]["delta"].get("tool_calls") or [] for one in out[:-1]]
    pieces = [call["function"] for calls in chunks for call in calls]
    assert "".join(one.get("name") or "" for one in pieces) == CALL["name"]
    assert "".join(one.get("arguments") or "" for one in pieces) == CALL["arguments"]
    assert stream.finish_reason is FinishReason.TOOL_CALLS


def test_a_stream_that_ends_without_done_is_whole():
    """As transformers serve ends it: a finish reason and a clean end."""
    stream = new_stream()
    out = served(stream, captured("sglang-text.sse").removesuffix(b"data: [DONE]\n\n"))
    assert contents(out) == TEXT
    assert stream.is_finished
    assert not stream.is_done
    assert stream.close() == b"data: [DONE]\n\n"
    assert stream.failure is None


def test_counts_are_learnt_though_they_are_hidden():
    """The record shows what the caller did not ask for."""
    stream = new_stream()
    stream.feed(captured("vllm-think.sse"))
    assert stream.usage == Usage(23, 8, None, 3)


def test_counts_are_shown_to_a_caller_who_asked():
    """The counts of the end, and those on the way."""
    out = translated(captured("vllm-continuous.sse"), usage_wanted=True)
    assert all(one["usage"] for one in out[:-1])


def test_a_null_usage_stays():
    """It is no count, and hides nothing."""
    assert translated(delta({"content": "a"}, usage=None), delta(finish="stop"))[0]["usage"] is None


def test_counts_beside_a_null_list_of_choices_are_hidden():
    """Empty, null and absent choices are all none."""
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    stream = new_stream()
    assert stream.feed(event({"choices": None, "usage": usage}) + event({"usage": usage})) == b""
    assert stream.usage == Usage(1, 2)
    assert stream.events == 2


def test_a_preamble_without_choices_is_handed_on():
    """It is not the end, and not content."""
    stream = new_stream()
    chunk = {"object": "chat.completion.chunk"}
    assert served(stream, event({"model": "m", "choices": []}), event({"x": 1})) == [
        {"model": "llm.primary", "choices": [], **chunk},
        {"x": 1, **chunk, "choices": []},
    ]
    assert not stream.has_content
    assert not stream.is_finished


def test_each_read_gives_what_it_completes():
    """Nothing is held back, and nothing is given twice."""
    stream = new_stream()
    first, second = delta({"content": "a"}), delta({"content": "b"})
    assert contents(served(stream, first)) == "a"
    assert stream.feed(second[:50]) == b""
    assert stream.events == 1
    assert contents(served(stream, second[50:])) == "b"


def test_comments_and_blank_events_are_no_progress():
    """They are dropped and not counted."""
    stream = new_stream()
    assert stream.feed(b": working\n\n\n\ndata:\n\n: x\n") == b""
    assert stream.events == 0


@pytest.mark.parametrize(
    "said",
    [
        {"role": "assistant"},
        {"role": "assistant", "content": ""},
        {"content": None, "reasoning_content": None},
        {"reasoning": "", "tool_calls": []},
    ],
)
def test_an_empty_delta_is_no_content(said: dict[str, Any]):
    """Roles, "" and null say nothing."""
    stream = new_stream()
    served(stream, delta(said))
    assert not stream.has_content


@pytest.mark.parametrize(
    "said",
    [
        {"content": "a"},
        {"content": [{"type": "text", "text": "a"}]},
        {"reasoning_content": "a"},
        {"reasoning": "a"},
        {"reasoning_text": "a"},
        {"tool_calls": [{"index": 0, "id": "a"}]},
    ],
)
def test_text_reasoning_and_calls_are_content(said: dict[str, Any]):
    """Whatever its form."""
    stream = new_stream()
    served(stream, delta(said), delta({}))
    assert stream.has_content


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"reasoning_text": "t"}, "t"),
        ({"reasoning": "r", "reasoning_text": "t"}, "r"),
        ({"reasoning_content": "", "reasoning": "r"}, "r"),
        ({"reasoning_content": None, "reasoning": "r"}, "r"),
        ({"reasoning_content": "c", "reasoning": "r"}, "c"),
    ],
)
def test_the_first_non_empty_reasoning_is_shown(said: dict[str, Any], shown: str):
    """Null and "" mean nothing; what the engine sent stays beside it."""
    said["role"] = "assistant"
    out = translated(delta({**said, "content": "x"}), delta(finish="stop"))
    assert out[0]["choices"][0]["delta"] == {**said, "content": "x", "reasoning_content": shown}


def test_reasoning_of_several_choices_in_one_event_is_shown():
    """Each in its own delta."""
    both = [choice({"reasoning": "a"}), choice({"reasoning": "b"}, index=1)]
    out = served(new_stream(), event({"model": "m", "choices": both}))
    assert [one["delta"]["reasoning_content"] for one in out[0]["choices"]] == ["a", "b"]


def test_reasoning_is_added_where_blanks_hide_the_place():
    """An event that is written with blanks is written anew."""
    spaced = b'{"model": "m", "choices": [{"index": 0, "delta": {"reasoning": "a"}}]}'
    out = served(new_stream(), event(spaced))
    assert out[0]["choices"][0]["delta"]["reasoning_content"] == "a"
    assert out[0]["model"] == "llm.primary"


def test_a_model_that_stands_twice_is_replaced_once():
    """Only the top-level member is the model's name."""
    said = {
        "role": "assistant",
        "content": '"model":"served-model"',
        "x": {"model": "served-model"},
    }
    out = served(new_stream(), delta(said))
    assert out[0]["model"] == "llm.primary"
    assert out[0]["choices"][0]["delta"] == said


@pytest.mark.parametrize("model", [None, 7, "", "other"])
def test_whatever_the_engine_calls_itself_is_not_shown(model: object):
    """Any value of the member; where there is none, none is added."""
    assert served(new_stream(), event({"model": model, "choices": []}))[0]["model"] == "llm.primary"


def test_the_caller_s_spelling_may_be_any_text():
    """Quotes and characters beyond ASCII are written as JSON."""
    assert served(new_stream('é"\\'), delta({}))[0]["model"] == 'é"\\'


@pytest.mark.parametrize("reason", ["content_filter", "abort", "stop", "length", "function_call"])
def test_a_finish_reason_passes_as_sent(reason: str):
    """The record has its own word for it."""
    stream = new_stream()
    out = served(stream, delta(finish=reason))
    assert out[0]["choices"][0]["finish_reason"] == reason
    assert stream.finish_reason is not None


def test_a_choice_may_come_without_a_delta():
    """A finish reason is enough; the caller gets a delta all the same."""
    stream = new_stream()
    bare = {"index": 0, "finish_reason": "stop"}
    out = served(stream, event({"model": "m", "choices": [bare]}))
    assert out[0]["choices"] == [choice({"role": "assistant"}, finish="stop")]
    assert stream.is_finished


def test_an_empty_finish_reason_is_none():
    """Some engines send "" all the time."""
    stream = new_stream()
    served(stream, delta({"content": "a"}, finish=""))
    assert not stream.is_finished


def test_streams_share_nothing():
    """Two translators fed by turns know only their own calls, finish reason and usage."""
    one, two = new_stream(), new_stream()
    call = {"index": 5, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    first = served(one, delta({"tool_calls": [call]}))
    second = served(two, delta({"tool_calls": [{**call, "id": "b"}]}))
    for out in (first, second):
        assert out[0]["choices"][0]["delta"]["tool_calls"][0]["index"] == 0
    served(one, delta(finish="tool_calls"), event({"choices": [], "usage": {"prompt_tokens": 1}}))
    assert (two.finish_reason, two.usage, two.is_finished) == (None, Usage(), False)


def test_the_dialect_makes_a_translator_for_a_request():
    """It knows the caller's spelling, wishes and number of choices."""
    request = parsed(model="A", n=2, stream=True, stream_options={"include_usage": True})
    stream: StreamTranslator = CHAT.translator(request, tier(), 4096)
    usage = event({"model": "m", "choices": [], "usage": {"prompt_tokens": 1}})
    assert b'"model":"A"' in stream.feed(delta({}, finish="stop") + usage)
    assert not stream.is_finished
    stream.feed(delta({}, index=1, finish="stop"))
    assert stream.is_finished


@pytest.mark.parametrize("inner", ['"my-model"', '"my-models"', "{}"])
def test_reply_model_is_its_own_member_and_no_other(inner):
    """A `model` that a member of the event holds is not taken for its own, however spaced."""
    chunk = '{"model": "my-model","x":{"model":' + inner + '},"choices":[]}'
    (out,) = translated(f"data: {chunk}\n\n".encode(), model="a")
    assert out["model"] == "a"
    assert out["x"]["model"] == json.loads(inner)


def test_reasoning_content_is_added_to_the_delta_and_nowhere_else():
    """A `delta` that some other member holds is left alone, however the event is spaced."""
    choice = '{"index":0,"delta": {"reasoning":"hm"},"x":{"delta":{}}}'
    (out,) = translated(f'data: {{"choices":[{choice}]}}\n\n'.encode())
    shown = {"reasoning": "hm", "role": "assistant", "reasoning_content": "hm"}
    assert out["choices"][0]["delta"] == shown
    assert out["choices"][0]["x"] == {"delta": {}}
