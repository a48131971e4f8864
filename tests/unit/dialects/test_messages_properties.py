"""What holds for every reply stream of a Messages caller, however it was cut and interleaved."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.ir import StreamTranslator
from tests.support.grammars import GrammarError, read_messages
from tests.unit.dialects.chats import captured, delta, event, patient
from tests.unit.dialects.messages import call, new_translator

_TEXTS = st.text(min_size=1, max_size=12)
_INPUTS = st.dictionaries(_TEXTS, st.integers() | _TEXTS | st.lists(_TEXTS), max_size=3)
_COUNTS = st.integers(0, 1_000_000)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The same bytes in pieces."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def fed(translator: StreamTranslator, reads: list[bytes]) -> bytes:
    """All that a caller gets, the engine closing its stream at the end."""
    out = b"".join(map(translator.feed, reads)) + translator.close()
    failure = translator.failure
    return out if failure is None else out + translator.terminal_error(failure)


def final(out: bytes) -> dict[str, Any]:
    """The final message without the id, which is of its own each time."""
    message = read_messages(out)
    message.pop("id", None)
    return message


@st.composite
def pieces_of_calls(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[list[bytes]]]:
    """Some calls, and for each the events that tell of it."""
    inputs = draw(st.lists(_INPUTS, min_size=1, max_size=4))
    told = []
    for number, given_input in enumerate(inputs):
        arguments = json.dumps(given_input)
        places = draw(st.lists(st.integers(1, len(arguments)), max_size=4))
        edges = sorted({0, *places, len(arguments)})
        parts = [arguments[a:b] for a, b in pairwise(edges)]
        first = delta(call(number, f"id{number}", name=f"f{number}", arguments=""))
        told.append([first, *(delta(call(number, arguments=part)) for part in parts)])
    return inputs, told


@patient
@given(pieces_of_calls(), st.randoms(use_true_random=False), st.lists(_TEXTS, max_size=2))
def test_any_interleaving_of_calls_gives_the_same_message(
    calls: tuple[list[dict[str, Any]], list[list[bytes]]], random: Any, texts: list[str]
):
    """Calls begin in their order; whose turn comes next is of no matter."""
    inputs, told = calls
    begun = [events[0] for events in told]
    lines = [list(events[1:]) for events in told]
    mixed = list(begun)
    while any(lines):
        mixed.append(random.choice([line for line in lines if line]).pop(0))
    before = [delta({"content": text}) for text in texts]
    stream = b"".join([*before, *mixed, delta(finish="tool_calls")])
    message = final(fed(new_translator(), [stream]))
    expected: list[dict[str, Any]] = [{"type": "text", "text": "".join(texts)}] if texts else []
    expected += [
        {"type": "tool_use", "id": f"id{number}", "name": f"f{number}", "input": given_input}
        for number, given_input in enumerate(inputs)
    ]
    assert message["content"] == expected
    assert message["stop_reason"] == "tool_use"


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """What an engine may send: thoughts, text and calls in any order, an end, and counts."""
    events = []
    number = 0
    for kind in draw(st.lists(st.sampled_from(["text", "thought", "call"]), max_size=6)):
        if kind == "call":
            arguments = json.dumps(draw(_INPUTS))
            events.append(delta(call(number, f"id{number}", name="f", arguments=arguments)))
            number += 1
        else:
            member = "content" if kind == "text" else "reasoning_content"
            events.append(delta({member: draw(_TEXTS)}))
    events.append(delta(finish=draw(st.sampled_from(["stop", "length", "tool_calls"]))))
    counts = {"prompt_tokens": draw(_COUNTS), "completion_tokens": draw(_COUNTS)}
    details = {"prompt_tokens_details": {"cached_tokens": draw(_COUNTS)}}
    events.append(event({"choices": [], "usage": {**counts, **details}}))
    if draw(st.booleans()):
        events.append(b"data: [DONE]\n\n")
    return b"".join(events)


@patient
@given(streams(), st.lists(st.integers(0, 5000), max_size=8))
def test_any_cut_gives_the_same_message(stream: bytes, places: list[int]):
    """Reads end where they like; every stream has the whole grammar."""
    whole = final(fed(new_translator(), [stream]))
    assert "error" not in whole
    assert final(fed(new_translator(), cut(stream, places))) == whole
    usage = whole["usage"]
    assert usage["input_tokens"] >= 0
    assert usage["input_tokens"] + usage["cache_read_input_tokens"] >= 0


@pytest.mark.parametrize(
    "name", ["llamacpp-tools.sse", "vllm-tools.sse", "sglang-tools.sse", "vllm-think.sse"]
)
def test_every_cut_of_a_captured_stream_gives_the_same_message(name: str):
    """All two-way splits of what real engines sent."""
    stream = captured(name)
    whole = final(fed(new_translator(), [stream]))
    step = max(1, len(stream) // 400)
    for place in range(0, len(stream), step):
        assert final(fed(new_translator(), [stream[:place], stream[place:]])) == whole


@patient
@given(streams(), st.data())
def test_a_stream_cut_off_ends_in_an_error_or_well(stream: bytes, data: st.DataObject):
    """An engine that leaves before its reason is an error frame; after it, a whole message."""
    end = data.draw(st.integers(0, len(stream)))
    out = fed(new_translator(), [stream[:end]])
    message = final(out)
    if b'"finish_reason":"' not in stream[:end]:
        assert message["error"]["type"] == "api_error"


@patient
@given(st.lists(st.binary(max_size=40) | st.sampled_from([delta({"content": "x"}), b"\n\n"])))
def test_no_bytes_break_a_translator(reads: list[bytes]):
    """Whatever an engine sends, what leaves is in the grammar."""
    read_messages(fed(new_translator(), reads))


@patient
@given(streams(), st.integers(0, 60), st.sampled_from(["drop", "twice", "swap"]))
def test_the_checker_rejects_broken_streams(stream: bytes, place: int, how: str):
    """A frame that is missing, doubled or out of its place is seen, unless it says nothing."""
    out = fed(new_translator(), [stream])
    frames = [frame + b"\n\n" for frame in out.split(b"\n\n")[:-1]]
    at = place % len(frames)
    silent = (b"event: ping", b"event: content_block_delta")
    after = (at + 1) % len(frames)
    if frames[at].startswith(silent) or (how == "swap" and frames[after].startswith(silent)):
        return
    if how == "drop":
        del frames[at]
    elif how == "twice":
        frames.insert(at, frames[at])
    else:
        frames[at], frames[after] = frames[after], frames[at]
    with pytest.raises(GrammarError):
        read_messages(b"".join(frames))


def test_the_checker_rejects_deltas_of_the_wrong_kind():
    """Thoughts in a block of text, deltas for another block, and half events."""
    out = fed(new_translator(), [delta({"content": "x"}), delta(finish="stop")])
    broken = [
        out.replace(b'"text_delta","text"', b'"thinking_delta","thinking"'),
        out.replace(b'"index":0,"delta"', b'"index":1,"delta"'),
        out.replace(b'"index":0', b'"index":1'),
        out.replace(b"event: content_block_delta\n", b""),
        out.replace(b"event: content_block_delta", b"event: content_block_stop"),
        out.replace(b'"end_turn"', b'"done"'),
        out.replace(b'"end_turn"', b'"stop_sequence"'),
        out.replace(b'"output_tokens":1', b'"output_tokens":-1'),
        out.removesuffix(b"\n"),
        out + out,
        b"",
    ]
    for stream in broken:
        assert stream != out
        with pytest.raises(GrammarError):
            read_messages(stream)
