"""Reply streams for Messages callers: the grammar, the blocks, the end and the counts."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.events import ArgumentsDelta, CallBegan, Finished, SignatureDelta
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.dialects.messages_stream import MessagesStream
from anvil_trio.errors import Code, UpstreamFailed, problem
from tests.support.grammars import events_of, read_messages
from tests.unit.dialects.chats import delta, event
from tests.unit.dialects.messages import call, new_translator, streamed

DONE = b"data: [DONE]\n\n"


def kinds(message: dict[str, Any]) -> list[str]:
    """The types of a message's blocks."""
    return [block["type"] for block in message["content"]]


def test_a_plain_answer_has_every_event_of_the_grammar():
    """One start with the estimate, one block, the reason with the true counts, one stop."""
    translator = new_translator()
    usage = {"prompt_tokens": 321, "completion_tokens": 2}
    out = translator.feed(
        delta({"role": "assistant", "content": ""})
        + delta({"content": "Hel"})
        + delta({"content": "lo"})
        + delta(finish="stop")
        + event({"choices": [], "usage": usage})
        + DONE
    )
    events = events_of(out)
    assert [one["type"] for one in events] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    start = events[0]["message"]
    assert start["id"].startswith("msg_")
    assert start["model"] == "llm.primary"
    assert start["usage"] == {"input_tokens": 1, "output_tokens": 0}
    assert events[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert events[-2]["usage"] == {"input_tokens": 321, "output_tokens": 2}
    assert translator.is_done
    assert translator.has_content
    assert translator.finish_reason is FinishReason.STOP
    assert (translator.usage.prompt_tokens, translator.events) == (321, 6)
    assert translator.finish_now() == translator.close() == translator.feed(b"x") == b""


def test_each_change_of_kind_makes_a_block():
    """Thought, call, thought and text are four blocks, each closed before the next."""
    message = streamed(
        delta({"reasoning": "a"}),
        delta(call(0, "c", name="f", arguments='{"x":1}')),
        delta({"reasoning": "b"}),
        delta({"content": "c"}),
        delta(finish="tool_calls"),
    )
    assert kinds(message) == ["thinking", "tool_use", "thinking", "text"]
    assert message["stop_reason"] == "tool_use"
    assert message["content"][1]["input"] == {"x": 1}


def test_arguments_leave_when_they_arrive():
    """A piece for the open call is handed on with the read that brought it."""
    translator = new_translator()
    translator.feed(delta(call(0, "c", name="f", arguments="")))
    for piece in ('{"ci', 'ty":', '"Rome"}'):
        (out,) = events_of(translator.feed(delta(call(0, arguments=piece))))
        assert out["delta"] == {"type": "input_json_delta", "partial_json": piece}


def test_another_call_waits_for_the_open_one():
    """What belongs to a later block is held until the arguments before it are whole."""
    translator = new_translator()
    translator.feed(delta(call(0, "a", name="f", arguments='{"x":')))
    assert translator.feed(delta(call(1, "b", name="g", arguments='{"y":'))) == b""
    assert translator.feed(delta({"content": "after"})) == b""
    out = events_of(translator.feed(delta(call(0, arguments="1}"))))
    assert [one["type"] for one in out] == [
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
    ]
    assert out[2]["content_block"] == {"type": "tool_use", "id": "b", "name": "g", "input": {}}
    out = events_of(translator.feed(delta(call(1, arguments="2}"))))
    assert [one["type"] for one in out][-2:] == ["content_block_start", "content_block_delta"]
    assert out[-1]["delta"] == {"type": "text_delta", "text": "after"}


def test_calls_without_arguments_are_empty_objects():
    """All of them, the open one and those that waited for it."""
    message = streamed(
        delta(call(0, "a", name="f", arguments="")),
        delta(call(1, "b", name="g")),
        delta(finish="tool_calls"),
    )
    assert [block["input"] for block in message["content"]] == [{}, {}]


def test_calls_make_it_tool_use():
    """Whatever an engine calls the end of a turn that calls tools, unless it was cut."""
    whole = delta(call(0, "a", name="f", arguments="{}"))
    assert streamed(whole, delta(finish="stop"))["stop_reason"] == "tool_use"
    assert streamed(whole, DONE)["stop_reason"] == "tool_use"
    assert streamed(whole, delta(finish="length"))["stop_reason"] == "max_tokens"
    assert streamed(delta(finish="tool_calls"))["stop_reason"] == "end_turn"


def test_a_cut_call_never_ends_as_tool_use():
    """By the output limit it ends with that reason; without one it is a failure."""
    cut = delta(call(0, "a", name="f", arguments='{"ci'))
    message = streamed(cut, delta(finish="length"))
    assert message["stop_reason"] == "max_tokens"
    assert message["content"][0]["input"] == '{"ci'
    for end in (delta(finish="tool_calls"), delta(finish="stop"), DONE):
        translator = new_translator()
        out = translator.feed(cut + end)
        assert translator.failure == problem(Code.UPSTREAM_ERROR)
        assert not translator.is_finished
        assert not translator.is_done
        assert translator.finish_now() == translator.close() == b""
        whole = out + translator.terminal_error(problem(Code.UPSTREAM_ERROR))
        assert read_messages(whole) == {
            "error": {
                "type": "api_error",
                "message": "The model's answer could not be used.",
            }
        }


def test_arguments_after_a_closed_call_are_a_failure():
    """Blanks are nothing; more than that cannot be handed on and is not lost in silence."""
    translator = new_translator()
    translator.feed(delta(call(0, "a", name="f", arguments="{}")) + delta({"content": "x"}))
    assert translator.feed(delta(call(0, arguments=" \n"))) == b""
    assert translator.failure is None
    translator.feed(delta(call(0, arguments="{}")))
    assert translator.failure == problem(Code.UPSTREAM_ERROR)


def test_what_waits_is_bounded():
    """An engine that never closes a call cannot fill the memory behind it."""
    translator = new_translator(max_event_bytes=1000)
    translator.feed(delta(call(0, "a", name="f", arguments="{")))
    translator.feed(delta(call(1, "b", name="g", arguments="{")))
    for _ in range(9):
        translator.feed(delta(call(1, arguments="x" * 110)))
    assert translator.failure is None
    translator.feed(delta(call(1, arguments="x" * 110)))
    assert translator.failure == problem(Code.UPSTREAM_ERROR)


def test_only_a_stop_that_was_asked_for_is_named():
    """A text that the caller gave is the reason; a token's number or another text is none."""
    for member in ("stop_reason", "matched_stop"):
        end = {"index": 0, "delta": {}, "finish_reason": "stop", member: "END"}
        message = streamed(event({"choices": [end]}), stop_sequences=["END"])
        assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "END")
        assert streamed(event({"choices": [end]}))["stop_reason"] == "end_turn"
        end[member] = 151_645
        message = streamed(event({"choices": [end]}), stop_sequences=["END"])
        assert (message["stop_reason"], message["stop_sequence"]) == ("end_turn", None)


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("?", "end_turn"),
    ],
)
def test_every_end_has_its_reason(finish: str, reason: str):
    """In Anthropic's words."""
    assert streamed(delta({"content": "x"}), delta(finish=finish))["stop_reason"] == reason


