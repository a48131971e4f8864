"""JSON from outside, read strictly."""

import pytest

from anvil_trio.config.json_object import read_json_object


def test_an_object_is_its_members():
    """What is inside is plain data."""
    assert read_json_object('{"a": [1, {"b": "é"}], "c": null}'.encode()) == {
        "a": [1, {"b": "é"}],
        "c": None,
    }


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b'{"a": 1, "a": 1}',
        b'{"a": {"b": 1, "b": 2}}',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b'{"\\udc00": 1}',
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' + b"9" * 10_000 + b"}",
    ],
    ids=range(17),
)
def test_anything_else_is_nothing(data):
    """No object, twins, no number, half a character, too deep: nothing, and no exception."""
    assert read_json_object(data) is None
