"""Facts that hold for every Responses stream."""

import json
from itertools import pairwise
from time import perf_counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.grammars import GrammarError, check_responses
from tests.unit.dialects.chats import captured, delta, event, patient, tier
from tests.unit.dialects.responses import checked, messages, new_stream, replied, streamed

CAPTURES = ["sglang-error", "sglang-tools", "vllm-think", "vllm-tools", "llamacpp-think"]
DONE = b"data: [DONE]\n\n"


def outcome(reads: list[bytes]) -> tuple[Any, ...]:
    """Everything that can be seen of a translator after these reads and the end."""
    stream = new_stream()
    out = b"".join([*map(stream.feed, reads), stream.close()])
    facts = (stream.events, stream.has_content, stream.is_finished, stream.is_done)
    return out, facts, stream.finish_reason, stream.usage, stream.failure


@pytest.mark.parametrize("name", CAPTURES)
def test_all_ways_to_cut_a_real_stream_in_two_give_the_same_bytes(name: str):
    """Every two-way split of every captured stream."""
    whole = captured(f"{name}.sse").replace(b'"id":null', b'"id":"c"')  # no id that we must make
    expected = outcome([whole])
    for cut in range(len(whole) + 1):
        assert outcome([whole[:cut], whole[cut:]]) == expected, cut


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
OBJECTS = st.dictionaries(TEXTS, st.none() | st.integers() | TEXTS | st.lists(TEXTS), max_size=3)
CALLS = st.lists(st.builds(json.dumps, OBJECTS), min_size=1, max_size=4)
SAID = st.lists(st.tuples(st.sampled_from(["content", "reasoning"]), TEXTS), max_size=6)


@st.composite
def cut_in_pieces(draw: st.DrawFn, text: str) -> list[str]:
    """A text in non-empty pieces."""
    inner = range(1, len(text))
    marks = draw(st.sets(st.sampled_from(inner), max_size=4)) if inner else set()
    return [text[a:b] for a, b in pairwise([0, *sorted(marks), len(text)])]


@st.composite
def interleavings(draw: st.DrawFn) -> tuple[list[str], list[bytes]]:
    """Calls, and their pieces by turns: each call's own in order, the calls in order of begin."""
    calls = draw(CALLS)
    pieces = [draw(cut_in_pieces(arguments)) for arguments in calls]
    out: list[bytes] = []
    begun, left = 0, [list(one) for one in pieces]
    while begun < len(calls) or any(left[:begun]):
        going = [at for at in range(begun) if left[at]]
        at = draw(st.sampled_from([*going, *([begun] if begun < len(calls) else [])]))
        if at == begun:
            begun += 1
            head = {"index": at, "id": f"c{at}", "function": {"name": f"f{at}", "arguments": ""}}
            out.append(delta({"tool_calls": [head]}))
        else:
            piece = {"index": at, "function": {"arguments": left[at].pop(0)}}
            out.append(delta({"tool_calls": [piece]}))
    return calls, out


@patient
@given(interleavings())
def test_any_interleaving_of_tool_pieces_gives_the_same_response(
    drawn: tuple[list[str], list[bytes]],
):
    """The response of a stream in which the calls come one after another, in one piece each."""
    calls, events = drawn
    heads = [
        {"index": at, "id": f"c{at}", "function": {"name": f"f{at}", "arguments": arguments}}
        for at, arguments in enumerate(calls)
    ]
    plain = [delta({"tool_calls": [head]}) for head in heads]
    ending = delta(finish="tool_calls") + DONE
    assert streamed(*events, ending).response == streamed(*plain, ending).response
    assert [item["arguments"] for item in streamed(*events, ending).output] == calls


ANSWERS = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.just("") | TEXTS},
    optional={"reasoning_content": TEXTS, "tool_calls": CALLS},
)


@patient
@given(ANSWERS, st.sampled_from(["auto", None]))
def test_an_answer_sent_back_is_the_same_message(answer: dict[str, Any], summary: str | None):
    """All that Chat can say in one message survives being items, whole or as a summary."""
    if "tool_calls" in answer:
        answer["tool_calls"] = [
            {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": arguments}}
            for at, arguments in enumerate(answer["tool_calls"])
        ]
    assume(len(answer) > 2 or answer["content"])
    choice = {"index": 0, "message": answer, "finish_reason": "stop"}
    _, response = replied(
        json.dumps({"choices": [choice]}).encode(), reasoning={"summary": summary}
    )
    hello = {"role": "user", "content": "hi"}
    keep = tier({"reasoning_history": "reasoning_content"})
    assert messages(hello, *response["output"], hello, to=keep)[1:-1] == [answer]


@st.composite
def replies(draw: st.DrawFn) -> bytes:
    """Streams of every kind of content in any order, ended in any way."""
    _, calls = draw(interleavings())
    events = [delta({kind: text}) for kind, text in draw(SAID)]
    at = 0
    for call in calls:
        at = draw(st.integers(at, len(events)))
        events.insert(at, call)
        at += 1
    reason = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter", "odd"]))
    usage = event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}})
    ending = draw(st.sampled_from([b"", DONE, usage + DONE]))
    return b"".join(events) + delta(finish=reason) + ending


