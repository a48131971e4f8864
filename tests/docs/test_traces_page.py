"""docs/traces.md says what an exported span holds, and what costs a span."""

import re
import secrets

from anvil_trio.config.parse import parse_config
from anvil_trio.decisions.export import BATCH, FLUSH_S, QUEUE, DropReason
from anvil_trio.decisions.otlp import ATTRIBUTES, render_spans
from anvil_trio.upstream.collector import EXPORT_S
from tests.house.tree import ROOT
from tests.support.otlp import decode
from tests.unit.config.toml import config
from tests.unit.decisions.test_otlp import full

PAGE = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")
FLAT = " ".join(PAGE.split())
TYPES = {str: "text", int: "number", list: "texts"}


def rows() -> list[tuple[str, str]]:
    """The attributes of the table and the types that it names."""
    table = PAGE.partition("<!-- attributes:begin -->")[2].partition("<!-- attributes:end -->")[0]
    return [
        (cells[1].strip(" `"), cells[2].strip())
        for cells in (row.split("|") for row in table.strip().splitlines()[2:])
    ]


def test_the_table_is_the_allow_list() -> None:
    """Every attribute that may be sent, in the same order, and no other."""
    assert [name for name, _ in rows()] == list(ATTRIBUTES)


def test_the_types_are_those_that_a_collector_sees() -> None:
    """What is said to be a number arrives as one."""
    [span] = decode(render_spans([full()], "1", secrets.token_hex))
    seen = {name: TYPES[type(value)] for name, value in span.attributes.items()}
    assert {name: kind for name, kind in rows() if name in seen} == seen


def test_the_bounds_of_the_page_are_those_of_the_code() -> None:
    """Queue, batch, and the two times that are one second."""
    assert f"a queue of {QUEUE}; one worker takes up to {BATCH} at a time" in FLAT
    assert f"`queue_full` | {QUEUE} others wait" in FLAT
    assert (EXPORT_S, FLUSH_S) == (1.0, 1.0)


def test_the_reasons_of_the_page_are_those_of_the_code() -> None:
    """Each reason for which a span is dropped has a row."""
    section = PAGE.split("## What is dropped")[1]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [
        reason.value for reason in DropReason
    ]


def test_the_setting_of_the_page_loads() -> None:
    """The line can be copied into a configuration."""
    (line,) = re.findall(r'^trace_export_url = ".*"$', PAGE, re.MULTILINE)
    loaded = parse_config(config(server=(line,)).encode())
    assert loaded.server.trace_export_url == "http://127.0.0.1:4318/v1/traces"
