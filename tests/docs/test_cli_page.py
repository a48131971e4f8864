"""docs/cli/control-plane.md: settings, codes and words of the reading commands are the code's."""

import re

import msgspec
import pytest

from anvil_trio.cli import diagnose, diagnostics_settings, reach, replies, router_client
from anvil_trio.cli.diagnosis import SCHEMA
from anvil_trio.cli.diagnostics_settings import parse_settings
from anvil_trio.cli.envelope import Failure
from anvil_trio.cli.findings import FINDINGS
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "cli" / "control-plane.md").read_text(encoding="utf-8")
READING = PAGE[PAGE.index("## Reading commands") :]


def rows(head: str) -> list[list[str]]:
    """The cells of the table whose head begins so."""
    table = READING[READING.index(f"\n| {head} |") :].strip().split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table]


def test_the_settings_of_the_page_are_valid():
    """They load, and the table has every key there is."""
    [text] = re.findall(r"<!-- settings -->\n```toml\n(.*?)```", PAGE, re.DOTALL)
    assert parse_settings(text.encode()) is not None
    fields = msgspec.structs.fields(diagnostics_settings._File)
    assert [row[0].strip("`") for row in rows("setting")] == [field.name for field in fields]


def test_the_codes_of_the_page_are_those_of_the_code():
    """Each failure that is declared has its row, with its status."""
    declared = {
        each.code: each.status
        for module in (diagnose, reach, replies, router_client)
        for each in vars(module).values()
        if isinstance(each, Failure)
    }
    told = {code.strip("`"): int(status) for status, code, _ in rows("status")}
    made_on_the_way = {"router_unreachable", "router_http_error", "router_response_oversized"}
    assert told.keys() == declared.keys() | made_on_the_way
    assert {code: told[code] for code in declared} == declared


@pytest.mark.parametrize("code", ["long_wait", "late_content", "no_content", "quiet"])
def test_the_observations_that_are_named_exist(code):
    """And the schema is the one that is sent."""
    assert f"`{code}`" in READING
    assert code in FINDINGS
    assert f"`{SCHEMA}`" in READING