@patient
@given(replies(), st.data())
def test_any_split_gives_the_same_bytes_and_keeps_the_grammar(whole: bytes, data: st.DataObject):
    """However the engine's bytes arrive."""
    marks = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=8)))
    reads = [whole[a:b] for a, b in pairwise([0, *marks, len(whole)])]
    out = outcome(reads)
    assert out == outcome([whole])
    assert checked(out[0]).response["status"] in {"completed", "incomplete"}


@patient
@given(replies(), st.data())
def test_a_stream_that_breaks_anywhere_keeps_the_grammar(whole: bytes, data: st.DataObject):
    """It ends in `response.failed`, or well if it had its finish reason."""
    stream = new_stream()
    out = stream.feed(whole[: data.draw(st.integers(0, len(whole)))])
    out += stream.close()
    if stream.failure is not None:
        out += stream.terminal_error(stream.failure)
    ended = checked(out).response["status"]
    assert (ended == "failed") == (stream.failure is not None)


@patient
@given(replies())
def test_no_event_can_be_left_out_doubled_or_moved(whole: bytes):
    """The checker itself: every stream that is broken in one place is rejected."""
    stream = new_stream()
    events = [one + b"\n\n" for one in (stream.feed(whole) + stream.close()).split(b"\n\n")[:-1]]
    for at in range(len(events)):
        broken = [events[:at] + events[at + 1 :], [*events[: at + 1], *events[at:]]]
        if at + 1 < len(events):
            broken.append([*events[:at], events[at + 1], events[at], *events[at + 2 :]])
        for one in broken:
            with pytest.raises(GrammarError):
                check_responses(b"".join(one))


SAMPLE = [
    delta({"reasoning": "hm"}),
    delta({"content": "Hello"}),
    delta({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}),
    delta(finish="stop"),
    DONE,
]
_WHOLE = new_stream().feed(b"".join(SAMPLE))


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (b'"delta":"Hello"', b'"delta":"Hallo"'),
        (b'"delta":"Hello"', b'"delta":""'),
        (b'"delta":"hm"', b'"delta":"h"'),
        (b'"text":"Hello"', b'"text":"Hallo"'),
        (b'"arguments":"{}"', b'"arguments":"[]"'),
        (b'"output_index":1,"item"', b'"output_index":2,"item"'),
        (b'"output_index":2,"delta"', b'"output_index":1,"delta"'),
        (b'"content_index":0', b'"content_index":1'),
        (b'"item_id":"msg_', b'"item_id":"rs_'),
        (b'"status":"completed","call_id"', b'"status":"incomplete","call_id"'),
        (b'"status":"completed","completed_at"', b'"status":"incomplete","completed_at"'),
        (b'"total_tokens":', b'"total_tokens":1'),
        (b'"call_id":"c"', b'"call_id":""'),
        (b"event: response.completed", b"event: response.done"),
        (b'"object":"response",', b""),
        (b'"type":"reasoning_text"', b'"type":"output_text"'),
        (b"\n\n", b"\n"),
    ],
)
def test_a_wrong_member_is_rejected(now: bytes, then: bytes):
    """Each rule of the checker is one that a broken stream breaks."""
    check_responses(_WHOLE)
    assert now in _WHOLE
    with pytest.raises(GrammarError):
        check_responses(_WHOLE.replace(now, then, 1))


def test_an_event_costs_the_same_at_the_end_of_a_long_stream():
    """50,000 events: the second half takes no more than twice the time of the first."""
    stream = new_stream(max_event_bytes=10_000_000)
    events = [delta({"content": f" word{number}"}) for number in range(25_000)]
    took = [0.0, 0.0]
    for half in range(2):
        started = perf_counter()
        for one in events:
            stream.feed(one)
        took[half] = perf_counter() - started
    assert took[1] < 2 * took[0] + 0.05
