"""Every rule of a configuration with a file that obeys it and one that does not."""

import tomllib
from collections.abc import Iterator

import pytest

from anvil_trio.config.parse import ConfigError, parse_config
from tests.unit.config import (
    rules_callers,
    rules_endpoint,
    rules_params,
    rules_replica,
    rules_router,
    rules_server,
    rules_services,
    rules_tier,
)
from tests.unit.config.toml import Rule

RULES: list[Rule] = [
    *rules_router.RULES,
    *rules_server.RULES,
    *rules_callers.RULES,
    *rules_tier.RULES,
    *rules_params.RULES,
    *rules_replica.RULES,
    *rules_endpoint.RULES,
    *rules_services.RULES,
]

# What a fixed text may say although it also stands in a file: words of the configuration language.
VOCABULARY = {
    "anthropic", "capacity", "configured", "local", "localhost", "LOCALHOST", "localhost.",
    "openai", "stt", "tts", "upstream", "auto", "primary", "media:read", "operator:media",
}  # fmt: skip

each_rule = pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])


def told(text: str) -> str:
    """The whole message about a file; empty if it loads."""
    try:
        parse_config(text.encode())
    except ConfigError as error:
        return str(error)
    return ""


def scalars(value: object) -> Iterator[str]:
    """Every value of a file that is long enough to be known again."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scalars(inner)
    elif len(str(value)) > 2 and not isinstance(value, bool):
        yield str(value)


def test_the_names_of_the_rules_are_unique() -> None:
    """Each rule stands once in the tables."""
    assert len({rule.name for rule in RULES}) == len(RULES)


@each_rule
def test_a_file_that_obeys_the_rule_is_taken(rule: Rule) -> None:
    """It loads."""
    assert told(rule.good) == ""


@each_rule
def test_a_file_that_breaks_the_rule_is_refused_in_fixed_words(rule: Rule) -> None:
    """The whole message is known: this problem, and no other that was not there before."""
    assert told(rule.bad) == rule.message


@each_rule
def test_no_message_shows_a_value(rule: Rule) -> None:
    """No text or number of a refused file is in the message about it."""
    try:
        tree = tomllib.loads(rule.bad)
    except tomllib.TOMLDecodeError:
        tree = {}
    shown = {value for value in scalars(tree) if value in rule.message}
    assert shown <= VOCABULARY
