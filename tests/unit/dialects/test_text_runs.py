"""Events that are nothing but text are read many at a time; what they say is the same."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.events import ReasoningDelta, StreamEvent, TextDelta
from anvil_trio.dialects.openai_events import OpenAiEvents
from anvil_trio.dialects.text_runs import TextRuns
from anvil_trio.errors import Code, problem
from tests.unit.dialects.chats import choice, delta, event, new_stream, patient

BROKEN = problem(Code.UPSTREAM_ERROR)
ROLE = delta({"role": "assistant", "content": ""})
FIRST = delta({"content": "first"})
DONE = b"data: [DONE]\n\n"


def compact(**members: object) -> bytes:
    """An event without blanks between its tokens, as most engines write it."""
    return b"data: %b\n\n" % json.dumps(members, separators=(",", ":")).encode()


def text(said: str, **others: object) -> bytes:
    """A piece of text with the members that every engine gives, and `others`."""
    return compact(
        id="x",
        object="chat.completion.chunk",
        model="served-model",
        choices=[{"index": 0, "delta": {"content": said}, "finish_reason": None}],
        **others,
    )


def found(whole: bytes, at: int = 0, max_event_bytes: int = 65_536) -> tuple[int, list[object]]:
    """How many bytes the run at that place has, and what its events say."""
    run = TextRuns(max_event_bytes).find(whole, at)
    if run is None:
        return 0, []
    data, chunks = run
    return len(data), [chunk.said.content for chunk in chunks]


@pytest.mark.parametrize("blank", [b"", b" "])
def test_a_run_goes_up_to_the_event_that_ends_the_answer(blank: bytes):
    """However that is spelled; where little was read its events are left to be read alone."""
    end = compact(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    end = end.replace(b'":"stop', b'":' + blank + b'"stop')
    long = text("long" * 1000) + text("b")
    assert found(long) == (len(long), ["long" * 1000, "b"])
    assert found(long + end + DONE) == found(long)
    assert found(ROLE + long + end + DONE, len(ROLE)) == found(long)
    assert found(text("b") + end) == found(end) == found(end + long) == (0, [])


@pytest.mark.parametrize(
    "odd",
    [
        text("a").replace(b"data: {", b"data:{"),
        text("a").replace(b"data: {", b"event: x\ndata: {"),
        text("a").replace(b"}\n\n", b"}\nid: 1\n\n"),
        text("a").replace(b',"model"', b',\n"model"'),
        text("a").replace(b"}\n\n", b"}{}\n\n"),
        text("a").replace(b"}\n\n", b"\n\n"),
        text("a") + b"\n",
        text("a").replace(b'"a"', b'"\xff"'),
        text("a").replace(b'"x"', b'"\xff"'),
        text("a", usage={"prompt_tokens": 1}),
        text("a", error={"message": "x"}),
        text("a").replace(b'"index":0', b'"index":1'),
        text("a").replace(b'"index":0,', b""),
        text("a").replace(b'"object":"chat.completion.chunk",', b""),
        text("a").replace(b'"model":"served-model",', b""),
        text("a").replace(b'"content"', b'"role":"assistant","content"'),
        text("a").replace(b'"content":"a"', b'"tool_calls":[{"index":0}]'),
        text("a").replace(b'"content":"a"', b'"reasoning":"a"'),
        text("a").replace(b'"content":"a"', b'"content":["a"]'),
        text("a").replace(b"null", b'"stop"'),
        compact(object="chat.completion.chunk", model="m", choices=[]),
        b"data: [" + b"[" * 5000 + b"\n\n",
        b"data: {" + b'"a":{' * 5000 + b"}\n\n",
        DONE,
        b": comment\n\n",
    ],
)
def test_anything_else_is_no_run(odd: bytes):
    """What must be remembered, changed or refused, and what is spelled in another way."""
    assert found(odd) == (0, [])
    assert found(text("b") + odd) == (0, [])


def test_what_says_nothing_may_be_there():
    """Members that are null, calls that are none, and members that nobody knows."""
    said: dict[str, object] = {
        "content": "a",
        "role": None,
        "tool_calls": [],
        "refusal": None,
        "reasoning": None,
    }
    whole = text("a", usage=None, error=None, timings={"ms": 1}) + compact(
        object="chat.completion.chunk",
        model="m",
        choices=[{"index": 0, "delta": said, "logprobs": None}],
    )
    assert found(whole) == (len(whole), ["a", "a"])


def test_a_run_is_no_longer_than_an_event_may_be():
    """So no event in it can be too long."""
    whole = text("a") * 3
    assert found(whole, max_event_bytes=len(whole))[0] == len(whole)
    assert found(whole, max_event_bytes=len(whole) - 1)[0] == 0


def test_a_stream_of_other_events_is_tried_three_times():
    """After three tries that found none in a row; ends of answers are no such try."""
    runs, other, end = TextRuns(65_536), delta({"role": "assistant"}), delta(finish="stop")
    for _ in range(9):
        assert runs.find(end, 0) is None
    for _ in range(2):
        assert runs.find(other, 0) is None
    assert runs.find(text("a"), 0) is not None
    for _ in range(3):
        assert runs.find(other, 0) is None
    assert runs.find(text("a"), 0) is None


def test_a_run_keeps_its_bytes_but_for_the_model():
    """All at once, with the caller's own spelling of the model; every event is counted."""
    stream = new_stream()
    stream.feed(ROLE + text("first"))
    run = b"".join(text(f"{number} é", odd=[1.0, {}]) for number in range(50))
    assert stream.feed(run) == run.replace(b"served-model", b"llm.primary")
    assert stream.events == 52


