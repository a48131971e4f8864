"""Whether anything has become dearer: measured ratios against those of `benchmarks/budgets.toml`.

Every figure is the median of several rounds. A group of figures with one that is over its budget is
measured once more, and the lower of its two figures counts, since the machine may be noisy.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from benchmarks.budget_figures import GROUPS, Group, measured_of
from benchmarks.budget_rules import (
    Budget,
    Verdict,
    check_budgets,
    judge,
    parse_budgets,
    render_budgets,
    rewrite,
)
from benchmarks.plot import Chart
from benchmarks.report import add_outputs, print_table, write_outputs

__all__ = ["FILE", "main", "measure_twice", "rows_of"]

FILE = Path(__file__).with_name("budgets.toml")
_HEADER = ["", "measured", "budget", "verdict"]


def main(
    arguments: Sequence[str] | None = None,
    groups: Sequence[Group] = GROUPS,
    today: Callable[[], date] = lambda: datetime.now(UTC).date(),
) -> int:
    """Measure, print the table, write figures; 1 if a budget is exceeded, missing or not met."""
    parser = _parser([group.name for group in groups])
    options = parser.parse_args(arguments)
    if options.reason is not None and not (options.write and options.reason.strip()):
        parser.error("--reason says in some words why --write may raise a budget")
    text = options.budgets.read_text(encoding="utf-8") if options.budgets.exists() else ""
    try:
        budgets = parse_budgets(text)
    except ValueError as fault:
        parser.error(str(fault))
    chosen = [group for group in groups if options.only in {None, group.name}]
    measured = {
        name: figure
        for group in chosen
        for name, figure in measure_twice(group, options.rounds, budgets).items()
    }
    if options.write:
        budgets = rewrite(budgets, measured, today(), options.reason)
        options.budgets.write_text(render_budgets(budgets), encoding="utf-8")
    verdicts = [
        verdict
        for verdict in judge(measured, budgets)
        if verdict.measured is not None or options.only is None
    ]
    return _report(verdicts, check_budgets(budgets), options)


def measure_twice(group: Group, rounds: int, budgets: Mapping[str, Budget]) -> dict[str, float]:
    """The group's figures; if one is over its budget, the lower ones of two measurements."""
    first = measured_of(group, rounds)
    if all(figure <= budgets[name].budget for name, figure in first.items() if name in budgets):
        return first
    print(f"{group.name}: over budget, measured once more", flush=True)
    second = measured_of(group, rounds)
    return {name: min(figure, second[name]) for name, figure in first.items()}


def rows_of(verdicts: Sequence[Verdict]) -> list[list[str]]:
    """The rows of the table."""
    return [[one.name, _cell(one.measured), _cell(one.budget), one.words] for one in verdicts]


def _cell(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.3f}"


def _report(verdicts: Sequence[Verdict], faults: Sequence[str], options: argparse.Namespace) -> int:
    print_table(_HEADER, rows_of(verdicts))
    for fault in faults:
        print(fault)
    missed = [one for one in verdicts if not one.is_kept]
    print(f"{len(verdicts) - len(missed)} kept, {len(missed)} not")
    series = {
        "measured": [one.measured for one in verdicts],
        "budget": [one.budget for one in verdicts],
    }
    figures = {
        "verdicts": [
            {"name": one.name, "measured": one.measured, "budget": one.budget, "verdict": one.words}
            for one in verdicts
        ],
        "faults": list(faults),
    }
    names = [one.name for one in verdicts]
    charts = [Chart("multiples of a checkpoint, or of a bare reply", names, series)]
    write_outputs(options, "Budgets", figures, charts)
    return 1 if missed or faults else 0


def _parser(groups: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks budgets", description=__doc__)
    add = parser.add_argument
    add("--rounds", type=int, default=3, help="the median of so many counts")
    add("--only", choices=groups, help="one group of figures")
    add("--write", action="store_true", help="lower the budgets to what is measured now")
    add("--reason", metavar="TEXT", help="with --write: raise those that are exceeded, because ...")
    add("--budgets", type=Path, default=FILE, metavar="FILE", help="where the budgets are")
    add_outputs(parser, "budgets")
    return parser


if __name__ == "__main__":
    sys.exit(main())
