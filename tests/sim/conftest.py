"""What the simulation has seen is printed at the end of a run, summed over all processes."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Seeds, cancel points, how often each rare state was reached, what killed each mutant."""
    seeds, points = Counter[str](), Counter[str]()
    reached: dict[str, Counter[str]] = {}
    killers: list[str] = []
    for name, key, value in _properties(terminalreporter):
        if key == "cancel points":
            points[name] += value
        elif key == "seeds":
            seeds[name] += value
        elif key == "reached":
            reached.setdefault(name, Counter()).update(value)
        elif key == "killed":
            killers.append(value)
    for name, states in reached.items():
        terminalreporter.section(f"{name}: {seeds[name]} seeds")
        for state, count in states.items():
            terminalreporter.write_line(f"{count:10}  {state}")
    if killers:
        terminalreporter.section("mutants")
        for line in sorted(killers):
            terminalreporter.write_line(line)
    if points:
        terminalreporter.section(f"cancel points: {points.total()}")
        for name, count in points.items():
            terminalreporter.write_line(f"{count:10}  {name}")


def _properties(reporter: pytest.TerminalReporter) -> Iterable[tuple[str, str, Any]]:
    for report in reporter.stats.get("passed", ()):
        name = report.nodeid.partition("[")[0].rpartition("::")[2]
        for key, value in report.user_properties:
            yield name, key, value
