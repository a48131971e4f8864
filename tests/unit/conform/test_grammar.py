"""What the three grammars share: events out of bytes, and JSON read with suspicion."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.conform.chat_grammar import read_chat_stream
from anvil_trio.conform.grammar import (
    Frame,
    GrammarError,
    as_count,
    as_list,
    as_object,
    as_text,
    frames_in,
    named_events,
    parse_json,
)
from anvil_trio.conform.messages_grammar import read_messages_stream
from anvil_trio.conform.responses_grammar import read_responses_stream

_PLAIN = st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=5)
_WORDS = st.sampled_from([
    *("type", "delta", "index", "choices", "error", "message", "usage", "content", "id"),
    *("response", "item", "part", "text", "message_start", "content_block_start", "status"),
    *("response.created", "response.output_item.added", "output_index", "finish_reason", "object"),
    *("chat.completion.chunk", "tool_calls", "function", "role", "assistant", "content_block"),
])
_VALUES = st.recursive(
    _PLAIN | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=12,
)
_READERS = [read_chat_stream, read_messages_stream, read_responses_stream]


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"", []),
        (b"data: x\n\n", [Frame(None, b"x")]),
        (b"data:x\n\n", [Frame(None, b"x")]),
        (b"event: a\ndata: x\n\n", [Frame(b"a", b"x")]),
        (b": beat\ndata: x\n\n", [Frame(None, b"x")]),
        (b": beat\n\ndata: x\n\n:\n\n", [Frame(None, b"x")]),
        (b"event: a\n: beat\ndata: x\n\n", [Frame(b"a", b"x")]),
    ],
)
def test_events_are_found(stream, frames):
    """A name, one data line, and comments wherever SDKs pass over them."""
    assert list(frames_in(stream)) == frames


@pytest.mark.parametrize(
    "stream",
    [
        b"data: x",
        b"data: x\n",
        b"event: a\n\n",
        b"event: a\nevent: b\ndata: x\n\n",
        b"id: 1\ndata: x\n\n",
        b"data: x\ndata: y\n\n",
        b"data: x\n\n\n\n",
    ],
)
def test_what_is_no_event_is_refused(stream):
    """An event without its end, without data, or with other lines."""
    with pytest.raises(GrammarError):
        list(frames_in(stream))


@pytest.mark.parametrize("stream", [b'data: {"type":"a"}\n\n', b'event: b\ndata: {"type":"a"}\n\n'])
def test_named_events_have_the_name_of_their_type(stream):
    """No name and another name are refused alike."""
    with pytest.raises(GrammarError):
        list(named_events(stream))


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (as_object, {}, []),
        (as_list, [], {}),
        (as_text, "", None),
        (as_count, 0, -1),
        (as_count, 3, True),
        (as_count, 3, "3"),
    ],
)
def test_values_are_what_they_must_be(read, good, bad):
    """What is of another kind is refused, above all a boolean for a count."""
    assert read(good) == good
    with pytest.raises(GrammarError):
        read(bad)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"NaN", b"[" * 100_000, '"\ud800"'])
def test_what_is_not_json_is_refused(data):
    """Nothing else than GrammarError comes of it."""
    with pytest.raises(GrammarError):
        parse_json(data)


@pytest.mark.parametrize("read", _READERS)
@given(st.lists(_VALUES, max_size=5), st.booleans())
def test_whatever_a_server_sends_is_read_or_refused(read, values, is_named):
    """No stream of JSON makes a reader fail in another way than by its verdict."""
    stream = b""
    for value in values:
        kind = value.get("type") if isinstance(value, dict) else None
        name = f"event: {kind}\n" if is_named and isinstance(kind, str) else ""
        stream += f"{name}data: {json.dumps(value)}\n\n".encode()
    with suppress(GrammarError):
        read(stream + b"data: [DONE]\n\n")


@pytest.mark.parametrize("read", _READERS)
@given(st.binary(max_size=200))
def test_whatever_bytes_come_are_read_or_refused(read, data):
    """Nor do any bytes."""
    with suppress(GrammarError):
        read(data)
