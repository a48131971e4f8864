"""How a stream ends, and how it breaks."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.ir import FinishReason
from anvil_trio.errors import Code, problem
from tests.unit.dialects.chats import (
    DONE,
    captured,
    choice,
    contents,
    datas,
    delta,
    event,
    new_stream,
    served,
)

END = b"data: [DONE]\n\n"
BROKEN = problem(Code.UPSTREAM_ERROR)


def test_an_end_before_a_finish_reason_is_a_failure():
    """What came before is handed on, and no success marker follows."""
    stream = new_stream()
    assert contents(served(stream, delta({"content": "a"}))) == "a"
    assert stream.close() == b""
    assert stream.failure == BROKEN
    assert not stream.is_finished


def test_an_end_before_anything_is_a_failure():
    """A 200 with an empty body is no answer."""
    stream = new_stream()
    assert stream.close() == b""
    assert stream.failure == BROKEN


def test_a_cut_argument_never_ends_as_tool_use():
    """Half an argument and then the end is a failure."""
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"a'}}
    stream = new_stream()
    served(stream, delta({"tool_calls": [call]}))
    assert stream.close() == b""
    assert (stream.failure, stream.finish_reason) == (BROKEN, None)


def test_nothing_after_done_is_read():
    """In the same read, in later ones and at the end."""
    stream = new_stream()
    out = stream.feed(delta(finish="stop") + END + b"data: {broken\n\n")
    assert datas(out)[-1] == DONE
    assert (stream.feed(delta({"content": "x"})), stream.close(), stream.finish_now()) == (b"",) * 3
    assert stream.failure is None


def test_the_grace_after_a_finish_reason_ends_in_success():
    """`finish_now` gives the closing bytes, once."""
    stream = new_stream()
    stream.feed(delta(finish="stop"))
    assert stream.is_finished
    assert not stream.is_done
    assert (stream.finish_now(), stream.finish_now(), stream.close()) == (END, b"", b"")


def test_done_alone_is_an_empty_answer():
    """By the engine's word that is all: one chunk with a finish reason and no identity."""
    stream = new_stream()
    out = served(stream, END)
    assert out == [
        {
            "object": "chat.completion.chunk",
            "model": "llm.primary",
            "choices": [choice({"role": "assistant"}, finish="stop")],
        },
        DONE,
    ]
    assert stream.is_finish_reason_missing
    assert stream.is_finished
    assert not stream.has_content


def test_done_gives_every_open_choice_its_finish_reason():
    """Those that have one keep it."""
    stream = new_stream(choices=3)
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    served(stream, delta({"content": "a"}), delta({"content": "b"}, index=1, finish="length"))
    served(stream, delta({"tool_calls": [call]}, index=2))
    out = served(stream, END)
    assert [one["choices"] for one in out[:-1]] == [
        [choice(finish="stop")],
        [choice(index=2, finish="tool_calls")],
    ]
    assert stream.finish_reason is FinishReason.TOOL_CALLS


def test_a_stream_is_finished_when_all_choices_are():
    """One that ends early does not end the others."""
    stream = new_stream(choices=2)
    served(stream, delta({"content": "a"}, finish="stop"))
    assert not stream.is_finished
    served(stream, delta({"content": "b"}, index=1))
    assert stream.close() == b""
    assert stream.failure == BROKEN


def test_a_choice_that_nobody_asked_for_must_end_too():
    """A stream that seemed finished is not, once another answer begins."""
    stream = new_stream()
    served(stream, delta(finish="stop"), delta({"content": "b"}, index=1))
    assert not stream.is_finished
    served(stream, delta(index=1, finish="stop"))
    assert stream.is_finished


def test_fewer_choices_than_asked_for_are_a_whole_answer():
    """An engine that knows no `n` gives one, and its clean end is a success."""
    stream = new_stream(choices=4)
    served(stream, delta({"content": "a"}, finish="stop"))
    assert not stream.is_finished
    assert stream.close() == END


