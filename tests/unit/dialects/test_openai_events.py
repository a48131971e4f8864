"""What the replies of Chat engines say, as events that any encoder reads."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    UsageReported,
)
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.dialects.openai_answer import new_call_id
from anvil_trio.dialects.openai_events import OpenAiEvents, events_of_reply
from anvil_trio.errors import Code, UpstreamFailed, problem
from tests.unit.dialects.chats import choice, delta, event
from tests.unit.dialects.messages import call

DONE = b"data: [DONE]\n\n"
BROKEN = problem(Code.UPSTREAM_ERROR)


def numbered() -> Callable[[], str]:
    """Ids that can be told before they are made."""
    made = iter(f"made{number}" for number in range(99))
    return lambda: next(made)


def new_decoder(max_event_bytes: int = 65_536) -> OpenAiEvents:
    """A decoder whose own ids are made0, made1 and so on."""
    return OpenAiEvents(max_event_bytes, numbered())


def decoded(*events: bytes) -> list[StreamEvent]:
    """What a whole stream says, being closed at its end."""
    decoder = new_decoder()
    out = [*decoder.feed(b"".join(events)), *decoder.close()]
    assert decoder.failure is None, decoder.failure
    return out


def test_text_and_thoughts_keep_their_order():
    """Within one event thoughts come first; a refusal is text; what is empty or null is nothing."""
    out = decoded(
        delta({"role": "assistant", "content": "", "reasoning": None}),
        delta({"content": "b", "reasoning_text": "a"}),
        delta({"reasoning_content": "c", "reasoning": "not this"}),
        delta({"refusal": "no"}),
        delta({"content": ["d", {"type": "text", "text": "e"}, {"type": "image"}, 1]}),
        delta({"content": 7, "reasoning": {}, "refusal": [1]}),
        delta({"reasoning": {"odd": 1}}),
        delta(finish="stop"),
    )
    assert out == [
        ReasoningDelta("a"),
        TextDelta("b"),
        ReasoningDelta("c"),
        TextDelta("no"),
        TextDelta("de"),
        Finished(FinishReason.STOP),
    ]


def test_a_line_feed_more_than_a_blank_line_is_nothing():
    """Wherever it stands in a read, it neither ends an event nor is part of one."""
    decoder = new_decoder()
    out: list[StreamEvent] = []
    for read in (
        delta({"role": "assistant", "content": "a"}) + b"\n",
        b"\n" + delta({"content": "b"}),
        delta(finish="stop") + b"\n",
        DONE + b"\n",
    ):
        out += decoder.feed(read)
    assert decoder.close() == []
    assert decoder.failure is None
    assert out == [TextDelta("a"), TextDelta("b"), Finished(FinishReason.STOP)]


def test_calls_begin_with_their_name():
    """What comes before a name waits for it; a second name is not another call."""
    out = decoded(
        delta(call(0, "a", arguments='{"x"')),
        delta(call(0, arguments=":")),
        delta(call(0, name="f")),
        delta(call(0, "a", name="f", arguments="1}")),
        delta({"tool_calls": [{"index": 0, "id": "a"}]}),
        delta(finish="tool_calls"),
    )
    assert out == [
        CallBegan(0, "a", "f"),
        ArgumentsDelta(0, '{"x"'),
        ArgumentsDelta(0, ":"),
        ArgumentsDelta(0, "1}"),
        Finished(FinishReason.TOOL_CALLS),
    ]


def test_every_call_has_an_id_of_its_own():
    """One is made where none is given, where it is taken, and where it is out of all measure."""
    out = decoded(
        delta(call(0, name="f", arguments="{}")),
        delta(call(1, "a", name="f", arguments="{}")),
        delta(call(2, "a", name="f", arguments="{}")),
        delta(call(3, "x" * 2000, name="f", arguments="{}")),
        delta({"tool_calls": [{"index": 4, "id": 7, "function": {"name": "f"}}]}),
        delta(finish="length"),
    )
    ids = [one.call_id for one in out if isinstance(one, CallBegan)]
    assert ids == ["made0", "a", "made1", "made2", "7"]
    assert new_call_id() != new_call_id()
    assert new_call_id().startswith("call_")


def test_arguments_that_are_no_string_are_their_own_text():
    """An object comes as the text it was; null and "" are nothing yet."""
    given = {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": {"x": 1.0}}}]}
    none = {"tool_calls": [{"index": 0, "function": {"arguments": None}}]}
    out = decoded(event({"choices": [choice(given)]}), delta(none), delta(finish="stop"))
    assert out[1] == ArgumentsDelta(0, '{"x":1.0}')
    assert len(out) == 3


@pytest.mark.parametrize(
    ("finish", "filled"), [("stop", True), ("tool_calls", True), ("length", False)]
)
def test_calls_that_ended_without_arguments_get_theirs(finish: str, filled: bool):
    """`{}`, unless the answer was cut."""
    out = decoded(delta(call(0, "a", name="f", arguments="")), delta(finish=finish))
    assert (ArgumentsDelta(0, "{}") in out) is filled


def test_a_call_without_a_name_cannot_end():
    """Nobody could make it: the stream is broken before its end counts."""
    decoder = new_decoder()
    assert decoder.feed(delta(call(0, "a", arguments="{}")) + delta(finish="stop")) == []
    assert decoder.failure == BROKEN
    assert not decoder.is_finished
    assert decoded(delta(call(0, "a", arguments="{")), delta(finish="length")) == [
        Finished(FinishReason.LENGTH)
    ]


def test_calls_are_bounded():
    """What is kept of a stream stays small, whatever an engine sends."""
    decoder = new_decoder(1_000_000)
    pieces = [{"index": at, "id": f"i{at}", "function": {"name": "f"}} for at in range(513)]
    assert len(decoder.feed(delta({"tool_calls": pieces}))) == 512
    assert decoder.failure == BROKEN


def test_only_the_first_answer_is_read():
    """Others have no place in another dialect, whichever index the first has."""
    both = event({"choices": [choice({"content": "a"}, index=3), choice({"content": "b"})]})
    assert decoded(both, delta({"content": "c"}), delta(index=3, finish="stop")) == [
        TextDelta("a"),
        Finished(FinishReason.STOP),
    ]


def test_the_first_reason_counts():
    """A second one is as good as none; texts that stopped it are told, numbers are not."""
    end = {**choice(finish="stop"), "stop_reason": "END"}
    assert decoded(event({"choices": [end]}), delta(finish="length")) == [
        Finished(FinishReason.STOP, "END")
    ]
    end["stop_reason"] = 7
    del end["delta"]
    assert decoded(event({"choices": [end]})) == [Finished(FinishReason.STOP)]


def test_counts_are_merged():
    """A later report replaces an earlier one field by field."""
    first = {"prompt_tokens": 5, "completion_tokens": 1}
    last = {"completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    out = decoded(
        event({"choices": [], "usage": first}),
        event({"choices": [choice(finish="stop")], "usage": last}),
        event({"usage": None}),
    )
    assert out[0] == UsageReported(Usage(5, 1))
    assert out[-1] == UsageReported(Usage(5, 2, 4))


def test_done_ends_a_stream_without_a_reason():
    """As a stop, or as tool use if there were calls; the record is told."""
    for events, reason in [
        ([delta({"content": "x"})], FinishReason.STOP),
        ([delta(call(0, "a", name="f", arguments="{}"))], FinishReason.TOOL_CALLS),
        ([], FinishReason.STOP),
    ]:
        decoder = new_decoder()
        out = decoder.feed(b"".join([*events, DONE, delta({"content": "late"})]))
        assert out[-1] == Finished(reason)
        assert decoder.is_done
        assert decoder.is_finish_reason_missing
        assert decoder.finish_reason is reason
        assert decoder.feed(b"x") == decoder.close() == []
    decoder = new_decoder()
    decoder.feed(delta(finish="stop") + DONE)
    assert not decoder.is_finish_reason_missing


@pytest.mark.parametrize(
    "bad",
    [
        event(b"{"),
        event(b"[]"),
        event({"choices": 1}),
        event(b"[" * 50_000),
        event({
            "choices": [choice({"tool_calls": [{"function": {"arguments": 1}, "index": "x"}]})]
        }),
        b"data: " + b"x" * 70_000,
    ],
)
def test_a_broken_event_ends_the_stream(bad: bytes):
    """What came before it is handed on, what comes after it is not read."""
    decoder = new_decoder()
    assert decoder.feed(delta({"content": "a"}) + bad + delta({"content": "b"})) == [TextDelta("a")]
    assert decoder.failure == BROKEN
    assert decoder.feed(delta({"content": "b"})) == []
    assert decoder.close() == []


@pytest.mark.parametrize(
    "bad",
    [
        event({"error": {"code": 429, "message": "slow down"}}),
        event({"object": "error", "code": 429}),
        b'event: error\ndata: {"code":429}\n\n',
    ],
)
def test_an_error_event_is_the_engines_problem(bad: bytes):
    """In any of its shapes, with its own status."""
    decoder = new_decoder()
    decoder.feed(bad)
    assert decoder.failure == problem(Code.UPSTREAM_RATE_LIMITED)


def test_too_long_an_event_hands_on_those_before_it():
    """Events that were whole before the one that is too long still count."""
    decoder = new_decoder(200)
    assert decoder.feed(delta({"content": "a"}) + b"data: " + b"x" * 300) == [TextDelta("a")]
    assert decoder.failure == BROKEN


def test_a_stream_may_end_without_a_blank_line():
    """Its last event counts, unless all was said before."""
    decoder = new_decoder()
    decoder.feed(delta({"content": "a"}))
    decoder.feed(delta(finish="stop").rstrip())
    assert decoder.close() == [Finished(FinishReason.STOP)]
    assert decoder.failure is None
    decoder = new_decoder()
    decoder.feed(delta(finish="stop") + b"data: {")
    assert decoder.close() == []
    assert decoder.failure is None


def test_an_early_end_is_a_failure():
    """A stream that closes before its reason was cut."""
    decoder = new_decoder()
    decoder.feed(delta({"content": "a"}))
    assert decoder.close() == []
    assert decoder.failure == BROKEN


def reply(message: Any, finish: str | None = "stop", **more) -> bytes:
    """An engine's whole reply."""
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}], **more}).encode()


