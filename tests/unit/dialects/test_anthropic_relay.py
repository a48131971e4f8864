"""Messages engines for Messages callers: handed on, blocks in order, mended only where needed."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import FinishReason, StreamTranslator, Usage
from anvil_trio.errors import Code, UpstreamFailed, problem
from tests.support.grammars import events_of, read_messages
from tests.unit.dialects.anthropic import (
    REPLIES,
    STREAMS,
    begun,
    captured,
    ended,
    engine_tier,
    event,
    more,
    said,
    started,
    stopped,
)
from tests.unit.dialects.messages import asked

START = started(input_tokens=1)


def relay(max_event_bytes: int = 65_536) -> StreamTranslator:
    """A fresh translator for one stream."""
    return MESSAGES.translator(asked(stream=True), engine_tier(), max_event_bytes)


def relayed(data: bytes) -> bytes:
    """What a caller gets of a stream that ends well."""
    translator = relay()
    out = translator.feed(data) + translator.close()
    assert translator.failure is None
    return out


def broken(data: bytes) -> StreamTranslator:
    """A translator that has found a fault."""
    translator = relay()
    translator.feed(data)
    translator.close()
    assert translator.failure is not None
    return translator


@pytest.mark.parametrize("name", STREAMS)
def test_captured_streams_keep_the_grammar(name: str):
    """Every engine's stream is whole in Anthropic's grammar, with the caller's model."""
    data = captured(f"{name}.sse")
    message = read_messages(relayed(data))
    assert message["model"] == "llm.primary"
    for at in range(0, len(data), 11):
        translator = relay()
        cut = translator.feed(data[:at]) + translator.feed(data[at:]) + translator.close()
        assert read_messages(cut) == message


def test_a_clean_stream_keeps_its_bytes():
    """All but the model, unknown members included."""
    opening = json.dumps({
        "type": "message_start",
        "message": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "served",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 1, "service_tier": "x"},
        },
        "extra": 1.50,
    }).encode()
    rest = event("ping") + said("x") + ended("end_turn", output_tokens=2, new_count=7)
    start = b"event: message_start\ndata: " + opening + b"\n\n"
    out = relayed(start + rest)
    assert read_messages(out)["model"] == "llm.primary"
    want = {**json.loads(opening)}
    want["message"]["model"] = "llm.primary"
    assert events_of(out)[0] == want
    kept = (
        rest
        .replace(stopped(0), b"")
        .replace(event("ping"), b"")
        .replace(event("message_stop"), b"")
    )
    for block in kept.split(b"\n\n")[:-1]:
        if b"content_block_start" not in block:
            assert block in out


def test_members_that_engines_leave_out_are_added():
    """llama.cpp's call without input, its thinking without signature; SGLang's start."""
    thought = begun(0, "thinking", thinking="") + more(0, "thinking", "hm") + stopped(0)
    call = begun(1, "tool_use", id="a", name="f") + more(1, "input_json", '{"x":1}') + stopped(1)
    out = relayed(START + thought + call + ended("tool_use", output_tokens=1))
    start, *events = events_of(out)
    assert start["message"]["stop_reason"] is start["message"]["stop_sequence"] is None
    blocks = [one["content_block"] for one in events if one["type"] == "content_block_start"]
    assert [one.get("input", one.get("signature")) for one in blocks] == ["", {}]


def test_blocks_that_stay_open_are_closed_in_time():
    """llama.cpp tells of all ends at the end; text that goes on gets a block of its own."""
    data = (
        begun(0, "text", text="")
        + more(0, "text", "a")
        + begun(1, "tool_use", id="a", name="f", input={})
        + more(1, "input_json", '{"x":')
        + more(1, "input_json", "1}")
        + more(0, "text", "b")
        + more(0, "text", "c")
        + stopped(0)
        + stopped(1)
    )
    out = relayed(START + data + ended("tool_use", output_tokens=1))
    message = read_messages(out)
    assert [one["type"] for one in message["content"]] == ["text", "tool_use", "text"]
    assert message["content"][2]["text"] == "bc"


