"""How `.env` files are read and whom a secret is asked of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil_trio.config.secrets import Secrets, look_up, parse_env


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("KEY=plain", "plain"),
        ("  export KEY = plain # a comment\r", "plain"),
        ("KEY=with#hash", "with#hash"),
        ("KEY=two words", "two words"),
        ("KEY=", ""),
        ("KEY= # nothing", ""),
        ("KEY='as $it \\is' # a comment", "as $it \\is"),
        ('KEY="a \\"b\\" \\\\ \\$c \\n"', 'a "b" \\ $c \\n'),
        ("KEY='open", "'open"),
        ('KEY="open', '"open'),
        ("KEY=a=b", "a=b"),
    ],
)
def test_a_line_assigns_one_value(line: str, value: str) -> None:
    """Plain, single-quoted and double-quoted values; a comment follows a blank."""
    assert parse_env(f"# first\n{line}\nOTHER=1")["KEY"] == value


@pytest.mark.parametrize("line", ["# KEY=1", "KEY", "1KEY=1", "KEY-2=1", "=1", "set KEY=1", ""])
def test_any_other_line_is_passed_over(line: str) -> None:
    """Comments, words without a value and names that are none."""
    assert parse_env(line) == {}


def test_of_two_lines_with_one_name_the_later_counts() -> None:
    """As in a shell."""
    assert parse_env("KEY=1\nKEY=2\n") == {"KEY": "2"}


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    """Whatever a `.env` file holds, reading it raises nothing and takes whole names only."""
    assert all(name.replace("_", "a").isalnum() for name in parse_env(text))


def test_the_first_source_that_names_a_variable_decides() -> None:
    """Even if the variable is empty there: that is an answer, not an absence."""
    assert look_up("KEY", [{}, {"KEY": " one\n"}, {"KEY": "two"}]) == "one"
    assert look_up("KEY", [{"KEY": ""}, {"KEY": "two"}]) == ""
    assert look_up("KEY", [{}, {"OTHER": "1"}]) is None


def test_secrets_are_never_shown() -> None:
    """They are got by name; the repr holds none."""
    secrets = Secrets({"KEY": "canary"})
    assert secrets.get("KEY") == "canary"
    assert secrets.get("OTHER") is None
    assert "canary" not in repr(secrets)
    assert not hasattr(secrets, "__dict__")