def test_a_finish_reason_sent_twice_counts_once():
    """The choice has ended, whatever follows."""
    stream = new_stream(choices=2)
    served(stream, delta(finish="stop"), delta(finish="stop"))
    assert not stream.is_finished


@pytest.mark.parametrize("last", [b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE]\r\n"])
def test_a_last_done_may_lack_its_blank_line(last: bytes):
    """The end of the stream stands for it."""
    stream = new_stream()
    assert contents(served(stream, delta({"content": "a"}))) == "a"
    assert stream.feed(last) == b""
    assert datas(stream.close())[-1] == DONE
    assert stream.is_done
    assert stream.failure is None


def test_a_last_finish_reason_may_lack_its_blank_line():
    """It is read at the end, and `[DONE]` added."""
    stream = new_stream()
    assert stream.feed(delta({"content": "a"}, finish="stop")[:-1]) == b""
    out = datas(stream.close())
    assert contents(out[:-1]) == "a"
    assert out[-1] == DONE
    assert stream.failure is None


def test_a_cut_event_after_the_finish_reason_is_let_go():
    """Half a usage event breaks nothing."""
    stream = new_stream()
    stream.feed(delta(finish="stop") + b'data: {"choices":[],"usa')
    assert stream.close() == END
    assert stream.failure is None


def test_a_cut_event_before_the_finish_reason_is_a_failure():
    """It is malformed."""
    stream = new_stream()
    stream.feed(delta({"content": "a"}) + b'data: {"choices":[{"finish_reason":"st')
    assert stream.close() == b""
    assert stream.failure == BROKEN


@pytest.mark.parametrize(
    "bad",
    [
        b"{broken",
        b"[]",
        b"7",
        b"null",
        b'"text"',
        b"{} {}",
        b'{"choices":"x"}',
        b'{"choices":[7]}',
        b'{"choices":[{"delta":"x"}]}',
        b'{"choices":[{"finish_reason":7}]}',
        b'{"x":NaN}',
        b'{"x":"\xff"}',
        b'{"x":' + b"[" * 20_000,
    ],
)
def test_an_event_that_is_no_chunk_is_a_failure(bad: bytes):
    """Malformed JSON, anything but an object, a wrong shape, bytes that are no text."""
    stream = new_stream()
    out = stream.feed(delta({"content": "a"}) + event(bad) + delta({"content": "b"}))
    assert contents(datas(out)) == "a"
    assert stream.failure == BROKEN
    assert stream.events == 2
    assert (stream.feed(delta({})), stream.close()) == (b"", b"")


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "secret", "code": 400}},
        {"object": "error", "message": "secret", "code": 400},
        {"object": "chat.completion.chunk", "choices": [], "error": {"code": 400}},
    ],
)
def test_an_error_object_is_a_failure_with_its_own_code(error: dict[str, Any]):
    """In any of the engines' shapes; what came before it is handed on."""
    stream = new_stream()
    out = stream.feed(delta({"content": "a"}) + event(error) + END)
    assert contents(datas(out)) == "a"
    assert stream.failure == problem(Code.UPSTREAM_REFUSED, status=400)


def test_an_event_named_error_is_a_failure():
    """Whatever object it holds; without a code it is a 502."""
    stream = new_stream()
    assert stream.feed(b'event: error\ndata: {"detail":"secret"}\n\n') == b""
    assert stream.failure == BROKEN


def test_the_error_that_an_engine_really_sent_is_a_failure():
    """SGLang wraps one shape in the other."""
    stream = new_stream()
    assert stream.feed(captured("sglang-error.sse")) == b""
    assert stream.failure == problem(Code.UPSTREAM_REFUSED, status=400)


def test_a_null_error_is_none():
    """Some engines name it in every event."""
    assert contents(served(new_stream(), delta({"content": "a"}, error=None))) == "a"


