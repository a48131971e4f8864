"""One stream of an engine says the same to callers of all three dialects, however it arrives."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.config.model import Tier
from anvil_trio.dialects.ir import ChatRequest
from tests.support.final_said import Said, said_in_chat, said_in_messages, said_in_responses
from tests.support.grammars import check_responses, read_chat, read_messages
from tests.support.three_dialects import THREE
from tests.unit.dialects import anthropic
from tests.unit.dialects.anthropic import engine_tier
from tests.unit.dialects.chats import captured, delta, event, patient, tier

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
INPUTS = st.dictionaries(TEXTS, st.integers() | TEXTS | st.lists(TEXTS, max_size=2), max_size=3)
DONE = b"data: [DONE]\n\n"


def told(dialect: str, to: Tier, reads: list[bytes], *, usage_wanted: bool = False) -> Said | str:
    """The words of the final message that a caller gets of these reads; "failed" if it is none."""
    spoken = THREE[dialect]
    fields: dict[str, Any] = json.loads(spoken.body(stream=True))
    if usage_wanted and dialect == "chat":
        fields["stream_options"] = {"include_usage": True}
    request = spoken.dialect.parse_request(json.dumps(fields).encode())
    assert isinstance(request, ChatRequest)
    stream = spoken.dialect.translator(request, to, 1 << 20)
    out = b"".join(map(stream.feed, reads)) + stream.close()
    if stream.failure is not None:
        out += stream.terminal_error(stream.failure)
    if dialect == "chat":
        final = read_chat(out, usage_wanted=usage_wanted)
    elif dialect == "messages":
        final = read_messages(out)
    else:
        final = check_responses(out).response
    assert (final.get("error") is not None) == (stream.failure is not None)
    if stream.failure is not None:
        return "failed"
    readers = {"chat": said_in_chat, "messages": said_in_messages, "responses": said_in_responses}
    return readers[dialect](final)


@st.composite
def cut(draw: st.DrawFn, whole: bytes) -> list[bytes]:
    """The same bytes in reads of any size."""
    marks = draw(st.sets(st.integers(0, len(whole)), max_size=8))
    return [whole[a:b] for a, b in pairwise(sorted({0, *marks, len(whole)}))]


@st.composite
def pieces(draw: st.DrawFn, text: str) -> list[str]:
    """A text in non-empty pieces."""
    inner = range(1, len(text))
    marks = draw(st.sets(st.sampled_from(inner), max_size=3)) if inner else set()
    return [text[a:b] for a, b in pairwise([0, *sorted(marks), len(text)])]


@st.composite
def calls_by_turns(draw: st.DrawFn) -> tuple[tuple[tuple[str, Any], ...], list[bytes]]:
    """Some calls, and their pieces by turns: each call's own in order."""
    inputs = draw(st.lists(INPUTS, max_size=4))
    left = [draw(pieces(json.dumps(one))) for one in inputs]
    events: list[bytes] = []
    begun = 0
    while begun < len(inputs) or any(left[:begun]):
        going = [at for at in range(begun) if left[at]]
        at = draw(st.sampled_from([*going, *([begun] if begun < len(inputs) else [])]))
        if at == begun:
            begun += 1
            function = {"name": f"f{at}", "arguments": ""}
            call = {"index": at, "id": f"c{at}", "type": "function", "function": function}
        else:
            call = {"index": at, "function": {"arguments": left[at].pop(0)}}
        events.append(delta({"tool_calls": [call]}))
    return tuple((f"f{at}", one) for at, one in enumerate(inputs)), events


@st.composite
def chat_streams(draw: st.DrawFn) -> tuple[Said, bytes]:
    """What a Chat engine says, and the stream in which it says so."""
    thoughts, texts = draw(st.lists(TEXTS, max_size=3)), draw(st.lists(TEXTS, max_size=3))
    field = draw(st.sampled_from(["reasoning_content", "reasoning", "reasoning_text"]))
    calls, call_events = draw(calls_by_turns())
    reason = draw(st.sampled_from(["tool_calls" if calls else "stop", "length"]))
    events = [delta({"role": "assistant", "content": ""})]
    events += [delta({field: thought}) for thought in thoughts]
    events += [delta({"content": text}) for text in texts]
    events += [*call_events, delta(finish=reason)]
    counts = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    events += [event({
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "served-model",
        "choices": [], "usage": counts,
    })]  # fmt: skip
    events += draw(st.sampled_from([[], [DONE]]))
    return Said("".join(thoughts), "".join(texts), calls, reason), b"".join(events)


