"""Streams and replies of Messages engines, decoded: captures, quirks, ends and faults."""

import json

import pytest

from anvil_trio.dialects.anthropic_events import AnthropicEvents, events_of_message
from anvil_trio.dialects.events import (
    ArgumentsDelta,
    CallBegan,
    Finished,
    ReasoningDelta,
    SignatureDelta,
    TextDelta,
    UsageReported,
)
from anvil_trio.dialects.ir import FinishReason, Usage
from anvil_trio.errors import Code, Overflow, UpstreamFailed, problem
from tests.unit.dialects.anthropic import (
    STREAMS,
    begun,
    captured,
    decoded,
    ended,
    event,
    more,
    said,
    started,
    stopped,
    stream,
)

TEXT = "Hello from a tiny model: café, 你好 🦙."
STOP, CALLS, LENGTH = FinishReason.STOP, FinishReason.TOOL_CALLS, FinishReason.LENGTH


def of(kind, events):
    """The events of one kind."""
    return [one for one in events if isinstance(one, kind)]


def joined(kind, events) -> str:
    """All text of one kind."""
    return "".join(one.text for one in of(kind, events))


@pytest.mark.parametrize("name", STREAMS)
def test_captured_streams_are_decoded_exactly(name: str):
    """Text, thoughts, calls, end and counts of what real engines sent."""
    events, decoder = decoded(captured(f"{name}.sse"))
    assert decoder.failure is None
    assert decoder.is_done
    if name.endswith("tools-stream"):
        assert [one.name for one in of(CallBegan, events)] == ["get_weather"]
        assert json.loads(joined(ArgumentsDelta, events)) == {"city": "Paris"}
        assert decoder.finish_reason is CALLS
    elif "think" in name:
        assert joined(ReasoningDelta, events).strip() == "Let me ponder briefly."
        assert joined(TextDelta, events).strip() == "Forty-two."
    else:
        assert joined(TextDelta, events) == TEXT
        assert decoder.finish_reason is STOP
    assert decoder.usage.prompt_tokens
    assert decoder.usage.completion_tokens


def test_captured_counts_are_exact():
    """llama.cpp's input without what its cache gave, which Chat and Responses count in."""
    _, llamacpp = decoded(captured("llamacpp-tools-stream.sse"))
    assert llamacpp.usage == Usage(prompt_tokens=287, completion_tokens=6, cached_tokens=286)
    _, vllm = decoded(captured("vllm-tools-stream.sse"))
    assert vllm.usage == Usage(prompt_tokens=287, completion_tokens=6)


def test_a_real_signature_is_told():
    """VLLM signs its thoughts; llama.cpp's empty signature says nothing."""
    events, _ = decoded(captured("vllm-qwen3-think-stream.sse"))
    assert of(SignatureDelta, events) == [SignatureDelta("7c2a075a35994098803e4ff6c161fa8f")]
    events, _ = decoded(captured("llamacpp-think-stream.sse"))
    assert of(SignatureDelta, events) == []


@pytest.mark.parametrize("name", STREAMS)
def test_any_cut_gives_the_same(name: str):
    """The same events for every way of cutting a stream in two."""
    data = captured(f"{name}.sse")
    whole, _ = decoded(data)
    for at in range(0, len(data), 7):
        assert decoded([data[:at], data[at:]])[0] == whole


@pytest.mark.parametrize(
    ("name", "said_text", "reason", "usage"),
    [
        ("llamacpp-length", None, LENGTH, None),
        ("vllm-length", "Hello from a", LENGTH, Usage(21, 2)),
        ("llamacpp-think-unary", "Forty-two.", STOP, Usage(23, 8, 22)),
    ],
)
def test_captured_replies_are_decoded(name, said_text, reason, usage):
    """Whole replies say the same things, their end last."""
    events = events_of_message(captured(f"{name}.json"))
    assert of(Finished, events)[0].reason is reason
    assert events[-1] == of(Finished, events)[0]
    if said_text is not None:
        assert joined(TextDelta, events) == said_text
        assert of(UsageReported, events)[-1].usage == usage