def test_a_failure_after_the_finish_reason_leaves_the_closing_to_the_exchange():
    """The failure is reported; `finish_now` still closes what was whole."""
    stream = new_stream()
    stream.feed(delta(finish="stop") + event(b"{broken"))
    assert stream.failure == BROKEN
    assert stream.close() == b""
    assert stream.finish_now() == END


def test_an_event_over_the_cap_is_a_failure():
    """What came before it is handed on."""
    stream = new_stream(max_event_bytes=400)
    out = stream.feed(delta({"content": "a"}) + delta({"content": "x" * 400}))
    assert contents(datas(out)) == "a"
    assert stream.failure == BROKEN
    stream = new_stream(max_event_bytes=400)
    assert stream.feed(event(b"{broken") + b"x" * 500) == b""
    assert stream.failure == BROKEN


def test_an_endless_number_of_choices_or_calls_is_a_failure():
    """What is remembered of a stream stays small, whatever an engine sends."""
    choices = [delta({"content": "a"}, index=at) for at in range(129)]
    calls = [delta({"tool_calls": [{"id": f"{at}"}]}) for at in range(513)]
    for events in (choices, calls):
        stream = new_stream()
        assert len(served(stream, *events)) == len(events) - 1
        assert stream.failure == BROKEN
    many = new_stream(choices=200)
    many.feed(b"".join(delta({"content": "a"}, index=at, finish="stop") for at in range(200)))
    assert many.is_finished


@pytest.mark.parametrize("identity", [{"id": "x" * 2000}, {"id": 7}, {}])
def test_an_odd_identity_is_not_repeated(identity: dict[str, Any]):
    """A chunk of our own names the engine's id only if it is of the usual kind."""
    stream = new_stream()
    out = served(stream, event({**identity, "model": "m", "choices": [choice({})]}), END)
    assert "id" not in out[1]


def test_a_whole_reply_that_is_none_is_a_failure():
    """Nothing of it is handed on."""
    stream = new_stream()
    assert stream.feed_whole(b"<html>") == b""
    assert stream.failure == BROKEN
    stream = new_stream()
    assert stream.feed_whole(b'{"error":{"code":429}}') == b""
    assert stream.failure == problem(Code.UPSTREAM_RATE_LIMITED)


def test_a_whole_reply_as_a_stream_keeps_its_calls_and_reason():
    """Calls are numbered in their order, and line ends of the body break no event."""
    stream = new_stream()
    pretty = captured("llamacpp-tools.json").replace(b",", b",\r\n").replace(b"[", b"[\r")
    out = datas(stream.feed_whole(pretty))
    (call,) = out[0]["choices"][0]["delta"]["tool_calls"]
    assert (call["index"], call["function"]["arguments"]) == (0, '{"city": "Paris"}')
    assert out[1]["choices"][0]["finish_reason"] == "tool_calls"
    assert out[2] == DONE
    assert stream.is_done
    assert stream.finish_reason is FinishReason.TOOL_CALLS
    assert stream.usage.prompt_tokens == 287


def test_a_whole_reply_without_a_reason_is_given_one():
    """As for a stream that ends by `[DONE]` alone."""
    stream = new_stream(choices=2)
    calls = [{"id": "", "function": {"name": "f"}}, {"function": {"name": "g", "arguments": "{}"}}]
    choices = [
        {"message": {"role": "assistant", "content": "a"}, "logprobs": None},
        {"message": {"role": "assistant", "tool_calls": calls}},
    ]
    out = datas(stream.feed_whole(json.dumps({"model": "m", "choices": choices}).encode()))
    assert contents(out[:-1]) == "a"
    assert stream.is_finish_reason_missing
    said = [one["choices"][0] for one in out[:-1]]
    numbers = [one["index"] for s in said for one in s["delta"].get("tool_calls", ())]
    assert numbers == [0, 1, 0]
    assert [s["finish_reason"] for s in said if s["finish_reason"]] == ["stop", "tool_calls"]
