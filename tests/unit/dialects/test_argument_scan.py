"""Finding the end of a tool call's arguments while they stream."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.argument_scan import ArgumentScan
from tests.unit.dialects.chats import patient


def scanned(*pieces: str) -> ArgumentScan:
    """A scan that was fed these pieces."""
    scan = ArgumentScan()
    for piece in pieces:
        scan.feed(piece)
    return scan


@pytest.mark.parametrize(
    ("text", "is_whole", "is_cut"),
    [
        ("", False, False),
        (" ", False, False),
        ("{}", True, False),
        (" {} ", True, False),
        ('{"a":"}"}', True, False),
        ('{"a":"\\"}"', False, True),
        ('{"a":"\\\\"}', True, False),
        ('{"a":[{}', False, True),
        ("[1, 2]", True, False),
        ("12", False, False),
        ("null", False, False),
        ('"x"', False, False),
        ('"{}"', False, False),
    ],
)
def test_the_end_is_seen(text: str, is_whole: bool, is_cut: bool):
    """Brackets within strings and escaped quotes do not count; bare values have no end."""
    for pieces in ([text], list(text)):
        scan = scanned(*pieces)
        assert (scan.is_whole, scan.is_cut) == (is_whole, is_cut)


def test_nothing_more_is_nothing():
    """An empty piece changes nothing, not even after a backslash."""
    scan = scanned('{"a":"\\', "", '"')
    assert scan.is_cut
    scan.feed('"}')
    assert scan.is_whole


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='"\\{}[]ab'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='"\\{}'), inner),
    max_leaves=8,
)


@patient
@given(st.dictionaries(st.text(), _VALUES), st.lists(st.integers(0, 60)))
def test_an_object_is_whole_at_its_last_character_only(value: dict[str, object], cuts: list[int]):
    """However it is cut, every proper beginning is cut and the whole is whole."""
    text = json.dumps(value)
    edges = [0, *sorted(cut % len(text) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    assert scanned(*pieces).is_whole
    assert scanned(text[:-1]).is_cut
