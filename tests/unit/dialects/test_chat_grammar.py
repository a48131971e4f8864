"""The checker of Chat streams itself: it takes good streams, and rejects every kind of bad one."""

import json

import pytest
from hypothesis import given

from tests.support.grammars import GrammarError, read_chat
from tests.unit.dialects.chats import captured, delta, event, patient
from tests.unit.dialects.test_three_dialects_streams import DONE, chat_streams

CALL = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}
REST = {"index": 0, "function": {"arguments": "}"}}
SECOND = {**CALL, "index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}}
IDENTITY = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "served-model"}
COUNTS = event({**IDENTITY, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
GOOD = [
    delta({"role": "assistant", "content": ""}),
    delta({"reasoning_content": "hm"}),
    delta({"content": "Hello"}),
    delta({"tool_calls": [CALL]}),
    delta({"tool_calls": [REST]}),
    delta({"tool_calls": [SECOND]}),
    delta(finish="tool_calls"),
    COUNTS,
    DONE,
]
ROLE, THOUGHT, TEXT, BEGAN, MORE, OTHER, END, _, _ = GOOD


def is_good(*events: bytes, usage_wanted: bool = True) -> bool:
    """Whether the checker takes a stream."""
    try:
        read_chat(b"".join(events), usage_wanted=usage_wanted)
    except GrammarError:
        return False
    return True


def test_a_good_stream_is_read():
    """Everything that was said, once."""
    final = read_chat(b"".join([b": keepalive\n", *GOOD]), usage_wanted=True)
    (choice,) = final["choices"]
    message = choice["message"]
    assert (message["content"], message["reasoning_content"]) == ("Hello", "hm")
    assert [call["arguments"] for call in message["tool_calls"]] == ["{}", "{}"]
    assert choice["finish_reason"] == "tool_calls"
    assert final["usage"] == {"prompt_tokens": 1, "completion_tokens": 2}


@pytest.mark.parametrize(
    "events",
    [
        [],
        [ROLE],
        [DONE],
        [ROLE, END],
        [ROLE, TEXT, DONE],
        [TEXT, delta(finish="stop"), DONE],
        [ROLE, ROLE, delta(finish="stop"), DONE],
        [delta({"role": "user"}), delta(finish="stop"), DONE],
        [ROLE, delta(finish="stop"), TEXT, DONE],
        [ROLE, delta(finish="stop"), delta(finish="stop"), DONE],
        [ROLE, delta(finish="stop"), DONE, DONE],
        [ROLE, delta(finish="stop"), DONE, TEXT],
        [ROLE, BEGAN, END, DONE],
        [ROLE, BEGAN, delta(finish="stop"), DONE],
        [ROLE, OTHER, END, DONE],
        [ROLE, MORE, END, DONE],
        [ROLE, BEGAN, BEGAN, END, DONE],
        [ROLE, BEGAN, MORE, delta({"tool_calls": [{**SECOND, "id": "a"}]}), END, DONE],
        [ROLE, delta({"tool_calls": [{**SECOND, "index": 0, "id": ""}]}), END, DONE],
        [ROLE, delta({"tool_calls": [{**SECOND, "index": 0, "type": None}]}), END, DONE],
        [ROLE, delta({"tool_calls": [{**CALL, "function": {"arguments": "{}"}}]}), END, DONE],
        [ROLE, COUNTS, delta(finish="stop"), DONE],
        [ROLE, delta(finish="stop"), COUNTS, COUNTS, DONE],
        [ROLE, delta(finish="stop"), COUNTS, TEXT, DONE],
        [ROLE, delta(finish="stop", usage={"prompt_tokens": 1}), DONE],
        [ROLE, delta(finish="stop"), COUNTS.replace(b":2", b":-2"), DONE],
        [ROLE, event({**IDENTITY, "choices": []}), delta(finish="stop"), DONE],
        [ROLE, TEXT.replace(b'"c1"', b'"c2"'), delta(finish="stop"), DONE],
        [ROLE, TEXT.replace(b'"created":1', b'"created":2'), delta(finish="stop"), DONE],
        [ROLE, TEXT.replace(b".chunk", b""), delta(finish="stop"), DONE],
        [one.replace(b'"id":"c1",', b"") for one in [ROLE, delta(finish="stop"), DONE]],
        [ROLE, delta(finish="stop"), DONE[:-1]],
        [ROLE, b"event: x\n" + TEXT, delta(finish="stop"), DONE],
        [ROLE, delta({"content": "x"}, index=1), delta(finish="stop"), DONE],
        [ROLE, event({"error": {"message": "", "type": "x"}})],
        [ROLE, event({"error": {"message": "x", "type": "x"}}), DONE],
    ],
    ids=range(36),
)
def test_a_broken_stream_is_rejected(events: list[bytes]):
    """A missing, doubled or misplaced event, and every wrong member."""
    assert not is_good(*events)


def test_counts_that_nobody_asked_for_are_rejected():
    """The same stream is good for a caller who asked."""
    events = [ROLE, delta(finish="stop"), COUNTS, DONE]
    assert is_good(*events)
    assert not is_good(*events, usage_wanted=False)
    assert is_good(ROLE, delta(finish="stop"), DONE, usage_wanted=False)


def test_a_cut_call_is_good_where_it_is_said_to_be_cut():
    """And an error ends a stream wherever it is."""
    assert is_good(ROLE, BEGAN, delta(finish="length"), DONE)
    assert is_good(ROLE, BEGAN, event({"error": {"message": "x", "type": "y"}}))


def test_a_relayed_stream_may_have_its_engines_ways():
    """Late ids, other identities and preambles; nothing else is forgiven."""
    late = {"index": 0, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    events = [
        event({**IDENTITY, "id": "p", "choices": []}),
        ROLE,
        delta({"tool_calls": [late]}),
        delta({"tool_calls": [{"index": 0, "id": "a"}]}),
        END,
        DONE,
    ]
    stream = b"".join(events)
    assert read_chat(stream, is_relayed=True)["choices"][0]["message"]["tool_calls"]
    with pytest.raises(GrammarError):
        read_chat(stream)
    with pytest.raises(GrammarError):
        read_chat(stream.replace(events[3], b""), is_relayed=True)


@patient
@given(chat_streams())
def test_no_event_can_be_left_out_doubled_or_moved(drawn):
    """Of any good stream: what says nothing on its own may go; all else is missed."""
    _, whole = drawn
    events = [one + b"\n\n" for one in whole.removesuffix(DONE).split(b"\n\n")[:-1]] + [DONE]
    assert is_good(*events)
    for at, one in enumerate(events):
        says_text = b'"tool_calls":[' not in one and (b'"content":"' in one or b'"reasoning' in one)
        if at and says_text:
            continue  # a piece of text has no place that a checker could know
        if b'"usage":{' not in one and not is_piece(one):
            assert not is_good(*events[:at], *events[at + 1 :])
        if not is_piece(one):
            assert not is_good(*events[: at + 1], *events[at:])


def is_piece(data: bytes) -> bool:
    """Whether an event is more of a call that has begun."""
    return b'"tool_calls":[' in data and b'"type":"function"' not in data


@pytest.mark.parametrize("name", ["llamacpp-tools", "vllm-tools", "sglang-tools", "vllm-text"])
def test_real_engines_keep_the_grammar(name: str):
    """As captured."""
    final = read_chat(captured(f"{name}.sse"), usage_wanted=True)
    assert json.dumps(final["choices"])
