"""docs/cli/eval.md and docs/cli/conform.md: their checks and codes are the code's."""

import re

import pytest

from anvil_trio.cli import eval_benchmark, eval_preflight, measured
from anvil_trio.cli.envelope import Failure
from anvil_trio.conform.checks import GATEWAY_CHECKS
from anvil_trio.conform.voices import VOICES
from anvil_trio.evals.checks import SERVE_CHECKS
from tests.house.tree import ROOT

EVAL = (ROOT / "docs" / "cli" / "eval.md").read_text(encoding="utf-8")
CONFORM = (ROOT / "docs" / "cli" / "conform.md").read_text(encoding="utf-8")


def named(page):
    """The checks of a page's table, in its order."""
    table = page[page.index("| check |") :].split("\n\n", 1)[0].splitlines()[2:]
    return [name for row in table for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def told(page):
    """The codes of a page with their statuses."""
    rows = re.findall(r"^\| (\d+) \| `([a-z_]+)` \|", page, re.MULTILINE)
    return {code: int(status) for status, code in rows}


def declared(*modules):
    """The failures of some modules."""
    found = [one for module in modules for one in vars(module).values()]
    return {one.code: one.status.value for one in found if isinstance(one, Failure)}


def test_the_checks_of_an_engine_are_listed():
    """Each once, in the order in which they are made."""
    order = [check.name for check in SERVE_CHECKS]
    assert sorted(named(EVAL)) == sorted(order)
    assert named(EVAL)[:5] == order[:5]


def test_the_checks_of_a_gateway_are_listed():
    """By their names within a dialect; each of those exists."""
    names = {check.name for check in GATEWAY_CHECKS}
    listed = {
        name if "." in name else f"{voice.name}.{name}"
        for name in named(CONFORM)
        for voice in VOICES
    }
    only_chat = {
        f"{voice}.{name}" for voice in ("messages", "responses") for name in ("counts", "oversize")
    }
    assert listed - only_chat == names


@pytest.mark.parametrize(
    ("page", "modules"),
    [(EVAL, (measured, eval_benchmark, eval_preflight)), (CONFORM, (measured,))],
    ids=["eval", "conform"],
)
def test_the_codes_of_a_page_are_those_of_the_code(page, modules):
    """Each with its status."""
    assert told(page) == declared(*modules)


def test_the_kinds_of_errors_are_listed():
    """As a round counts them."""
    for kind in ("refused", "broken", "timed_out", "oversized", "http_NNN", "cut", "empty"):
        assert f"`{kind}`" in EVAL
