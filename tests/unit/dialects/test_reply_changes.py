"""Every change that is made to a reply: docs/dialects.md names one test here for each."""

import json
from typing import Any

from anvil_trio.dialects.chat_reply import render_reply
from tests.unit.dialects.chats import (
    DONE,
    captured,
    choice,
    contents,
    delta,
    event,
    new_stream,
    served,
    translated,
)

CALLS = [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]


def test_nothing_else_of_a_reply_is_changed():
    """A stream that needs no change reaches the caller byte for byte, and so does a whole reply."""
    for name in ("llamacpp-text", "llamacpp-tools", "llamacpp-think", "vllm-text", "sglang-tools"):
        stream = new_stream("tiny", usage_wanted=True)
        whole = captured(f"{name}.sse")
        assert stream.feed(whole) + stream.close() == whole
    reply = captured("llamacpp-tools.json")
    assert render_reply(reply, "tiny").body == reply


def test_reply_model_is_the_callers_spelling():
    """In every event and in a whole reply; all other bytes stay."""
    stream = new_stream(" LLM.Primary", usage_wanted=True)
    whole = captured("vllm-tools.sse")
    assert stream.feed(whole) == whole.replace(b'"tiny"', b'" LLM.Primary"')
    reply = captured("sglang-tools.json")
    assert render_reply(reply, "a").body == reply.replace(b'"model":"tiny"', b'"model":"a"')


def test_usage_is_hidden_from_a_caller_who_did_not_ask():
    """The event that only holds counts is not forwarded, and counts elsewhere are cut out."""
    out = translated(captured("vllm-continuous.sse"))
    assert [one for one in out if one == DONE or "usage" in one] == [DONE]
    assert contents(out) == "Hello from a tiny model: café, 你好 🦙."
    assert all(one["choices"] for one in out[:-1])


def test_reasoning_content_is_added():
    """The engine's own field stays; `reasoning_content` joins it in events and in whole replies."""
    out = translated(captured("vllm-think.sse"))
    assert contents(out, "reasoning_content") == "\nLet me ponder briefly.\n"
    assert contents(out, "reasoning") == "\nLet me ponder briefly.\n"
    assert contents(out) == "\n\nForty-two."
    message = json.loads(render_reply(captured("vllm-think.json"), "a").body)["choices"][0][
        "message"
    ]
    assert message["reasoning_content"] == message["reasoning"] == "\nLet me ponder briefly.\n"


def test_tool_call_indexes_count_up_from_0():
    """A new id on a used index is a new call."""
    one = {**CALLS[0], "function": {"name": "f", "arguments": "{}"}}
    out = translated(
        delta({"tool_calls": [one]}),
        delta({"tool_calls": [{**one, "id": "b"}]}),
        delta(finish="tool_calls"),
    )
    calls = [chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in out[:2]]
    assert [(call["index"], call["id"]) for call in calls] == [(0, "a"), (1, "b")]


