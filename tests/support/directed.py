"""Tests of a module as plain scenarios, so that a hunt for mutants can run them too."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import product
from types import ModuleType
from typing import Any

import pytest

__all__ = ["directed"]

Scenario = Callable[[], Awaitable[None]]
_CLOCK = "autojump_clock"


def directed(*modules: ModuleType) -> Iterator[tuple[str, Scenario]]:
    """Every asynchronous test that needs no fixture but the clock, with each of its parameters."""
    for module in modules:
        for name, test in vars(module).items():
            if name.startswith("test_") and inspect.iscoroutinefunction(test):
                yield from _cases(name, test)


def _cases(name: str, test: Callable[..., Awaitable[None]]) -> Iterator[tuple[str, Scenario]]:
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    choices = [list(_values(mark)) for mark in marks]
    for chosen in product(*choices):
        given: dict[str, Any] = {_CLOCK: None}
        for values in chosen:
            given |= values
        wanted = set(inspect.signature(test).parameters)
        if wanted <= given.keys():
            yield name, partial(test, **{each: given[each] for each in wanted})


def _values(mark: pytest.Mark) -> Iterator[dict[str, Any]]:
    names, rows = mark.args[:2]
    if isinstance(names, str):
        names = [each.strip() for each in names.split(",")]
    for row in rows:
        values = row.values if hasattr(row, "marks") else row
        yield dict(zip(names, [values] if len(names) == 1 else values, strict=True))
