"""The closed parser of private command lines."""

from itertools import permutations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.cli.closed import read_arguments

OPTIONS = [
    click.Option(["--config"], required=True),
    click.Option(["--topology"]),
    click.Option(["--json", "is_json"], is_flag=True),
]


def read(*arguments):
    """What is made of a line."""
    return read_arguments(arguments, OPTIONS)


def test_options_have_values_and_flags_have_none():
    """In any order, and in both ways of writing a value."""
    whole = {"--config": "a", "--topology": "b", "--json": ""}
    for words in permutations([["--config", "a"], ["--topology=b"], ["--json"]]):
        assert read(*(word for part in words for word in part)) == whole
    assert read("--config", "a") == {"--config": "a"}


def test_a_value_may_hold_anything_but_nothing():
    """Equal signs, blanks; after = also a leading dash."""
    assert read("--config", "a=b c") == {"--config": "a=b c"}
    assert read("--config=--json") == {"--config": "--json"}
    assert read("--config==") == {"--config": "="}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--json",),
        ("--topology", "b"),
        ("--config",),
        ("--config", ""),
        ("--config=",),
        ("--config", "--json"),
        ("--config", "-"),
        ("--config", "a", "--config", "a"),
        ("--config", "a", "--config=a"),
        ("--config", "a", "--json", "--json"),
        ("--config", "a", "--json=x"),
        ("--config", "a", "--json="),
        ("--config", "a", "--conf", "b"),
        ("--conf", "a"),
        ("--config", "a", "--help"),
        ("--config", "a", "b"),
        ("b", "--config", "a"),
        ("--config", "a", "--"),
        ("--config", "a", "-j"),
        ("--config", "a", ""),
        ("--config", "a", "=b"),
        ("--CONFIG", "a"),
        ("--config ", "a"),
    ],
    ids=str,
)
def test_any_other_line_is_nothing(arguments):
    """Missing, empty, repeated, shortened, unknown and surplus words."""
    assert read(*arguments) is None


@given(st.lists(st.sampled_from(["--config", "--config=a", "--json", "--topology", "a", "", "-"])))
def test_a_line_is_never_more_than_its_words(words):
    """Each option of a line that is taken stands in it once."""
    found = read(*words)
    if found is not None:
        assert len(found) == sum(word.startswith("--") for word in words)
        assert "--config" in found