def test_object_arguments_become_a_string():
    """An object is serialised once, as its own text, in events and in whole replies."""
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"city": "Rome"}}}
    out = translated(delta({"tool_calls": [call]}), delta(finish="tool_calls"))
    said = out[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reply = json.dumps({"model": "m", "choices": [{"index": 0, "message": message}]}).encode()
    whole = json.loads(render_reply(reply, "a").body)["choices"][0]["message"]["tool_calls"][0]
    assert json.loads(said) == json.loads(whole["function"]["arguments"]) == {"city": "Rome"}


def test_missing_arguments_become_an_empty_object():
    """A call that ends without arguments gets `{}`, in a chunk before the finish reason."""
    out = translated(delta({"tool_calls": CALLS}), delta(finish="tool_calls"))
    filled = {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}
    assert out[1]["choices"] == [choice(filled)]
    assert (out[1]["id"], out[1]["created"], out[1]["model"]) == ("c1", 1, "llm.primary")
    assert out[2]["choices"] == [choice(finish="tool_calls")]
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": ""}}]}
    reply = json.dumps({"model": "m", "choices": [{"message": message}]}).encode()
    calls = json.loads(render_reply(reply, "a").body)["choices"][0]["message"]["tool_calls"]
    assert calls[0]["function"]["arguments"] == "{}"


def test_the_role_is_told_once():
    """In the first piece of each answer, whatever the engine does; a null later says nothing."""
    told = [{"role": "assistant", "content": "a"}, {"content": "b"}]
    for engine in (
        told,
        [{"content": "a"}, {"content": "b"}],
        [{"role": "assistant", **one} for one in told],
        [{"content": one["content"], "role": "assistant"} for one in told],
        [{"content": "a", "role": ""}, {"content": "b", "role": "assistant"}],
    ):
        for index in (0, 1):
            out = translated(*(delta(one, index=index) for one in engine))
            said = [one["choices"][0]["delta"] for one in out]
            assert said == told
    twice = {"role": "assistant", "content": "b", "x": {"role": 1, "delta": {}}}
    out = translated(delta(told[0]), delta(twice), delta({"role": None}))
    said = [one["choices"][0]["delta"] for one in out]
    assert said == [told[0], {"content": "b", "x": twice["x"]}, {"role": None}]


def test_a_chunk_has_what_clients_read():
    """`object`, `choices`, and of each choice `index` and `delta`: added where they are not."""
    whole = {"object": "chat.completion.chunk", "choices": [choice({"role": "assistant"})]}
    bare = {"finish_reason": None}
    poor: list[dict[str, Any]] = [
        whole,
        {"object": "chat.completion.chunk", "choices": [bare]},
        {"choices": [bare]},
        {"object": None, "choices": [{**bare, "index": None, "delta": None}]},
        {"object": "", "choices": [{**bare, "delta": {}}]},
    ]
    for engine in poor:
        assert translated(event(engine)) == [whole]
    for engine in ({"id": "c"}, {"id": "c", "choices": None}):
        assert translated(event(engine)) == [{**whole, "id": "c", "choices": []}]


def test_a_call_is_named_once():
    """Its first piece has the type, each piece a function; an id or a name that was told goes."""
    kind = {"index": 0, "type": "function"}
    first = {**kind, "id": "a", "function": {"name": "f", "arguments": "{"}}
    second = {"index": 0, "function": {"arguments": "}"}}
    for engine in (
        [first, second],
        [{**first, "type": None}, {**second, "type": "function"}],
        [first, {**second, "type": None}],
        [first, {**kind, "id": "a", "function": {"name": "f", "arguments": "}"}}],
    ):
        out = translated(*(delta({"tool_calls": [one]}) for one in engine))
        pieces = [one["choices"][0]["delta"]["tool_calls"][0] for one in out]
        assert pieces == [
            first,
            {**second, **({"type": "function"} if "type" in pieces[1] else {})},
        ]
    late = [{"index": 0, "function": {"arguments": "{}"}}, {"index": 0, "id": "a"}, {"index": 0}]
    out = translated(*(delta({"tool_calls": [one]}) for one in late))
    pieces = [one["choices"][0]["delta"]["tool_calls"][0] for one in out]
    assert pieces == [
        {**kind, "function": {"arguments": "{}"}},
        {"index": 0, "id": "a", "function": {}},
        {"index": 0, "function": {}},
    ]
    parts = [{"index": 0, "function": {"name": name}} for name in ("ab", "cd", "ab")]
    out = translated(*(delta({"tool_calls": [one]}) for one in parts))
    names = [one["choices"][0]["delta"]["tool_calls"][0]["function"] for one in out]
    assert names == [{"name": "ab"}, {"name": "cd"}, {}]


def test_framing_is_made_uniform():
    """Comments, names, ids and line ends go; an event is one data line and one blank line."""
    delta = b'"delta":{"role":"assistant","content":"ml"}}]}'
    kind = b'"object":"chat.completion.chunk","model":'
    chunk = b'{%b"m",\ndata: "choices":[{"index":0,%b' % (kind, delta)
    engine = b": c\n\nid: 1\nevent: x\ndata:" + chunk + b"\n\n"
    for end in (b"\n", b"\r\n", b"\r"):
        out = new_stream("a").feed(engine.replace(b"\n", end))
        assert out == b'data: {%b"a", "choices":[{"index":0,%b\n\n' % (kind, delta)


def test_done_is_added():
    """A stream that ends after its finish reason without `[DONE]` gets one."""
    stream = new_stream("tiny", usage_wanted=True)
    whole = captured("vllm-text.sse")
    cut = whole.removesuffix(b"data: [DONE]\n\n")
    assert stream.feed(cut) + stream.close() == whole


def test_a_missing_finish_reason_is_added():
    """`[DONE]` alone ends an answer as `stop`, or as `tool_calls` if there were calls."""
    stream = new_stream()
    out = served(stream, delta({"content": "a"}), b"data: [DONE]\n\n")
    assert out[1]["choices"] == [choice(finish="stop")]
    assert out[2:] == [DONE]
    assert stream.is_finish_reason_missing
    out = translated(delta({"tool_calls": CALLS}), b"data: [DONE]\n\n")
    assert [one["choices"][0]["finish_reason"] for one in out[:-1]] == [None, None, "tool_calls"]


def test_a_whole_reply_becomes_a_stream():
    """A JSON answer to a streaming request is cut into chunks, counts hidden or shown as asked."""
    for usage_wanted in (False, True):
        stream = new_stream(usage_wanted=usage_wanted)
        out = stream.feed_whole(captured("vllm-think.json"))
        *chunks, last = out.removesuffix(b"\n\n").split(b"\n\n")
        decoded = [json.loads(one.removeprefix(b"data: ")) for one in chunks]
        assert last == b"data: [DONE]"
        assert contents(decoded) == "\n\nForty-two."
        assert contents(decoded, "reasoning_content") == "\nLet me ponder briefly.\n"
        assert {one["object"] for one in decoded} == {"chat.completion.chunk"}
        assert [one for one in decoded if "usage" in one] == decoded[2:]
        assert len(decoded) == (3 if usage_wanted else 2)
    assert event(b"x") == b"data: x\n\n"