@pytest.mark.parametrize("engine", ["llamacpp", "vllm", "sglang"])
def test_captured_calls_of_replies(engine: str):
    """The input of a whole call is its JSON text."""
    events = events_of_message(captured(f"{engine}-tools-unary.json"))
    assert [(one.number, one.name) for one in of(CallBegan, events)] == [(0, "get_weather")]
    assert json.loads(joined(ArgumentsDelta, events)) == {"city": "Paris"}


def test_a_ping_is_no_progress():
    """Nor is what says nothing that anyone knows, but that is an event."""
    decoder = AnthropicEvents(65_536)
    assert decoder.feed(event("ping") + b": comment\n\n") == []
    assert decoder.events == 0
    assert decoder.feed(event("something_new", x=1)) == []
    assert decoder.events == 1


def test_calls_without_arguments_get_an_object():
    """When the next block begins, or the answer ends well; never when it was cut."""
    call = begun(0, "tool_use", id="a", name="f") + stopped(0)
    events, _ = decoded(stream(call, said("x", 1)))
    assert events[1:4] == [CallBegan(0, "a", "f"), ArgumentsDelta(0, "{}"), TextDelta("x")]
    events, _ = decoded(started() + call + ended("tool_use"))
    assert of(ArgumentsDelta, events) == [ArgumentsDelta(0, "{}")]
    events, _ = decoded(started() + call + ended("max_tokens"))
    assert of(ArgumentsDelta, events) == []


def test_arguments_at_the_start_of_a_call_are_taken():
    """Some engines send all of it at once; what streams all the same counts instead."""
    at_once = begun(0, "tool_use", id="a", name="f", input={"x": 1}) + stopped(0)
    events, _ = decoded(stream(at_once))
    assert joined(ArgumentsDelta, events) == '{"x": 1}'
    both = begun(0, "tool_use", id="a", name="f", input={"x": 1}) + more(0, "input_json", "{}")
    events, _ = decoded(stream(both))
    assert joined(ArgumentsDelta, events) == "{}"


def test_text_and_thoughts_at_the_start_of_a_block_are_taken():
    """With the signature."""
    thought = begun(0, "thinking", thinking="hm", signature="s") + stopped(0)
    events, _ = decoded(stream(thought, begun(1, "text", text="hi") + stopped(1)))
    assert events[1:4] == [ReasoningDelta("hm"), SignatureDelta("s"), TextDelta("hi")]


def test_what_nobody_has_a_word_for_says_nothing():
    """Redacted thinking, an engine's own tools, citations."""
    hidden = begun(0, "redacted_thinking", data="x") + stopped(0)
    own = begun(1, "server_tool_use", id="s", name="web") + more(1, "input_json", '{"q":1}')
    cited = event("content_block_delta", index=2, delta={"type": "citations_delta", "citation": {}})
    events, decoder = decoded(stream(hidden, own, cited, said("x", 2)))
    assert joined(TextDelta, events) == "x"
    assert of(CallBegan, events) == of(ArgumentsDelta, events) == []
    assert decoder.failure is None


def test_ids_are_made_and_never_repeat():
    """Where an engine gave none, or the same twice."""
    calls = [
        begun(at, "tool_use", name="f", **more) for at, more in enumerate([{}, {"id": "made"}])
    ]
    made = iter(["made", "other"])
    events, _ = decoded(stream(*calls), lambda: next(made))
    assert [one.call_id for one in of(CallBegan, events)] == ["made", "other"]


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("end_turn", STOP),
        ("stop_sequence", STOP),
        ("pause_turn", STOP),
        ("tool_use", CALLS),
        ("max_tokens", LENGTH),
        ("model_context_window_exceeded", LENGTH),
        ("refusal", FinishReason.CONTENT_FILTER),
        ("unheard_of", STOP),
    ],
)
def test_stop_reasons(reason, found):
    """Each in the record's words, told once."""
    data = started() + said("x") + ended(reason) + ended("refusal")
    events, decoder = decoded(data)
    assert of(Finished, events) == [Finished(found)]
    assert decoder.finish_reason is found