def test_counts_are_never_doubled_or_negative():
    """What came from the cache is not in `input_tokens`, and never more than there was."""
    details = {"prompt_tokens_details": {"cached_tokens": 80}}

    def usage(prompt: int) -> Any:
        counts = {"prompt_tokens": prompt, "completion_tokens": 3, **details}
        return streamed(delta(finish="stop"), event({"choices": [], "usage": counts}))["usage"]

    assert usage(100) == {
        "input_tokens": 20,
        "cache_read_input_tokens": 80,
        "output_tokens": 3,
    }
    assert usage(20) == {"input_tokens": 0, "cache_read_input_tokens": 20, "output_tokens": 3}


def test_reasoning_tokens_are_part_of_the_output():
    """They are told beside it, and never more than it."""
    counts = {"prompt_tokens": 1, "completion_tokens": 3, "reasoning_tokens": 9}
    message = streamed(delta(finish="stop"), event({"choices": [], "usage": counts}))
    assert message["usage"] == {
        "input_tokens": 1,
        "output_tokens": 3,
        "output_tokens_details": {"thinking_tokens": 3},
    }


def test_missing_counts_are_estimates():
    """An engine that counts nothing leaves the estimates; the record still knows of none."""
    translator = new_translator(messages=[{"role": "user", "content": "one two three"}])
    out = translator.feed(delta({"content": "é" * 4, "reasoning": "abc"}) + delta(finish="stop"))
    assert read_messages(out + translator.close())["usage"] == {
        "input_tokens": 3,
        "output_tokens": 3,
    }
    assert translator.usage.completion_tokens is None