def test_calls_by_turns_are_put_in_order():
    """What begins while a call is open waits until its arguments are whole."""
    data = (
        begun(0, "tool_use", id="a", name="f", input={})
        + begun(1, "tool_use", id="b", name="g", input={})
        + more(1, "input_json", '{"y":2}')
        + stopped(1)
        + more(0, "input_json", '{"x":1}')
        + stopped(0)
    )
    assert b'"g"' not in relay().feed(START + data[:-200])
    message = read_messages(relayed(START + data + ended("tool_use", output_tokens=1)))
    assert [one["input"] for one in message["content"]] == [{"x": 1}, {"y": 2}]


def test_a_late_signature_is_dropped():
    """There is no block any more that it could be in."""
    data = (
        begun(0, "thinking", thinking="")
        + more(0, "thinking", "hm")
        + begun(1, "text", text="")
        + more(1, "text", "x")
        + more(0, "signature", "late")
    )
    out = relayed(START + data + ended(output_tokens=1))
    assert b"late" not in out
    assert [one["type"] for one in read_messages(out)["content"]] == ["thinking", "text"]


def test_thoughts_may_go_on_after_text():
    """In a block of their own."""
    data = (
        begun(0, "thinking", thinking="")
        + more(0, "thinking", "a")
        + begun(1, "text", text="")
        + more(1, "text", "x")
        + more(0, "thinking", "b")
    )
    out = relayed(START + data + ended(output_tokens=1))
    assert [one["type"] for one in read_messages(out)["content"]] == [
        "thinking",
        "text",
        "thinking",
    ]


def test_arguments_cannot_go_on():
    """After a call's block was closed its caller would never see them."""
    call = begun(0, "tool_use", id="a", name="f") + more(0, "input_json", "{}")
    data = call + begun(1, "text", text="") + more(0, "input_json", "{}")
    assert broken(START + data + ended()).failure == problem(Code.UPSTREAM_ERROR)


def test_a_cut_argument_never_ends_as_tool_use():
    """Nor as a good end of any kind; where a limit cut it, it is passed on."""
    cut = START + begun(0, "tool_use", id="a", name="f") + more(0, "input_json", '{"x')
    for reason in ("tool_use", "end_turn"):
        translator = relay()
        out = translator.feed(cut + ended(reason))
        assert translator.failure is not None
        assert b"message_stop" not in out
        assert not translator.is_finished
        assert not translator.is_done
        assert translator.finish_now() == translator.feed(b"") == translator.close() == b""
    assert b'"max_tokens"' in relayed(cut + ended("max_tokens", output_tokens=1))


def test_a_reply_without_its_end_is_given_one():
    """`message_stop` alone, or a clean end after the stop reason."""
    message = read_messages(relayed(START + said("x") + ended(None)))
    assert message["stop_reason"] == "end_turn"
    call = begun(0, "tool_use", id="a", name="f") + stopped(0)
    assert read_messages(relayed(START + call + ended(None)))["stop_reason"] == "tool_use"
    delta = ended(output_tokens=1).replace(event("message_stop"), b"")
    translator = relay()
    out = translator.feed(START + said("x") + delta)
    assert translator.is_finished
    out += translator.finish_now()
    assert read_messages(out)["stop_reason"] == "end_turn"
    assert translator.finish_now() == b""
    assert read_messages(relayed(ended(None)))["content"] == []


def test_a_failed_stream_ends_in_an_error():
    """SSE-29: Anthropic's own word for it, and no `message_stop`."""
    error = event("error", error={"type": "overloaded_error", "message": "at node-7"})
    translator = broken(START + said("x") + error)
    assert translator.failure is not None
    last = translator.terminal_error(translator.failure)
    assert events_of(last)[0]["error"]["type"] == "overloaded_error"
    assert b"node-7" not in last


def test_what_is_known_while_it_streams():
    """Progress, content, end and counts, for the record."""
    translator = relay()
    assert translator.feed(event("ping")) == b""
    assert (translator.events, translator.has_content) == (0, False)
    translator.feed(started(input_tokens=3) + event("new_kind", x=1) + event("odd kind"))
    assert (translator.events, translator.has_content) == (3, False)
    translator.feed(said("x") + ended(output_tokens=2))
    assert (translator.has_content, translator.is_done) == (True, True)
    assert translator.finish_reason is FinishReason.STOP
    assert translator.is_finish_reason_missing is False
    assert translator.usage == Usage(3, 2)