def test_a_stop_sequence_is_told():
    """With the text that ended the answer."""
    events, _ = decoded(started() + ended("stop_sequence", "END"))
    assert of(Finished, events) == [Finished(STOP, "END")]


@pytest.mark.parametrize(
    ("end", "failure", "is_missing"),
    [
        (event("message_delta", delta={"stop_reason": "end_turn"}), None, False),
        (ended(None), None, True),
        (b"data: [DONE]\n\n", None, True),
        (b"", Code.UPSTREAM_ERROR, False),
        (event("message_delta", delta={}), Code.UPSTREAM_ERROR, False),
        (ended("end_turn").rstrip(), None, False),
        (b"data: {\n\n", Code.UPSTREAM_ERROR, False),
        (b'data: {"type":"x","y":"\xff"}\n\n', Code.UPSTREAM_ERROR, False),
        (begun(1, "tool_use", id="x"), Code.UPSTREAM_ERROR, False),
    ],
)
def test_ends(end, failure, is_missing):
    """A stop reason or the last word is an end; anything else is a fault."""
    events, decoder = decoded(started() + said("x") + end)
    assert joined(TextDelta, events) == "x"
    assert (None if decoder.failure is None else decoder.failure.code) == failure
    assert decoder.is_finished == (failure is None)
    assert decoder.is_finish_reason_missing is is_missing


def test_a_missing_reason_after_a_call_is_tool_use():
    """As for engines of the other kind."""
    _, decoder = decoded(started() + begun(0, "tool_use", id="a", name="f") + ended(None))
    assert decoder.finish_reason is CALLS


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        ({"type": "overloaded_error", "message": "at node-7"}, Code.UPSTREAM_OVERLOADED, 503),
        ({"type": "rate_limit_error"}, Code.UPSTREAM_RATE_LIMITED, 429),
        ({"type": "invalid_request_error"}, Code.UPSTREAM_REFUSED, 400),
        ({"type": "request_too_large"}, Code.UPSTREAM_REFUSED, 413),
        ({"type": "api_error"}, Code.UPSTREAM_ERROR, 502),
        ({"type": "authentication_error"}, Code.UPSTREAM_ERROR, 502),
        ({"code": 429}, Code.UPSTREAM_RATE_LIMITED, 429),
        ("words", Code.UPSTREAM_ERROR, 502),
    ],
)
def test_errors_within_a_stream(error, code, status):
    """Anthropic's types have statuses; an engine's words are never kept."""
    _, decoder = decoded(started() + event("error", error=error))
    assert (decoder.failure.code, decoder.failure.status) == (code, status)
    with pytest.raises(UpstreamFailed) as failed:
        events_of_message(json.dumps({"type": "error", "error": error}).encode())
    assert failed.value.problem == decoder.failure


def test_an_overflow_is_told_with_its_numbers():
    """Anthropic's own words for a prompt that is too long."""
    words = "prompt is too long: 9007 tokens > 8192 maximum"
    error = {"type": "invalid_request_error", "message": words}
    _, decoder = decoded(event("error", error=error))
    assert decoder.failure.code is Code.CONTEXT_LENGTH_EXCEEDED
    assert decoder.failure.overflow == Overflow(9007, 8192)


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"{}", b'{"content":null}', b'{"choices":[]}', b'{"content":[],"x":"\xff"}'],
)
def test_what_is_no_reply(body):
    """Malformed, of another kind, or no text."""
    with pytest.raises(UpstreamFailed):
        events_of_message(body)
    decoder = AnthropicEvents(65_536)
    assert decoder.feed_whole(body) == []
    assert decoder.failure is not None


def test_a_whole_reply_for_a_stream():
    """An engine may answer a streaming request with one JSON reply."""
    decoder = AnthropicEvents(65_536)
    events = decoder.feed_whole(captured("vllm-length.json"))
    assert joined(TextDelta, events) == "Hello from a"
    assert (decoder.is_done, decoder.events) == (True, 1)


