"""The readers of Messages and Responses: a good stream is read, and every bend of it is refused."""

import json

import pytest

from tests.support.grammars import GrammarError, check_responses, read_messages
from tests.unit.conform.streams import MESSAGES_STREAM, RESPONSES_STREAM, named

TOOL = {"type": "tool_use", "id": "a", "name": "f", "input": {}}


def messages(*blocks, reason="end_turn", usage=None):
    """A Messages stream of these blocks: how each starts, and its deltas."""
    head = json.loads(MESSAGES_STREAM.split(b"data: ")[1].split(b"\n")[0])
    events = [head]
    for index, (start, deltas) in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": one} for one in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    delta = {"stop_reason": reason, "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": delta, "usage": usage or {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return named(*events)


def called(partial, reason="tool_use"):
    """A call with these arguments."""
    deltas = [{"type": "input_json_delta", "partial_json": partial}] if partial else []
    return messages((TOOL, deltas), reason=reason)


def test_a_message_is_put_together():
    """Text, thoughts with their signature, and the input of a call."""
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    told = [
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "s"},
    ]
    found = read_messages(messages((thought, told), (TOOL, []), reason="tool_use"))
    assert found["content"] == [{**thought, "thinking": "hm", "signature": "s"}, TOOL]
    assert found["usage"] == {"input_tokens": 3, "output_tokens": 2}
    (block,) = read_messages(called('{"x":1}'))["content"]
    assert block["input"] == {"x": 1}


def test_a_cut_call_stays_text_where_the_message_says_that_it_was_cut():
    """Where it says otherwise the stream lies."""
    (block,) = read_messages(called('{"x', "max_tokens"))["content"]
    assert block["input"] == '{"x'
    with pytest.raises(GrammarError, match="cut call"):
        read_messages(called('{"x'))


def test_an_error_ends_a_stream():
    """Wherever it comes; one that says nothing does not."""
    error = {"type": "error", "error": {"type": "a", "message": "b"}}
    assert read_messages(named(error)) == {"error": error["error"]}
    with pytest.raises(GrammarError):
        read_messages(named({"type": "error", "error": {"type": "", "message": "b"}}))


TEXT = {"type": "text", "text": ""}


@pytest.mark.parametrize(
    "stream",
    [
        messages(({"type": "image"}, [])),
        messages(({**TEXT, "text": "x"}, [])),
        messages(({"type": "text"}, [])),
        messages((TEXT, [{"type": "thinking_delta", "thinking": "x"}])),
        messages((TEXT, [{"type": "text_delta"}])),
        messages((TOOL, []), (TOOL, [])),
        messages(({**TOOL, "name": ""}, [])),
        messages(reason="weird"),
        messages(reason="stop_sequence"),
        messages(usage={"output_tokens": -1}),
        MESSAGES_STREAM.replace(b'"index":0', b'"index":1'),
        MESSAGES_STREAM.replace(b'"role":"assistant"', b'"role":"user"'),
        MESSAGES_STREAM.replace(b'"input_tokens":3', b'"input_tokens":-3'),
        MESSAGES_STREAM.replace(b'"id":"msg_1"', b'"id":""'),
        MESSAGES_STREAM.replace(b"content_block_stop", b"content_block_halt"),
    ],
    ids=range(15),
)
def test_a_bent_message_is_refused(stream):
    """Unknown kinds, blocks that do not start empty, deltas of another kind, and so on."""
    assert stream != MESSAGES_STREAM
    with pytest.raises(GrammarError):
        read_messages(stream)


@pytest.mark.parametrize(
    ("read", "stream"),
    [(read_messages, MESSAGES_STREAM), (check_responses, RESPONSES_STREAM)],
    ids=["messages", "responses"],
)
def test_no_event_can_be_left_out_doubled_or_swapped(read, stream):
    """But for pings and pieces of text."""
    events = [one + b"\n\n" for one in stream.split(b"\n\n")[:-1]]
    read(b"".join(events))
    for at, one in enumerate(events):
        if b"event: ping" in one or b"content_block_delta" in one:
            continue
        for bent in (
            [*events[:at], *events[at + 1 :]],
            [*events[: at + 1], *events[at:]],
            [*events[:at], *events[at + 1 : at + 2], one, *events[at + 2 :]],
        ):
            if bent != events:
                with pytest.raises(GrammarError):
                    read(b"".join(bent))


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (b'"metadata":{},', b""),
        (b'"status":"completed"', b'"status":"failed"'),
        (b'"total_tokens":5', b'"total_tokens":6'),
        (b'"delta":"Hi there."', b'"delta":""'),
        (b'"delta":"Hi there."', b'"delta":"Hi"'),
        (b'"item_id":"i"', b'"item_id":"j"'),
        (b'"content_index":0', b'"content_index":1'),
        (b'"output_index":0', b'"output_index":1'),
        (b'"type":"output_text","text":""', b'"type":"refusal","text":""'),
        (b"response.output_text.delta", b"response.output_text.other"),
        (b"response.output_text.delta", b"response.function_call_arguments.delta"),
        (b"response.output_text.delta", b"response.reasoning_text.delta"),
        (b'"model":"m"', b'"model":"n"'),
        (b'"usage":null', b'"usage":{}'),
    ],
    ids=range(14),
)
def test_a_bent_response_is_refused(now, then):
    """Every member that some client relies on."""
    assert now in RESPONSES_STREAM
    with pytest.raises(GrammarError):
        check_responses(RESPONSES_STREAM.replace(now, then, 1))


def test_a_call_is_read_and_every_bend_of_it_refused():
    """Its arguments are done exactly if they are whole, and belong to it."""
    item = {"id": "i", "type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    item["status"] = "in_progress"
    done = {**item, "arguments": "{}", "status": "completed"}
    at = {"item_id": "i", "output_index": 0}
    arguments = "response.function_call_arguments"
    events = [json.loads(one.split(b"data: ")[1]) for one in RESPONSES_STREAM.split(b"\n\n")[:-1]]
    first, second, *_, last = events
    last["response"]["output"] = [done]
    middle = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": f"{arguments}.delta", **at, "delta": "{}"},
        {"type": f"{arguments}.done", **at, "arguments": "{}"},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
    ]

    def stream(*steps):
        told = [first, second, *steps, last]
        return named(*({**one, "sequence_number": at} for at, one in enumerate(told)))

    assert check_responses(stream(*middle)).response["output"] == [done]
    added, delta, whole, closed = middle
    for steps in (
        [{**added, "item": {**item, "name": ""}}, delta, whole, closed],
        [{**added, "item": {**item, "arguments": "{"}}, delta, whole, closed],
        [added, delta, closed],
        [added, delta, {**whole, "type": "response.other.done"}, closed],
        [added, delta, {**whole, "type": f"{arguments}.other"}, closed],
        [delta, whole],
        [added, delta, whole, {**closed, "item": {**done, "call_id": "d"}}],
        [added, delta, whole, {**closed, "item": {**done, "arguments": "{ }"}}],
    ):
        with pytest.raises(GrammarError):
            check_responses(stream(*steps))
