"""Budgets: what a measured ratio may come to, how they are kept in a file, how they change. Pure.

A budget is at most `MOST_TIMES` what was measured when it was written, so that a figure which has
doubled is over it. It is lowered by measuring again; to raise it above the lowest that it ever was
takes a reason, which stays in the file.
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

__all__ = [
    "MOST_TIMES",
    "Budget",
    "Verdict",
    "budget_for",
    "check_budgets",
    "judge",
    "parse_budgets",
    "render_budgets",
    "rewrite",
]

MOST_TIMES = 1.5
_NOISE = 0.95
"""A budget is lowered when the new one is below this share of it: less is noise."""

_HEAD = """\
# What must not become dearer, as ratios within one run: to one trio checkpoint (actor and
# translation), or to what stock hypercorn spends on the same bare reply (relay). Checked by `python
# -m benchmarks budgets`; its option --write lowers budgets, and with --reason it raises those that
# are exceeded. A budget is at most 1.5 times the figure measured when it was written.
"""
_NUMBERS = ("measured", "budget", "lowest")
_KEYS = {*_NUMBERS, "date"}


@dataclass(frozen=True)
class Budget:
    """What `measured` came to on `date`, what is allowed, and the least that ever was."""

    measured: float
    budget: float
    lowest: float
    date: date
    reason: str | None = None


@dataclass(frozen=True)
class Verdict:
    """One figure and its budget; either may be missing, and then it is not kept."""

    name: str
    measured: float | None
    budget: float | None

    @property
    def is_kept(self) -> bool:
        """Whether the figure is within its budget."""
        both = self.measured is not None and self.budget is not None
        return both and (self.measured or 0.0) <= (self.budget or 0.0)

    @property
    def words(self) -> str:
        """The verdict for a table."""
        if self.measured is None:
            return "not measured"
        if self.budget is None:
            return "no budget"
        return "kept" if self.is_kept else "over"


def budget_for(measured: float) -> float:
    """The largest budget that may be written for a figure, in thousandths, rounded down."""
    return math.floor(measured * MOST_TIMES * 1000 + 1e-6) / 1000


def parse_budgets(text: str) -> dict[str, Budget]:
    """The budgets of a file, by name. Raises ValueError if one is not as it must be."""
    budgets = {}
    for name, table in tomllib.loads(text).items():
        if not isinstance(table, dict) or not _KEYS <= table.keys() <= _KEYS | {"reason"}:
            raise ValueError(f"{name}: a budget has measured, budget, lowest, date, maybe reason")
        if not all(_is_positive(table[number]) for number in _NUMBERS):
            raise ValueError(f"{name}: measured, budget and lowest are positive numbers")
        if type(table["date"]) is not date or not isinstance(table.get("reason", ""), str):
            raise ValueError(f"{name}: date is a date, and reason is text")
        budgets[name] = Budget(**table)
    return budgets


def _is_positive(figure: object) -> bool:
    if isinstance(figure, bool) or not isinstance(figure, int | float):
        return False
    return math.isfinite(figure) and figure > 0


def check_budgets(budgets: Mapping[str, Budget]) -> list[str]:
    """What is wrong with them, one sentence each."""
    faults = []
    for name, one in budgets.items():
        if one.budget > budget_for(one.measured):
            faults.append(f"{name}: the budget is more than {MOST_TIMES} times what was measured")
        if one.lowest > one.budget:
            faults.append(f"{name}: lowest is more than the budget")
        if one.lowest < one.budget and not (one.reason or "").strip():
            faults.append(f"{name}: the budget was raised without a reason")
    return faults


def judge(measured: Mapping[str, float], budgets: Mapping[str, Budget]) -> list[Verdict]:
    """A verdict for each figure, then for each budget that has none."""
    names = [*measured, *(name for name in budgets if name not in measured)]
    return [
        Verdict(name, measured.get(name), budgets[name].budget if name in budgets else None)
        for name in names
    ]


def rewrite(
    budgets: Mapping[str, Budget], measured: Mapping[str, float], today: date, reason: str | None
) -> dict[str, Budget]:
    """The budgets after a measurement.

    A new figure gets a budget, a lower one a lower budget; one that is exceeded stays as it is
    unless there is a `reason`. What was not measured stays too. The order is that of the figures.
    """
    names = [*measured, *(name for name in budgets if name not in measured)]
    return {
        name: _rewritten(budgets.get(name), measured.get(name), today, reason) for name in names
    }


def _rewritten(
    old: Budget | None, measured: float | None, today: date, reason: str | None
) -> Budget:
    if measured is None:
        assert old is not None, "there is a budget or a figure"
        return old
    figure = round(measured, 3)
    new = budget_for(figure)
    if old is None:
        return Budget(figure, new, new, today)
    if new < old.budget * _NOISE:
        lowest = min(new, old.lowest)
        return Budget(figure, new, lowest, today, old.reason if lowest < new else None)
    if measured > old.budget and reason is not None:
        return Budget(figure, new, old.lowest, today, reason)
    return old


def render_budgets(budgets: Mapping[str, Budget]) -> str:
    """The file; `parse_budgets` reads the same back."""
    return "\n".join([_HEAD, *("\n".join(_table(*item)) for item in budgets.items())])


def _table(name: str, one: Budget) -> Sequence[str]:
    reason = [] if one.reason is None else [f"reason = {_quoted(one.reason)}"]
    return [
        f"[{_quoted(name)}]",
        f"measured = {float(one.measured)}",
        f"budget = {float(one.budget)}",
        f"lowest = {float(one.lowest)}",
        f"date = {one.date.isoformat()}",
        *reason,
        "",
    ]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