@st.composite
def messages_streams(draw: st.DrawFn) -> tuple[Said, bytes]:
    """The same of an engine that speaks Messages."""
    thoughts, texts = draw(st.lists(TEXTS, max_size=3)), draw(st.lists(TEXTS, max_size=3))
    inputs = draw(st.lists(INPUTS, max_size=3))
    reason = draw(st.sampled_from(["tool_use" if inputs else "end_turn", "max_tokens"]))
    events, index = [anthropic.started(input_tokens=3)], 0
    for kind, said in (("thinking", thoughts), ("text", texts)):
        if said:
            events.append(anthropic.begun(index, kind, **{kind: ""}))
            events += [anthropic.more(index, kind, text) for text in said]
            events.append(anthropic.stopped(index))
            index += 1
    for at, given_input in enumerate(inputs):
        events.append(anthropic.begun(index, "tool_use", id=f"c{at}", name=f"f{at}", input={}))
        parts = draw(pieces(json.dumps(given_input)))
        events += [anthropic.more(index, "input_json", part) for part in parts]
        events.append(anthropic.stopped(index))
        index += 1
    events.append(anthropic.ended(reason, output_tokens=2))
    calls = tuple((f"f{at}", one) for at, one in enumerate(inputs))
    ended = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length"}[reason]
    return Said("".join(thoughts), "".join(texts), calls, ended), b"".join(events)


@patient
@given(chat_streams(), st.data(), st.booleans())
def test_any_split_and_interleaving_of_chat(
    stream: tuple[Said, bytes], data: st.DataObject, usage_wanted: bool
):
    """Each dialect's final message is what the engine said."""
    said, whole = stream
    for dialect in THREE:
        reads = data.draw(cut(whole))
        assert told(dialect, tier(), reads, usage_wanted=usage_wanted) == said


@patient
@given(messages_streams(), st.data(), st.booleans())
def test_any_split_of_messages(stream: tuple[Said, bytes], data: st.DataObject, usage_wanted: bool):
    """The same for engines that speak Messages."""
    said, whole = stream
    for dialect in THREE:
        reads = data.draw(cut(whole))
        assert told(dialect, engine_tier(), reads, usage_wanted=usage_wanted) == said


@patient
@given(chat_streams(), st.data())
def test_a_stream_that_breaks_says_the_same_to_all(stream: tuple[Said, bytes], data: st.DataObject):
    """Cut off anywhere it has failed for all of them, or for none."""
    _, whole = stream
    end = data.draw(st.integers(0, len(whole)))
    ends = [told(dialect, tier(), [whole[:end]]) for dialect in THREE]
    assert len({one == "failed" for one in ends}) == 1
    if "failed" not in ends:
        assert ends[0] == ends[1] == ends[2]


@patient
@given(messages_streams(), st.data())
def test_a_broken_messages_stream_says_the_same_to_all(
    stream: tuple[Said, bytes], data: st.DataObject
):
    """The same for engines that speak Messages."""
    _, whole = stream
    end = data.draw(st.integers(0, len(whole)))
    ends = [told(dialect, engine_tier(), [whole[:end]]) for dialect in THREE]
    assert len({one == "failed" for one in ends}) == 1
    if "failed" not in ends:
        assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize(
    "name",
    [
        "llamacpp-text",
        "llamacpp-think",
        "llamacpp-tools",
        "sglang-tools",
        "vllm-think",
        "vllm-tools",
    ],
)
def test_captured_streams_say_the_same_to_all(name: str):
    """What real engines sent, in one read and byte by byte."""
    whole = captured(f"{name}.sse")
    single = [bytes([one]) for one in whole]
    said = [told(dialect, tier(), reads) for dialect in THREE for reads in ([whole], single)]
    assert all(one == said[0] != "failed" for one in said)
