"""One member of an object changes, and no other byte does."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.dialects.json_span import spans_of, with_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["model", "x", 'a"b', "\\"]) | st.text(), inner, max_size=3
        )
    ),
    max_leaves=12,
)
MEMBERS = st.dictionaries(st.sampled_from(["model", "m", 'mo"del']) | st.text(), VALUES, max_size=5)


@given(MEMBERS, st.sampled_from([None, 2]), st.booleans(), st.text())
def test_only_a_text_of_that_name_changes(members, indent, ascii_only, text):
    """For any object, in any spelling: what is read afterwards differs in that member alone."""
    data = json.dumps(members, indent=indent, ensure_ascii=ascii_only)
    try:
        changed = with_text(data.encode(), "model", text=text)
    except UnicodeEncodeError:  # half a surrogate pair
        return
    expected = dict(members)
    if isinstance(members.get("model"), str):
        expected["model"] = text
    assert json.loads(changed) == expected


@given(MEMBERS)
def test_the_same_text_changes_nothing(members):
    """A member that is written as we write it keeps every byte of the whole."""
    members["model"] = "a"
    data = msgspec.json.encode(members)
    assert with_text(data, "model", text="a") == data
    (span,) = spans_of(data, "model")
    assert span is not None
    assert data[slice(*span)] == b'"a"'


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"{}", []),
        (b"[]", []),
        (b'{"a":{"model":"x"}}', []),
        (b'{"model" :\n "x"}', [b'"x"']),
        (b'{"model":"x","model":"y"}', [b'"x"', b'"y"']),
        (b'{"mod\\u0065l":"x"}', [b'"x"']),
        (b'{"model":1,"a":"model"}', [None]),
        (b'{"model":["x"]}', [None]),
        (b'{"model":{"model":"x"}}', [None]),
        (b'{"a":"\\"model\\":","model":"x\\""}', [b'"x\\""']),
    ],
)
def test_every_time_that_it_is_given_is_found(data, found):
    """Escaped, twice, inside of others, or no text."""
    spans = spans_of(data, "model")
    assert [span if span is None else data[slice(*span)] for span in spans] == found


def test_a_large_body_is_searched_in_one_pass():
    """Two thousand vectors are found to have no model of their own."""
    row = {"embedding": [0.123456789] * 64, "model": "inner", "text": 'a"b\\' * 20}
    data = json.dumps({"data": [row] * 2000, "model": "x"}).encode()
    assert len(spans_of(data, "model")) == 1


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"s":{"model":"x"}}', [b'"x"']),
        (b'{"s":{"a":[{"model":"w"}],"model":"x","b":{"model":"v"}},"model":"y"}', [b'"x"']),
        (b'{"s":{"model":"x"},"t":{"model":"z"},"s":{"model":"y"}}', [b'"x"', b'"y"']),
        (b'{"\\u0073" : {"mod\\u0065l" : "x"}}', [b'"x"']),
        (b'{"s":["model",{"model":"x"}],"model":"y"}', []),
        (b'{"s":"model","model":"y"}', []),
        (b'{"t":{"s":{"model":"x"}}}', []),
        (b'[{"s":{"model":"x"}}]', []),
        (b'{"s":{"model":null},"s":1}', [None]),
        (b'{"s":{"s":{"model":"w"},"model":"x"}}', [b'"x"']),
        (b'{"s":{},"model":"y"}', []),
        (b'{"\\ud800":1,"s":{"\\ud800":2,"model":"x"}}', [b'"x"']),
    ],
)
def test_a_member_of_a_member_is_found(data, found):
    """A path of two names leads to that member of that object, and to no other of its name."""
    spans = spans_of(data, "s", "model")
    assert [span if span is None else data[slice(*span)] for span in spans] == found


@given(MEMBERS, MEMBERS, st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_only_the_text_at_that_path_changes(outer, inner, text):
    """For any object in any other: what is read afterwards differs in that member alone."""
    data = json.dumps({**outer, "s": inner})
    expected = json.loads(data)
    if isinstance(inner.get("model"), str):
        expected["s"]["model"] = text
    assert json.loads(with_text(data.encode(), "s", "model", text=text)) == expected
