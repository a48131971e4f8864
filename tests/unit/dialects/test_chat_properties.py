"""Facts that hold for every stream."""

import json
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.chat_reply import render_reply
from anvil_trio.errors import UpstreamFailed
from tests.unit.dialects.chats import (
    DONE,
    captured,
    choice,
    datas,
    delta,
    event,
    new_stream,
    patient,
)

CAPTURES = ["sglang-error", "sglang-tools", "vllm-think", "vllm-tools"]


def outcome(reads: list[bytes], **options) -> tuple[Any, ...]:
    """Everything that can be seen of a translator after these reads and the end."""
    stream = new_stream(**options)
    out = b"".join([*map(stream.feed, reads), stream.close()])
    facts = (stream.events, stream.has_content, stream.is_finished, stream.is_done)
    return out, facts, stream.finish_reason, stream.usage, stream.failure


@pytest.mark.parametrize("name", CAPTURES)
def test_all_ways_to_cut_a_real_stream_in_two_give_the_same_bytes(name: str):
    """Every two-way split of every captured stream."""
    whole = captured(f"{name}.sse")
    expected = outcome([whole])
    for cut in range(len(whole) + 1):
        assert outcome([whole[:cut], whole[cut:]]) == expected, cut


CALLS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "index": st.none() | st.integers(0, 2),
        "id": st.none() | st.sampled_from(["", "a", "b"]),
        "function": st.none() | st.fixed_dictionaries({}, optional={
            "name": st.none() | st.text(max_size=3),
            "arguments": st.sampled_from(["", None, "{}", {}, [], 1, {"a": "é"}]),
        }),
    },
)  # fmt: skip
TEXTS = st.none() | st.text(max_size=4) | st.sampled_from(['"model":"served-model"', '"delta":{'])
SAID = st.fixed_dictionaries(
    {},
    optional={
        "content": TEXTS,
        "reasoning": TEXTS,
        "reasoning_content": TEXTS,
        "tool_calls": st.none() | st.lists(CALLS, max_size=3),
    },
)
CHOICES = st.builds(
    lambda said, index, finish: choice(said, index=index, finish=finish),
    SAID,
    st.integers(0, 1),
    st.sampled_from([None, None, "stop", "tool_calls", "length", ""]),
)
CHUNKS = st.fixed_dictionaries(
    {"model": st.sampled_from(["served-model", "other"])},
    optional={
        "id": st.sampled_from(["c1", None]),
        "choices": st.none() | st.lists(CHOICES, max_size=2),
        "usage": st.none() | st.fixed_dictionaries({"prompt_tokens": st.integers(0, 9)}),
        "error": st.none() | st.just({"code": 400}),
    },
)
EVENTS = st.builds(
    lambda chunk, blanks: event(json.dumps(chunk, separators=blanks).encode()),
    CHUNKS,
    st.sampled_from([(",", ":"), (", ", ": ")]),
) | st.sampled_from([b"data: [DONE]\n\n", b": c\n\n", b"data: {broken\n\n"])


@patient
@given(st.lists(EVENTS, max_size=6), st.lists(st.integers(0, 900), max_size=5), st.booleans())
def test_any_cuts_of_any_stream_give_the_same_bytes(
    events: list[bytes],
    cuts: list[int],
    usage_wanted: bool,
):
    """Random chunks and cuts; what comes out is whole events of JSON with the caller's model."""
    whole = b"".join(events)
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    reads = [whole[a:b] for a, b in pairwise(edges)]
    expected = outcome([whole], usage_wanted=usage_wanted)
    assert outcome(reads, usage_wanted=usage_wanted) == expected
    assert {one["model"] for one in datas(expected[0]) if one != DONE} <= {"llm.primary"}


@patient
@given(st.lists(EVENTS, max_size=6), st.integers(1, 3))
def test_success_and_failure_exclude_each_other(events: list[bytes], choices: int):
    """`[DONE]` is the last word of every stream that did not fail, and of no other."""
    out, facts, finish_reason, _, failure = outcome(events, choices=choices)
    assert (failure is None) == out.endswith(b"data: [DONE]\n\n")
    assert out.count(b"[DONE]") <= 1
    if failure is None:
        assert finish_reason is not None
    assert facts[0] <= len(events)


@patient
@given(st.lists(EVENTS, max_size=6))
def test_calls_of_each_choice_are_numbered_without_gaps(events: list[bytes]):
    """Arguments are strings or nothing, and indexes count up from 0."""
    out, *_ = outcome(events)
    begun = {0: 0, 1: 0}
    for chunk in datas(out):
        for one in () if chunk == DONE else chunk.get("choices") or ():
            for call in one["delta"].get("tool_calls") or ():
                assert 0 <= call["index"] <= begun[one["index"]]
                begun[one["index"]] = max(begun[one["index"]], call["index"] + 1)
                arguments = (call.get("function") or {}).get("arguments")
                assert arguments is None or isinstance(arguments, str)


@patient
@given(st.lists(st.binary(max_size=40), max_size=6))
def test_no_bytes_break_a_translator(reads: list[bytes]):
    """Whatever an engine sends, the stream fails or goes on."""
    out, *_ = outcome(reads)
    datas(out)


def test_an_event_nested_to_the_edge_of_the_stack_breaks_nothing():
    """What could be read may be too deep to be written anew: then the stream fails."""
    seen: set[object] = set()
    for depth in range(sys.getrecursionlimit() - 150, sys.getrecursionlimit()):
        nested = b"[" * depth + b"]" * depth
        said = b'{"reasoning":"a","content":"b","reasoning_content":null,"x":%b}' % nested
        stream = new_stream(max_event_bytes=10_000)
        stream.feed(event(b'{"choices":[{"delta":%b}]}' % said))
        seen.add(stream.failure is None)
        try:
            render_reply(b'{"choices":[{"message":%b}]}' % said, "a")
        except UpstreamFailed:
            seen.add("failed")
    assert seen == {True, False, "failed"}


def test_a_long_stream_is_translated_alike_at_its_start_and_at_its_end():
    """What is remembered of the events before changes nothing."""
    stream = new_stream()
    one = delta({"content": "a"})
    assert stream.feed(delta({"role": "assistant"}))
    first = stream.feed(one)
    for _ in range(2000):
        assert stream.feed(one) == first
