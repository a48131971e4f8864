"""The file of intents, format version 1."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.intent.document import MAX_STATE_BYTES, CorruptState, parse_state, render_state
from anvil_trio.intent.intents import Intents
from anvil_trio.names import MemberId, TierId

ONE, A = TierId("one"), MemberId("a")
WHOLE = {
    "version": 1,
    "tiers": {"one": {"state": "quiesced", "reason": "upgrade"}},
    "members": {"one": {"a": "disk"}},
}
INTENTS = Intents().quiesced(ONE, None, "upgrade").quiesced(ONE, A, "disk")

names = st.text(min_size=1).filter(lambda text: text.isprintable())
reasons = st.from_regex(r"[A-Za-z0-9_.-]{1,128}", fullmatch=True)
targets = st.tuples(names, st.none() | names)


def test_version_1_is_read():
    """A tier's entry has a state and a reason, a member's is its reason."""
    assert parse_state(json.dumps(WHOLE).encode()) == INTENTS


def test_a_file_from_before_members_is_read():
    """`members` may be absent."""
    text = json.dumps({key: WHOLE[key] for key in ("version", "tiers")})
    assert parse_state(text.encode()) == INTENTS.readmitted(ONE, A)


def test_what_is_written_is_version_1():
    """Sorted and whole, so that a person can read it and edit it."""
    assert json.loads(render_state(INTENTS)) == WHOLE
    assert json.loads(render_state(Intents())) == {"version": 1, "tiers": {}, "members": {}}


@given(st.dictionaries(targets, reasons))
def test_what_is_written_is_read_back(found):
    """Every intent survives, whatever the names."""
    intents = Intents(found)
    assert parse_state(render_state(intents)) == intents


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": True},
        {"version": "1"},
        {"version": 1.0},
        {"tiers": []},
        {"tiers": {"one": "upgrade"}},
        {"tiers": {"one": {"state": "quiesced"}}},
        {"tiers": {"one": {"state": "admitting", "reason": "x"}}},
        {"tiers": {"one": {"state": "quiesced", "reason": "x", "more": 1}}},
        {"tiers": {"one": {"state": "quiesced", "reason": "not a code"}}},
        {"tiers": {"one": {"state": "quiesced", "reason": None}}},
        {"members": {"one": ["a"]}},
        {"members": {"one": {"a": {"reason": "x"}}}},
        {"members": None},
        {"more": {}},
    ],
    ids=str,
)
def test_what_version_1_does_not_have_is_refused(change):
    """It is taken as a whole or not at all."""
    with pytest.raises(CorruptState):
        parse_state(json.dumps({**WHOLE, **change}).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b'{"version": 1}',
        b'{"tiers": {}}',
        b"[]",
        b'{"version": 1, "tiers": {}, "tiers": {}}',
        b'{"version": 1, "tiers": {"one": {"state": "quiesced", "reason": "a", "reason": "b"}}}',
        render_state(INTENTS)[:-9],
        b" " * MAX_STATE_BYTES + render_state(INTENTS),
    ],
    ids=range(9),
)
def test_what_is_no_whole_document_is_refused(data):
    """Half a file, a name twice, too many bytes: whoever guesses may open what was closed."""
    with pytest.raises(CorruptState) as caught:
        parse_state(data)
    assert str(caught.value) == ""


def test_the_bound_itself_is_allowed():
    """Exactly 1 MiB is read."""
    text = render_state(INTENTS)
    assert parse_state(b" " * (MAX_STATE_BYTES - len(text)) + text) == INTENTS
