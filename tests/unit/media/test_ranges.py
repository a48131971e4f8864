"""Which bytes of an artifact a reply holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.media.ranges import MAX_RANGE_BYTES, Span, Unsatisfied, read_span


def test_without_a_range_all_is_sent():
    """Up to the bound, the empty artifact too."""
    assert read_span(None, 10) == Span(0, 10, 10, is_whole=True)
    assert read_span(None, 0) == Span(0, 0, 0, is_whole=True)
    assert read_span(None, MAX_RANGE_BYTES) == Span(
        0, MAX_RANGE_BYTES, MAX_RANGE_BYTES, is_whole=True
    )


def test_what_is_too_large_at_once_says_so():
    """More than the bound is only had in ranges."""
    assert read_span(None, MAX_RANGE_BYTES + 1) == Unsatisfied(
        MAX_RANGE_BYTES + 1, is_too_large=True
    )


@pytest.mark.parametrize(
    ("asked", "span"),
    [
        ("bytes=0-0", Span(0, 1, 10)),
        ("bytes=2-5", Span(2, 4, 10)),
        ("bytes=9-", Span(9, 1, 10)),
        ("bytes=0-", Span(0, 10, 10)),
        ("bytes=4-100", Span(4, 6, 10)),
        (" BYTES=0-9 ", Span(0, 10, 10)),
    ],
)
def test_one_range_is_what_it_says(asked, span):
    """The last byte is included; what is beyond the end is cut."""
    assert read_span(asked, 10) == span


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "bytes",
        "bytes=-5",
        "bytes=5-4",
        "bytes=10-",
        "bytes=10-12",
        "bytes=0-1,3-4",
        "items=0-1",
        "bytes=a-b",
        "bytes=٣-٤",
        "bytes=0-1 2",
        "bytes=" + "9" * 19 + "-",
    ],
)
def test_every_other_range_is_refused(asked):
    """A suffix, a list, another unit, one that is backwards or past the end."""
    assert read_span(asked, 10) == Unsatisfied(10)


def test_nothing_of_an_empty_artifact_is_in_range():
    """It has no first byte."""
    assert read_span("bytes=0-", 0) == Unsatisfied(0)


def test_a_long_range_is_cut():
    """A reply has 16 MiB at the most and says which."""
    size = MAX_RANGE_BYTES * 2
    span = read_span("bytes=1-", size)
    assert span == Span(1, MAX_RANGE_BYTES, size)
    assert span.content_range == f"bytes 1-{MAX_RANGE_BYTES}/{size}"
    assert Unsatisfied(size).content_range == f"bytes */{size}"


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_a_span_never_leaves_the_artifact(start, last, size):
    """Whatever is asked, what is sent is inside, not empty and within the bound."""
    span = read_span(f"bytes={start}-{last}", size)
    if isinstance(span, Span):
        assert span.start == start
        assert 1 <= span.length <= MAX_RANGE_BYTES
        assert span.start + span.length <= min(size, last + 1)
    else:
        assert start >= size or last < start