def test_an_event_that_is_too_long_is_a_fault():
    """What came before it counts."""
    decoder = AnthropicEvents(4096)
    events = decoder.feed(said("x") + more(0, "text", "y" * 5000))
    assert joined(TextDelta, events) == "x"
    assert decoder.failure is not None
    assert decoder.feed(said("z")) == []


@pytest.mark.parametrize(
    "blocks",
    [
        [begun(at, "tool_use", id=f"c{at}", name="f") for at in range(513)],
        [begun(at, "text") for at in range(1025)],
    ],
)
def test_what_is_kept_is_bounded(blocks):
    """Too many calls or blocks are cut off with an error."""
    _, decoder = decoded(started() + b"".join(blocks))
    assert decoder.failure.code is Code.UPSTREAM_ERROR


@pytest.mark.parametrize(
    ("first", "last", "usage"),
    [
        ({"input_tokens": 0, "output_tokens": 1}, {}, Usage()),
        ({"input_tokens": 5}, {"output_tokens": 2}, Usage(5, 2)),
        ({"input_tokens": 1}, {"input_tokens": 7, "output_tokens": 2}, Usage(7, 2)),
        (
            {"input_tokens": 1, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 8},
            {"output_tokens": 2, "output_tokens_details": {"thinking_tokens": 1}},
            Usage(13, 2, 4, 1),
        ),
        ({"input_tokens": -1}, {"output_tokens": "2"}, Usage()),
    ],
)
def test_counts(first, last, usage):
    """The prompt is all that was read; what was not counted, or makes no sense, is unknown."""
    _, decoder = decoded(started(**first) + said("x") + ended("end_turn", **last))
    assert decoder.usage == usage


def test_only_the_first_stop_reason_counts():
    """A second `message_delta` may bring counts, but ends nothing again."""
    data = started() + said("x") + ended("max_tokens").replace(event("message_stop"), b"")
    events, decoder = decoded(data + ended("end_turn", output_tokens=2))
    assert [one.reason for one in of(Finished, events)] == [LENGTH]
    assert decoder.finish_reason is LENGTH
    assert decoder.usage.completion_tokens == 2


def test_a_last_event_without_its_blank_line_is_heard():
    """An engine that closes right after its stop reason has ended well."""
    data = started() + said("x") + ended().replace(event("message_stop"), b"")
    events, decoder = decoded(data.removesuffix(b"\n"))
    assert [one.reason for one in of(Finished, events)] == [STOP]
    assert decoder.failure is None


def test_content_after_the_end_says_nothing():
    """The answer ended with its reason."""
    events, decoder = decoded(stream(said("x"))[: -len(event("message_stop"))] + said("late", 1))
    assert TextDelta("late") not in events
    assert decoder.is_finished


def test_arguments_after_the_end_of_their_call_are_a_fault():
    """Whichever dialect the caller speaks, such a call could not be used; blanks are nothing."""
    call = begun(0, "tool_use", id="a", name="f") + more(0, "input_json", "{}") + stopped(0)
    assert decoded(stream(call + more(0, "input_json", "\n")))[1].failure is None
    broken = decoded(stream(call + more(0, "input_json", "{}")))[1]
    assert broken.failure == problem(Code.UPSTREAM_ERROR)


def test_counts_beyond_all_reason_are_unknown():
    """Their sum could not even be written."""
    events, decoder = decoded(
        started(input_tokens=9 * 10**4200, cache_read_input_tokens=2**63) + said("x") + ended()
    )
    assert decoder.usage == Usage()
    assert not [one for one in events if isinstance(one, UsageReported)]


def test_an_event_named_only_outside_gets_its_type():
    """As it is handed on; what it says is the same."""
    data = b'event: message_start\ndata: {"message":{"usage":{"input_tokens":3}}}\n\n'
    [heard] = AnthropicEvents(65_536).hear(data)
    assert json.loads(heard.data)["type"] == "message_start"
    assert heard.says == [UsageReported(Usage(3))]
