"""The same stream gives the same events, however it is cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.sse import SseDecoder, SseEvent
from tests.unit.dialects.chats import captured, patient

FIXTURES = {
    "llamacpp": captured("llamacpp-text.sse")[:900] + captured("llamacpp-text.sse")[-30:],
    "vllm": captured("vllm-think.sse")[:1300],
    "crlf": captured("sglang-text.sse")[-900:].replace(b"\n", b"\r\n"),
    "cr": captured("sglang-text.sse")[-600:].replace(b"\n", b"\r"),
    "mixed": b"\xef\xbb\xbf: c\r\n\r\ndata:a\r\rdata: b\ndata: c\n\n\n\n"
    b"event: e\rdata:\xc3\xa9\r\n\r\n",
    "unfinished": b"data: a\r\n\r\ndata: b\r\n",
}


def events_of(reads: list[bytes]) -> list[SseEvent]:
    """All events of a stream that comes in these reads and then ends."""
    decoder = SseDecoder(65_536)
    events = [event for read in reads for event in decoder.feed(read)]
    last = decoder.finish()
    return events if last is None else [*events, last]


@pytest.mark.parametrize("name", FIXTURES)
def test_all_ways_to_cut_a_stream_in_two_give_the_same_events(name: str):
    """Every two-way split of each fixture, the empty ones included."""
    whole = FIXTURES[name]
    expected = events_of([whole])
    assert expected
    for cut in range(len(whole) + 1):
        assert events_of([whole[:cut], whole[cut:]]) == expected, cut


@pytest.mark.parametrize("name", FIXTURES)
def test_single_bytes_give_the_same_events(name: str):
    """A stream that drips byte by byte."""
    whole = FIXTURES[name]
    assert events_of([bytes([byte]) for byte in whole]) == events_of([whole])


LINES = st.sampled_from([
    *(b"", b"", b":", b": c", b"data: {x}", b"data:y", b"data", b"event: e", b"id: 1"),
    *("data: é🦙".encode(), b"\xef\xbb\xbf", b"nonsense"),
])
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=30).map(
    lambda lines: b"".join(text + end for text, end in lines)
)


@patient
@given(STREAMS, st.lists(st.integers(0, 200), max_size=8))
def test_any_cuts_of_any_stream_give_the_same_events(stream: bytes, cuts: list[int]):
    """Random lines, line ends and cuts."""
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    reads = [stream[a:b] for a, b in pairwise(edges)]
    assert events_of(reads) == events_of([stream])


@patient
@given(st.lists(st.binary(max_size=20), max_size=10))
def test_no_bytes_break_the_decoder(reads: list[bytes]):
    """Whatever comes, the decoder gives events or none, and the same for all of it at once."""
    assert events_of(reads) == events_of([b"".join(reads)])
