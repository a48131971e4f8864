"""The SSE decoder: what is an event, and what is not."""

import tracemalloc
from collections import deque
from itertools import repeat

import pytest

from anvil_trio.dialects.sse import SseDecoder, SseEvent, SseTooLong, render_event


def decoded(*reads: bytes, cap: int = 1024) -> list[SseEvent]:
    """All events of a stream that comes in these reads and then ends."""
    decoder = SseDecoder(cap)
    events = [event for read in reads for event in decoder.feed(read)]
    last = decoder.finish()
    return events if last is None else [*events, last]


def data_of(*reads: bytes) -> list[bytes]:
    """Their data."""
    return [event.data for event in decoded(*reads)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_lf_crlf_or_cr(end: bytes):
    """All three line ends give the same events."""
    assert data_of(b"data: {1}\n\ndata: x\n\n".replace(b"\n", end)) == [b"{1}", b"x"]


def test_line_ends_may_be_mixed():
    """Each line of one stream may end in its own way."""
    assert data_of(b"data: a\r\n\ndata: b\n\r\ndata: c\r\r") == [b"a", b"b", b"c"]


def test_a_lf_after_a_cr_of_the_read_before_belongs_to_it():
    """A CRLF cut in two is one line end, so no event is split."""
    assert data_of(b"data: a\r", b"\ndata: b\r", b"\n", b"\r", b"\ndata: c\n\n") == [b"a\nb", b"c"]


def test_a_cr_counts_at_once():
    """An event that ends in a bare CR is given without waiting for the next read."""
    decoder = SseDecoder(64)
    assert [event.data for event in decoder.feed(b"data: a\r\r")] == [b"a"]
    assert decoder.feed(b"") == []
    assert [event.data for event in decoder.feed(b"\ndata: b\n\n")] == [b"b"]


def test_one_space_after_the_colon_is_no_part_of_the_value():
    """`data:x` and `data: x` are the same, and a second space is kept."""
    assert data_of(b"data:x\n\ndata: x\n\ndata:  x\n\n") == [b"x", b"x", b" x"]


def test_comments_are_dropped():
    """A comment is no event, alone or among the lines of one."""
    assert data_of(b":\n\n: working\n\n:\n\ndata: a\n: b\n\n: beat\ndata: {c}\n\n") == [
        b"a",
        b"{c}",
    ]


def test_events_without_data_are_dropped():
    """Blank lines, other fields alone and empty data give no event."""
    assert data_of(b"\n\n\n\nid: 7\n\nretry: 1\n\nevent: x\n\ndata:\n\ndata\n\ndata: a\n\n") == [
        b"a"
    ]


def test_several_data_lines_are_joined_by_lf():
    """One event may spread its data over several lines."""
    assert data_of(b'data: {"a":\ndata: 1}\n\n') == [b'{"a":\n1}']


def test_event_names_are_kept_and_other_fields_tolerated():
    """The name comes with the event; id, retry and unknown fields are read past."""
    assert decoded(b"event: error\nid: 1\nretry: 2\nx: y\ndata: {}\n\n") == [
        SseEvent("error", b"{}")
    ]


def test_a_byte_order_mark_is_dropped_once():
    """A mark begins a stream, whole or cut; a second one is no field name that we know."""
    for cut in range(4):
        stream = b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n"
        assert data_of(stream[:cut], stream[cut:]) == [b"a", b"c"]


def test_what_only_begins_like_a_byte_order_mark_is_kept():
    """Two bytes of a mark and then something else are bytes of the stream."""
    assert data_of(b"\xef", b"\xbb", b"x: 1\n\ndata: a\n\n") == [b"a"]


def test_the_end_of_the_stream_may_stand_for_the_last_blank_line():
    """What was left unfinished is given at the end, and given once."""
    decoder = SseDecoder(64)
    assert decoder.feed(b"data: a\n\ndata: b") == [SseEvent(None, b"a")]
    assert decoder.finish() == SseEvent(None, b"b")
    assert decoder.finish() is None


def test_a_blank_line_may_come_in_the_next_read():
    """The two line ends of a blank line may be in two reads."""
    assert data_of(b"data: a\n", b"\n", b"data: b", b"\n", b"\ndata: c\n\n") == [b"a", b"b", b"c"]


def test_an_event_as_long_as_the_cap_passes():
    """The cap is the longest event, not the first one refused."""
    assert data_of(b"data: " + b"x" * 1018 + b"\n\n") == [b"x" * 1018]


@pytest.mark.parametrize("size", [7, 64, 100_000])
def test_an_event_over_the_cap_is_refused_with_those_before_it(size: int):
    """However it is cut, the good events come with the refusal."""
    stream = b"data: good\n\ndata: " + b"x" * 2000 + b"\n\ndata: late\n\n"
    decoder = SseDecoder(1024)
    seen: list[SseEvent] = []
    try:
        for start in range(0, len(stream), size):
            seen += decoder.feed(stream[start : start + size])
    except SseTooLong as refused:
        seen += refused.events
    assert seen == [SseEvent(None, b"good")]


def test_an_event_that_never_ends_is_refused_while_it_is_read():
    """Bytes without a line end are counted too, and no more than the cap is held."""
    decoder = SseDecoder(1024)
    for _ in range(10):
        decoder.feed(b"x" * 100)
    with pytest.raises(SseTooLong):
        decoder.feed(b"x" * 100)
    assert sum(map(len, decoder._parts)) <= 1024


def test_memory_stays_within_the_cap_and_a_read():
    """Of an event that never ends no more is ever allocated than the cap and 256 KiB."""
    cap, read = 1 << 20, b"x" * 65_536
    tracemalloc.start()
    try:
        decoder = SseDecoder(cap)
        with pytest.raises(SseTooLong):
            deque(map(decoder.feed, repeat(read)), maxlen=0)
        assert tracemalloc.get_traced_memory()[1] <= cap + (256 << 10)
    finally:
        tracemalloc.stop()


def test_a_long_event_in_small_reads_is_gathered_in_few_pieces():
    """An event of many small reads costs no more memory than its bytes."""
    decoder = SseDecoder(1 << 20)
    for _ in range(5000):
        decoder.feed(b"x" * 100)
    assert len(decoder._parts) <= 500_000 // 8192
    assert decoder.feed(b"\n\n") == []


def test_an_event_is_rendered_as_one_data_line():
    """What is rendered is decoded to the same data."""
    assert render_event(b"{}") == b"data: {}\n\n"
    assert data_of(render_event(b'{"a":1}')) == [b'{"a":1}']