def test_nothing_leaves_before_the_first_event():
    """Until then an error of the engine is a plain HTTP error, also for one within a 200."""
    translator = new_translator()
    assert translator.feed(b": comment\n\n") == b""
    assert translator.feed(event({"error": {"code": 503}})) == b""
    assert translator.failure == problem(Code.UPSTREAM_OVERLOADED)
    assert translator.terminal_error(problem(Code.UPSTREAM_OVERLOADED)).startswith(
        b"event: error\n"
    )
    assert events_of(new_translator().feed(delta({"role": "assistant"})))[0]["type"] == (
        "message_start"
    )


def test_what_came_before_a_fault_is_handed_on():
    """The good events of a read leave, and the error frame ends the stream."""
    translator = new_translator()
    out = translator.feed(delta({"content": "good"}) + event(b"{"))
    assert b"good" in out
    assert translator.failure == problem(Code.UPSTREAM_ERROR)
    message = read_messages(out + translator.terminal_error(problem(Code.IDLE_TIMEOUT)))
    assert message["error"]["type"] == "timeout_error"


def test_a_break_after_the_reason_loses_nothing():
    """Once an engine has said why it ended, the message can be closed whatever follows."""
    translator = new_translator()
    out = translator.feed(delta({"content": "x"}) + delta(finish="stop") + event(b"{"))
    assert translator.failure == problem(Code.UPSTREAM_ERROR)
    assert translator.is_finished
    message = read_messages(out + translator.finish_now())
    assert message["stop_reason"] == "end_turn"
    assert translator.finish_now() == b""


def test_a_whole_reply_is_made_a_stream():
    """An engine that does not stream is served all the same."""
    message = {"content": "x", "reasoning": "why"}
    choice = {"index": 0, "message": message, "finish_reason": "length"}
    raw = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 3}}).encode()
    translator = new_translator()
    made = read_messages(translator.feed_whole(raw))
    assert kinds(made) == ["thinking", "text"]
    assert made["stop_reason"] == "max_tokens"
    assert translator.is_done
    assert translator.usage.prompt_tokens == 3
    broken = new_translator()
    assert broken.feed_whole(b"{}") == b""
    assert broken.failure == problem(Code.UPSTREAM_ERROR)


def test_a_missing_reason_is_known():
    """`[DONE]` alone ends a message well, and the record is told."""
    translator = new_translator()
    message = read_messages(translator.feed(delta({"content": "x"}) + DONE))
    assert message["stop_reason"] == "end_turn"
    assert translator.is_finish_reason_missing


def test_a_signature_belongs_to_the_thoughts_before():
    """An engine that signs its thoughts is believed; no signature is ever invented."""
    stream = MessagesStream(
        "m", prompt_tokens=1, stop_sequences=frozenset(), max_waiting_bytes=99, message_id="msg_1"
    )
    out = stream.start() + stream.encode(SignatureDelta("sig")) + stream.finish()
    message = read_messages(out)
    assert message["id"] == "msg_1"
    assert message["content"] == [{"type": "thinking", "thinking": "", "signature": "sig"}]


def test_a_call_that_is_no_object_is_let_through():
    """Only brackets can be seen to be open: a bare value ends where its reply ends."""
    stream = MessagesStream("m", prompt_tokens=1, stop_sequences=frozenset(), max_waiting_bytes=99)
    out = stream.start() + stream.encode(CallBegan(0, "a", "f"))
    out += stream.encode(ArgumentsDelta(0, "null"))
    out += stream.encode(Finished(FinishReason.TOOL_CALLS)) + stream.finish()
    assert read_messages(out)["content"][0]["input"] is None
    again = MessagesStream("m", prompt_tokens=1, stop_sequences=frozenset(), max_waiting_bytes=99)
    again.encode(CallBegan(0, "a", "f"))
    again.encode(ArgumentsDelta(0, "[1"))
    with pytest.raises(UpstreamFailed):
        again.encode(Finished(FinishReason.STOP))