def test_a_model_that_is_spelled_in_another_way_is_still_renamed():
    """A blank before it; another name; twice in one event; in a member of a member."""
    stream = new_stream()
    stream.feed(ROLE + text("first"))
    for odd in (
        text("a").replace(b'"model":', b'"model": '),
        text("a").replace(b'"model":', b'"model" :'),
        text("a").replace(b"served-model", b"another"),
        text("a").replace(b'"id":"x"', b'"model":"served-model"'),
        text("a", extra={"model": "served-model"}),
    ):
        for reads in ([odd], [text("b") + odd + text("b")], [odd, odd]):
            out = b"".join(map(stream.feed, reads))
            models = [json.loads(line[6:])["model"] for line in out.split(b"\n\n") if line]
            assert set(models) == {"llm.primary"}
            assert stream.failure is None


def test_a_line_feed_more_says_nothing():
    """Behind a blank line, whatever was read with it."""
    stream = new_stream()
    for read in (ROLE + text("a") + b"\n", text("b") * 2 + b"\n", b"\n", text("c")):
        stream.feed(read)
    assert stream.events == 5
    assert stream.failure is None


def test_what_is_no_text_ends_the_stream_where_it_stands():
    """What came before a fault in the same read is handed on, nothing behind it."""
    good = text("a") * 2
    for bad in (text("b").replace(b'"b"', b'"\xff"'), b"data: {\n\n", text("b", error={"m": 1})):
        stream = new_stream()
        stream.feed(ROLE + text("first"))
        assert stream.feed(good + bad + good) == good.replace(b"served-model", b"llm.primary")
        assert stream.failure == BROKEN
        assert stream.events == 5


EVENTS = st.lists(
    st.one_of(
        st.sampled_from(["", "a", "é", '"model":"served-model"', "\n\ndata: {"]).map(text),
        st.sampled_from([
            ROLE,
            FIRST,
            text("a").replace(b'"content"', b'"reasoning_content":"b","content"'),
            text("a").replace(b'"index":0', b'"index":1'),
            text("a").replace(b'"model":', b'"model": '),
            text("a", usage={"prompt_tokens": 1}),
            delta({"tool_calls": [{"index": 0, "id": "i", "function": {"name": "f"}}]}),
            delta({"reasoning": "r"}),
            event({"choices": [choice({"content": "a"}), choice({"content": "b"}, index=1)]}),
            delta(finish="stop"),
            text("a").replace(b"}\n\n", b"}}\n\n"),
            b": comment\n\n",
            DONE,
        ]),
    ),
    max_size=12,
)  # fmt: skip


def outcome(reads: list[bytes]) -> tuple[Any, ...]:
    """All that is seen of a Chat stream and of its events after these reads."""
    stream, decoder = new_stream(choices=2), OpenAiEvents(65_536, lambda: "id")
    out = b"".join(map(stream.feed, reads))
    events: list[StreamEvent] = [one for read in reads for one in decoder.feed(read)]
    ends = [
        (of.events, of.is_done, of.is_finished, of.failure, of.usage, of.finish_reason)
        for of in (stream, decoder)
    ]
    return out, events, ends, stream.has_content


@patient
@given(EVENTS, st.integers(1, 700))
def test_a_stream_says_the_same_however_it_is_read(events: list[bytes], size: int):
    """At once, one event at a time, in pieces of any size; and what it says with no run at all."""
    whole = b"".join(events)
    with patch.object(TextRuns, "find", return_value=None):
        plainly = outcome([whole])
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert plainly == outcome([whole]) == outcome(events) == outcome(pieces)


def test_thoughts_come_before_text():
    """Within one event, also where many are read at once."""
    both = text("a").replace(b'"content"', b'"reasoning_content":"b","content"')
    decoder = OpenAiEvents(65_536)
    decoder.feed(FIRST)
    assert decoder.feed(both + text("c") + text("")) == [
        ReasoningDelta("b"),
        TextDelta("a"),
        TextDelta("c"),
    ]
    assert decoder.events == 4
