"""What is read of `params`: values of the right kind, and None."""

import pytest

from anvil_trio.views.declared import Declared, declared
from tests.unit.views.samples import direct_tier


@pytest.mark.parametrize("value", [None, True, -1, 1.5, "1", [], {}])
def test_only_a_natural_number_is_a_count(value):
    """Booleans never count as numbers."""
    assert Declared({"x": value}).count("x") is None
    assert Declared({"x": 3}).count("x") == 3


@pytest.mark.parametrize("value", [None, False, -0.5, float("nan"), float("inf"), "1"])
def test_only_a_finite_number_is_a_number(value):
    """JSON has no other numbers."""
    assert Declared({"x": value}).number("x") is None
    assert Declared({"x": 1.5}).number("x") == 1.5


@pytest.mark.parametrize("value", [None, 0, 1, "true"])
def test_only_true_and_false_are_flags(value):
    """Nothing is taken for a truth value."""
    assert Declared({"x": value}).flag("x") is None
    assert Declared({"x": False}).flag("x") is False


@pytest.mark.parametrize("value", [None, "", 1, ["a"]])
def test_only_text_is_text(value):
    """Nothing is converted."""
    assert Declared({"x": value}).text("x") is None
    assert Declared({"x": "a"}).text("x") == "a"


@pytest.mark.parametrize("value", [None, "ab", [1], ["a", None], {"a": 1}])
def test_only_a_list_of_texts_is_words(value):
    """One odd entry spoils the list."""
    assert Declared({"x": value}).words("x") is None
    assert Declared({"x": ("a", "b")}).words("x") == ["a", "b"]


def test_a_table_that_is_none_declares_nothing():
    """Nor does one that is not there, or is no table."""
    assert declared(direct_tier(), "nothing").count("x") is None
    assert Declared({"x": 1}).inner("x").count("x") is None
    assert Declared({"x": {"y": 2}}).inner("x").count("y") == 2
