"""What Messages engines leave out or get wrong, mended for Messages callers, or refused."""

import json

import pytest

from anvil_trio.dialects.anthropic_messages import MESSAGES
from anvil_trio.dialects.ir import StreamTranslator
from anvil_trio.errors import Code, UpstreamFailed, problem
from tests.support.grammars import events_of, read_messages
from tests.unit.dialects.anthropic import (
    begun,
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


def relay() -> StreamTranslator:
    """A fresh translator for one stream."""
    return MESSAGES.translator(asked(stream=True), engine_tier(), 65_536)


def relayed(data: bytes) -> bytes:
    """What a caller gets of a stream that ends well."""
    translator = relay()
    out = translator.feed(data) + translator.close()
    assert translator.failure is None
    return out


@pytest.mark.parametrize("member", ["message", "content_block", "delta"])
def test_an_event_without_its_object_says_nothing(member: str):
    """A null or nothing where the content should be is never handed on, and breaks nothing."""
    kind = {"message": "message_start"}.get(
        member, f"content_block_{'start' if member == 'content_block' else 'delta'}"
    )
    for odd in (event(kind, index=0, **{member: None}), event(kind, index=0)):
        opening = odd if member == "message" else START + odd
        out = relayed(opening + said("x") + ended(output_tokens=1))
        message = read_messages(out)
        assert message["content"] == [{"type": "text", "text": "x"}]
        assert message["model"] == "llm.primary"


def test_a_stream_without_its_start_is_given_one():
    """Clients take anything else that comes first for a fault; a start that comes later is none."""
    for late in (b"", START):
        out = relayed(said("x") + late + ended(output_tokens=1))
        message = read_messages(out)
        assert message["content"] == [{"type": "text", "text": "x"}]
        assert message["model"] == "llm.primary"


def test_a_start_is_completed():
    """With what clients read of it: an id, who speaks, counts."""
    for usage in ({}, {"usage": None}, {"usage": 7}, {"usage": {"output_tokens": 0}}):
        opening = event("message_start", message={"model": "served", **usage})
        message = read_messages(relayed(opening + said("x") + ended(output_tokens=1)))
        assert message["id"].startswith("msg_")
        start = events_of(relayed(opening + said("x") + ended(output_tokens=1)))[0]["message"]
        assert (start["type"], start["role"]) == ("message", "assistant")
        assert start["usage"].keys() == {"input_tokens", "output_tokens"}


def test_an_end_is_completed():
    """With a reason, if only null, and a count."""
    early = event("message_delta") + event("message_delta", delta={}, usage=7)
    *_, one, two, _, _ = events_of(relayed(START + said("x") + early + ended(output_tokens=1)))
    for told in (one, two):
        assert told["delta"] == {"stop_reason": None, "stop_sequence": None}
        assert told["usage"] == {"output_tokens": 0}


def test_blocks_are_completed():
    """A text and a thought begin with what is then added to."""
    data = (
        begun(0, "thinking")
        + more(0, "thinking", "hm")
        + begun(1, "text", text=None)
        + more(1, "text", "x")
    )
    message = read_messages(relayed(START + data + ended(output_tokens=1)))
    assert [one.get("thinking", one.get("text")) for one in message["content"]] == ["hm", "x"]


def test_calls_have_ids_of_their_own():
    """A call without an id, or with that of another, is given one, streamed or whole."""
    ids: tuple[dict[str, str], ...] = ({}, {"id": "a"}, {"id": "a"}, {"id": ""})
    calls = b"".join(
        begun(at, "tool_use", name="f", **one) + more(at, "input_json", "{}") + stopped(at)
        for at, one in enumerate(ids)
    )
    streamed = read_messages(relayed(START + calls + ended("tool_use", output_tokens=1)))
    content = [{"type": "tool_use", "name": "f", "input": {}, **one} for one in ids]
    body = json.dumps({"content": content, "stop_reason": "tool_use"}).encode()
    whole = json.loads(MESSAGES.render_reply(body, asked(), engine_tier()).body)
    for message in (streamed, whole):
        given = [one["id"] for one in message["content"]]
        assert all(given)
        assert len(set(given)) == 4
        assert given[1] == "a"


def test_names_and_numbers_that_are_missing_are_added():
    """An event named only outside gets its type, and one without an index that of its block."""
    data = (
        b'event: content_block_start\ndata: {"content_block":{"type":"text"}}\n\n'
        b'event: content_block_delta\ndata: {"delta":{"type":"text_delta","text":"x"}}\n\n'
        b"event: content_block_stop\ndata: {}\n\n"
    )
    message = read_messages(relayed(START + data + ended(output_tokens=1)))
    assert message["content"] == [{"type": "text", "text": "x"}]


def test_nothing_is_added_after_the_end():
    """What an engine says after its stop reason is no part of the answer."""
    end = ended("tool_use", output_tokens=1)
    late = said("late", 5) + begun(6, "tool_use", id="b", name="g") + more(6, "input_json", '{"x')
    at = end.index(b"event: message_stop")
    out = relayed(START + said("x") + end[:at] + late + end[at:])
    assert read_messages(out)["content"] == [{"type": "text", "text": "x"}]


@pytest.mark.parametrize("kind", ["message_start", "content_block_start", "content_block_delta"])
def test_an_event_of_any_depth_is_passed_or_refused(kind: str):
    """Also one that can just be read, and not be written anew."""
    parts = {
        "message_start": '"message":{}',
        "content_block_start": '"index":1,"content_block":{"type":"tool_use","name":"f"}',
        "content_block_delta": '"index":9,"delta":{"type":"text_delta","text":"x"}',
    }
    seen = set()
    for depth in range(800, 1000):
        deep = "[" * depth + "]" * depth
        data = f'event: {kind}\ndata: {{"type":"{kind}",{parts[kind]},"deep":{deep}}}\n\n'.encode()
        translator = relay()
        translator.feed(START + data if kind != "message_start" else data)
        seen.add(translator.failure)
    assert seen == {None, problem(Code.UPSTREAM_ERROR)}


def test_a_whole_reply_of_any_depth_is_passed_or_refused():
    """Never anything but a reply or the failure that a caller can be told."""
    seen = set()
    for depth in range(800, 1000):
        deep = "[" * depth + "]" * depth
        content = f'[{{"type":"tool_use","name":"f","input":{{"deep":{deep}}}}}]'
        body = f'{{"content":{content},"stop_reason":"end_turn"}}'.encode()
        try:
            MESSAGES.render_reply(body, asked(), engine_tier())
        except UpstreamFailed:
            seen.add("refused")
        else:
            seen.add("passed")
    assert seen == {"passed", "refused"}


def test_a_whole_reply_is_completed():
    """With all that a reply of ours has; without a reason it ended well."""
    for odd in (None, 7):
        body = {"content": [{"type": "text"}], "usage": odd, "stop_reason": None}
        made = json.loads(
            MESSAGES.render_reply(json.dumps(body).encode(), asked(), engine_tier()).body
        )
        assert made["id"].startswith("msg_")
        assert (made["type"], made["role"], made["model"]) == (
            "message",
            "assistant",
            "llm.primary",
        )
        assert (made["stop_reason"], made["stop_sequence"]) == ("end_turn", None)
        assert made["usage"].keys() == {"input_tokens", "output_tokens"}
        assert made["content"] == [{"type": "text", "text": ""}]
    call = {"content": [{"type": "tool_use", "name": "f"}]}
    made = json.loads(MESSAGES.render_reply(json.dumps(call).encode(), asked(), engine_tier()).body)
    assert made["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("text_delta", "text"),
        ("thinking_delta", "thinking"),
        ("signature_delta", "signature"),
        ("input_json_delta", "partial_json"),
    ],
)
def test_a_delta_without_its_text_is_dropped(kind: str, member: str):
    """Clients add what is not there to what they have; a delta of a kind nobody knows is kept."""
    for odd in ({}, {member: None}):
        hollow = event("content_block_delta", index=0, delta={"type": kind, **odd})
        new = event("content_block_delta", index=0, delta={"type": "new_delta"})
        data = begun(0, "text", text="") + hollow + new + more(0, "text", "x") + stopped(0)
        out = relayed(START + data + ended(output_tokens=1))
        deltas = [one["delta"] for one in events_of(out) if one["type"] == "content_block_delta"]
        assert deltas == [{"type": "new_delta"}, {"type": "text_delta", "text": "x"}]