def test_line_ends_between_tokens_are_no_trouble():
    """An engine may lay out its JSON over several data lines."""
    data = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,\ndata: '
    data += b'"delta":{"type":"text_delta","text":"y"}}\n\n'
    out = relayed(START + begun(0, "text", text="") + data + ended(output_tokens=1))
    assert read_messages(out)["content"][0]["text"] == "y"


def test_what_waits_is_bounded():
    """An engine that sends much of later blocks while a call is open is cut off."""
    translator = relay(4096)
    translator.feed(START + begun(0, "tool_use", id="a", name="f") + begun(1, "text", text=""))
    for _ in range(5):
        translator.feed(more(1, "text", "x" * 1000))
    assert translator.failure == problem(Code.UPSTREAM_ERROR)


def test_a_whole_reply_becomes_a_stream():
    """And an error in its place a failure."""
    translator = relay()
    message = read_messages(translator.feed_whole(captured("vllm-length.json")))
    assert message["content"] == [{"type": "text", "text": "Hello from a"}]
    assert translator.has_content
    translator = relay()
    assert translator.feed_whole(b"{}") == b""
    assert translator.failure is not None


@pytest.mark.parametrize("name", REPLIES)
def test_captured_replies_are_handed_on(name: str):
    """Every member as sent, but the model and what vLLM and SGLang leave out."""
    data = captured(f"{name}.json")
    reply = MESSAGES.render_reply(data, asked(), engine_tier())
    want: dict[str, Any] = {"stop_sequence": None, **json.loads(data), "model": "llm.primary"}
    assert json.loads(reply.body) == want
    assert reply.usage.completion_tokens == want["usage"]["output_tokens"]


def test_a_reply_without_counts_or_signature():
    """What is unknown stays unknown in the record."""
    body = {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "new"}], "model": "x"}
    reply = MESSAGES.render_reply(json.dumps(body).encode(), asked(), engine_tier())
    assert json.loads(reply.body)["content"][0]["signature"] == ""
    assert (reply.usage, reply.finish_reason) == (Usage(), FinishReason.STOP)
    with pytest.raises(UpstreamFailed):
        MESSAGES.render_reply(b"{}", asked(), engine_tier())


def test_a_clean_close_after_the_stop_reason_ends_the_stream():
    """An engine that closes without `message_stop` has its caller given one, and only one."""
    delta = ended(output_tokens=1).replace(event("message_stop"), b"")
    translator = relay()
    out = translator.feed(START + said("x") + delta)
    assert b"message_stop" not in out
    out += translator.close()
    assert read_messages(out)["stop_reason"] == "end_turn"
    assert translator.close() == b""
    assert translator.failure is None


def test_what_waits_is_handed_on_at_the_end():
    """Text that waited for a call which a limit cut is not lost."""
    data = (
        begun(0, "tool_use", id="a", name="f", input={})
        + more(0, "input_json", '{"x":')
        + begun(1, "text", text="")
        + more(1, "text", "late")
    )
    translator = relay()
    assert b"late" not in translator.feed(START + data)
    out = relayed(START + data + ended("max_tokens", output_tokens=1))
    kinds = [
        one["content_block"]["type"]
        for one in events_of(out)
        if one["type"] == "content_block_start"
    ]
    assert kinds == ["tool_use", "text"]
    assert b"late" in out
    assert out.count(b"event: content_block_stop") == 2


def test_a_stream_that_is_cut_is_no_good_end():
    """An engine that closes before any stop reason leaves a failure, and no `message_stop`."""
    translator = relay()
    translator.feed(START + said("x"))
    assert translator.close() == b""
    assert translator.failure == problem(Code.UPSTREAM_ERROR)


def test_a_stream_begins_once():
    """A second `message_start`, which clients take for a fault, is dropped."""
    out = relayed(START + said("x") + START + ended(output_tokens=1))
    assert out.count(b"event: message_start") == 1
    assert read_messages(out)["content"][0]["text"] == "x"