def test_a_whole_reply_says_the_same():
    """Thoughts, text, calls, the end and the counts, as events."""
    message = {"content": "b", "reasoning": "a", **call(None, None, name="f", arguments="")}
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    assert events_of_reply(reply(message, None, usage=usage), numbered()) == (
        ReasoningDelta("a"),
        TextDelta("b"),
        CallBegan(0, "made0", "f"),
        ArgumentsDelta(0, "{}"),
        Finished(FinishReason.TOOL_CALLS),
        UsageReported(Usage(1, 2)),
    )
    assert events_of_reply(reply({"content": "x"}, usage={"odd": 1}))[-1] == Finished(
        FinishReason.STOP
    )


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", Code.UPSTREAM_ERROR),
        (b"[" * 50_000, Code.UPSTREAM_ERROR),
        (b"{}", Code.UPSTREAM_ERROR),
        (b'{"choices":[]}', Code.UPSTREAM_ERROR),
        (b'{"choices":[{"delta":{}}]}', Code.UPSTREAM_ERROR),
        (b'{"error":{"code":503}}', Code.UPSTREAM_OVERLOADED),
        (reply(call(0, "a", arguments="{}")), Code.UPSTREAM_ERROR),
    ],
)
def test_what_is_no_reply_is_a_failure(body: bytes, code: Code):
    """Malformed, without a message, with a nameless call, or an error object in a 200."""
    with pytest.raises(UpstreamFailed) as failed:
        events_of_reply(body)
    assert failed.value.problem.code is code
    decoder = new_decoder()
    assert decoder.feed_whole(body) == []
    assert decoder.failure == failed.value.problem
    assert (decoder.is_done, decoder.events) == (False, 0)


def test_a_whole_reply_can_stand_for_a_stream():
    """All of it is one event, and the stream is done."""
    decoder = new_decoder()
    out = decoder.feed_whole(reply({"content": "x"}, usage={"prompt_tokens": 3}))
    assert out[0] == TextDelta("x")
    assert (decoder.events, decoder.is_done, decoder.is_finished) == (1, True, True)
    assert decoder.usage == Usage(3)
    assert decoder.finish_reason is FinishReason.STOP
