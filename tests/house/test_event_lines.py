"""Event lines: one list, one writer, one page."""

import ast
import re

import pytest
from structlog.testing import capture_logs

from anvil_trio.log_events import LogEvent, log_event
from tests.house.tree import PACKAGE, ROOT, parsed, python_files, shown

WRITERS = {PACKAGE / "log_events.py", PACKAGE / "cli" / "events.py"}
PAGE = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")


def imported(tree: ast.Module) -> set[str]:
    """The top-level names of all modules that one file imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def test_nothing_else_writes_event_lines() -> None:
    """R012: only the list's own module and the set-up know structlog or logging's writers."""
    others = [path for path in python_files(PACKAGE) if path not in WRITERS]
    assert [shown(path) for path in others if "structlog" in imported(parsed(path))] == []


def test_the_page_lists_each_event_with_its_level_and_fields() -> None:
    """docs/events.md and the code have the same events, levels and fields, in the same order."""
    table = PAGE.partition("<!-- events:begin -->")[2].partition("<!-- events:end -->")[0]
    rows = [
        (cells[1].strip(" `"), cells[2].strip(), tuple(re.findall(r"`(\w+)`", cells[3])))
        for cells in (row.split("|") for row in table.strip().splitlines()[2:])
    ]
    names = {10: "debug", 20: "info", 30: "warning", 40: "error"}
    assert rows == sorted((each.line, names[each.level], each.fields) for each in LogEvent)


@pytest.mark.parametrize("event", LogEvent)
def test_every_event_is_used(event: LogEvent) -> None:
    """An event that nothing writes is not in the list."""
    used = f"LogEvent.{event.name}"
    assert any(used in path.read_text(encoding="utf-8") for path in python_files(PACKAGE))


def test_a_line_has_the_fields_and_the_level_of_its_entry() -> None:
    """What is written is the entry's name and level with the given fields, nothing more."""
    with capture_logs() as lines:
        log_event(LogEvent.ACCEPT_PAUSED, reason="max_connections")
    assert lines == [
        {"event": "accept_paused", "log_level": "warning", "reason": "max_connections"}
    ]


@pytest.mark.parametrize("fields", [{}, {"reason": "x", "more": "y"}, {"other": "x"}])
def test_a_line_with_other_fields_is_a_bug(fields: dict[str, str]) -> None:
    """A missing, surplus or misspelt field is an assertion, so it cannot leave unnoticed."""
    with pytest.raises(AssertionError, match="has the fields of its entry"):
        log_event(LogEvent.ACCEPT_PAUSED, **fields)
