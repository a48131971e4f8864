"""When the pieces of a stream came."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.sse import SseDecoder
from anvil_trio.evals import token_clock
from anvil_trio.evals.token_clock import TokenClock
from tests.support.answers import CHAT_EVENTS, COUNTS, chunk, events
from tests.unit.conform.streams import MESSAGES_STREAM

STREAM = events(*CHAT_EVENTS, COUNTS).body


def test_only_events_that_say_something_are_pieces():
    """A role, an end and counts are none."""
    clock = TokenClock()
    assert clock.hear(1.5, STREAM)
    assert (clock.first_s, clock.gaps_s, clock.pieces) == (1.5, [0.0], 2)
    assert clock.completion_tokens == 2


def test_gaps_are_between_pieces():
    """However much time passed before the first and after the last."""
    clock = TokenClock()
    assert (clock.first_s, clock.pieces) == (None, 0)
    for now, event in enumerate(STREAM.split(b"\n\n")[:-1]):
        clock.hear(now * 2.0, event + b"\n\n")
    assert (clock.first_s, clock.gaps_s, clock.pieces) == (2.0, [2.0], 2)


@pytest.mark.parametrize(
    "delta", [{"tool_calls": [{"index": 0}]}, {"reasoning_content": "hm"}, {"reasoning": "hm"}]
)
def test_calls_and_thoughts_are_pieces(delta):
    """Whatever a client would show."""
    clock = TokenClock()
    clock.hear(1.0, events(chunk(delta)).body)
    assert clock.pieces == 1


def test_messages_are_followed_too():
    """Their deltas are pieces, and their own count is taken."""
    clock = TokenClock()
    clock.hear(1.0, MESSAGES_STREAM)
    assert (clock.pieces, clock.completion_tokens) == (2, 2)


@given(st.lists(st.integers(0, len(STREAM)), max_size=5))
def test_how_a_stream_is_cut_changes_no_piece(cuts):
    """Bytes may come in any reads."""
    clock, edges = TokenClock(), [0, *sorted(cuts), len(STREAM)]
    for start, end in pairwise(edges):
        clock.hear(1.0, STREAM[start:end])
    assert (clock.pieces, clock.completion_tokens) == (2, 2)


@pytest.mark.parametrize(
    "data",
    [
        b"data: {\n\n",
        b"data: []\n\n",
        b'data: {"choices": 1, "usage": 1}\n\n',
        b'data: {"choices": [1, {"delta": 1}], "usage": {"completion_tokens": -1}}\n\n',
    ],
)
def test_what_is_no_event_of_a_dialect_is_passed_over(data):
    """Nothing is raised, nothing is counted."""
    clock = TokenClock()
    assert clock.hear(1.0, data)
    assert (clock.pieces, clock.completion_tokens) == (0, None)


def test_an_endless_event_ends_the_counting(monkeypatch):
    """What came before it counts; nothing after it does."""
    monkeypatch.setattr(token_clock, "SseDecoder", lambda _most: SseDecoder(400))
    clock = TokenClock()
    assert clock.hear(1.0, events(chunk({"content": "Hi"}), end="data: " + "x" * 500).body)
    assert clock.hear(2.0, STREAM)
    assert clock.pieces == 1
