"""Chat and Responses callers of Messages engines: streams and replies in their own shape."""

import json
from typing import Any

import pytest

from anvil_trio.dialects.chat_encoder import ChatEncoder
from anvil_trio.dialects.events import ArgumentsDelta, CallBegan, Finished, SignatureDelta
from anvil_trio.dialects.ir import FinishReason
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import UpstreamFailed
from tests.support.grammars import check_responses
from tests.unit.dialects import responses
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
)
from tests.unit.dialects.chats import parsed

TEXT = "Hello from a tiny model: café, 你好 🦙."


def chat_stream(data: bytes, *, usage_wanted: bool = True) -> list[Any]:
    """The chunks that a Chat caller gets of a stream that ends well."""
    options = {"include_usage": usage_wanted}
    request = parsed(stream=True, stream_options=options)
    translator = CHAT.translator(request, engine_tier(), 65_536)
    out = translator.feed(data) + translator.close()
    assert translator.failure is None
    *events, done, empty = out.split(b"\n\n")
    assert (done, empty) == (b"data: [DONE]", b"")
    return [json.loads(one.removeprefix(b"data: ")) for one in events]


def joined(chunks: list[Any], member: str) -> str:
    """All of one member of the deltas."""
    return "".join(
        choice["delta"].get(member) or "" for chunk in chunks for choice in chunk["choices"]
    )


def chat_reply(data: bytes) -> Any:
    """A whole reply for a Chat caller."""
    return json.loads(CHAT.render_reply(data, parsed(), engine_tier()).body)


@pytest.mark.parametrize("name", STREAMS)
def test_chat_callers_of_real_engines(name: str):
    """Role first, then pieces, one finish reason, counts when asked for."""
    chunks = chat_stream(captured(f"{name}.sse"))
    assert {chunk["model"] for chunk in chunks} == {"llm.primary"}
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    *_, last, counts = chunks
    assert counts["choices"] == []
    usage = counts["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    if name.endswith("tools-stream"):
        calls = [
            call
            for chunk in chunks[:-1]
            for call in chunk["choices"][0]["delta"].get("tool_calls", ())
        ]
        assert calls[0]["function"]["name"] == "get_weather"
        arguments = "".join(call["function"]["arguments"] for call in calls)
        assert json.loads(arguments) == {"city": "Paris"}
        assert last["choices"][0]["finish_reason"] == "tool_calls"
    elif "think" in name:
        assert joined(chunks, "reasoning_content").strip() == "Let me ponder briefly."
        assert joined(chunks, "content").strip() == "Forty-two."
    else:
        assert joined(chunks, "content") == TEXT
        assert last["choices"][0]["finish_reason"] == "stop"
    assert all(
        "usage" not in one for one in chat_stream(captured(f"{name}.sse"), usage_wanted=False)
    )


@pytest.mark.parametrize("name", STREAMS)
def test_responses_callers_of_real_engines(name: str):
    """Every stream is whole in the grammar of the Responses API."""
    request = responses.parsed(stream=True)
    translator = responses.dialect().translator(request, engine_tier(), 65_536)
    out = translator.feed(captured(f"{name}.sse")) + translator.close()
    assert translator.failure is None
    check_responses(out)


@pytest.mark.parametrize("name", REPLIES)
def test_whole_replies_of_real_engines(name: str):
    """For both kinds of callers."""
    data = captured(f"{name}.json")
    reply = chat_reply(data)
    message = reply["choices"][0]["message"]
    rendered = responses.dialect().render_reply(data, responses.parsed(), engine_tier())
    output = json.loads(rendered.body)["output"]
    reason = reply["choices"][0]["finish_reason"]
    if "tools" in name:
        [call] = message["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}
        assert (message["content"], reason) == (None, "tool_calls")
        assert output[0]["call_id"] == call["id"]
    elif "think" in name:
        assert message["reasoning_content"].strip() == "Let me ponder briefly."
        assert [item["type"] for item in output] == ["reasoning", "message"]
    else:
        assert output[0]["content"][0]["text"] == message["content"]
        assert reason == ("length" if "length" in name else "stop")
    assert reply["usage"]["prompt_tokens"] > 0


def test_all_counts_that_are_known():
    """And none that is not."""
    usage = {
        "input_tokens": 1,
        "cache_read_input_tokens": 4,
        "output_tokens": 3,
        "output_tokens_details": {"thinking_tokens": 2},
    }
    body: dict[str, Any] = {"content": [], "stop_reason": "refusal"}
    reply = chat_reply(json.dumps({**body, "usage": usage}).encode())
    assert reply["usage"] == {
        "prompt_tokens": 5,
        "completion_tokens": 3,
        "total_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    assert reply["choices"][0]["finish_reason"] == "content_filter"
    assert "usage" not in chat_reply(json.dumps(body).encode())
    half = chat_reply(json.dumps({**body, "usage": {"output_tokens": 3}}).encode())
    assert half["usage"] == {"completion_tokens": 3}
    half = chat_reply(json.dumps({**body, "usage": {"input_tokens": 3}}).encode())
    assert half["usage"] == {"prompt_tokens": 3}


def test_signatures_say_nothing_to_chat():
    """Only their own engine could read them."""
    encoder = ChatEncoder("m", created=1, usage_wanted=False, completion_id="c")
    assert encoder.encode(SignatureDelta("s")) == b""
    thought = begun(0, "thinking", thinking="hm", signature="s")
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    assert "s" not in chat_reply(json.dumps({"content": content}).encode())["choices"][0]["message"]
    assert joined(chat_stream(started() + thought + ended()), "reasoning_content") == "hm"


def test_a_cut_argument_never_ends_as_tool_use():
    """In Chat's words, too."""
    encoder = ChatEncoder("m", created=1, usage_wanted=False)
    encoder.encode(CallBegan(0, "a", "f"))
    encoder.encode(ArgumentsDelta(0, '{"x'))
    with pytest.raises(UpstreamFailed):
        encoder.encode(Finished(FinishReason.STOP))
    encoder.encode(Finished(FinishReason.LENGTH))
    assert b'"finish_reason":"length"' in encoder.finish()


def test_a_failed_stream_ends_in_an_error():
    """OpenAI's error event, and no `[DONE]`."""
    translator = CHAT.translator(parsed(stream=True), engine_tier(), 65_536)
    error = event("error", error={"type": "overloaded_error"})
    out = translator.feed(started() + said("x") + more(0, "text", "y") + error)
    assert translator.failure is not None
    last = translator.terminal_error(translator.failure)
    assert json.loads(last.removeprefix(b"data: "))["error"]["code"] == "overloaded"
    assert b"[DONE]" not in out + last
