"""Runs a table of checks, one after the other: each has its time, none can end the others."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import trio

from anvil_trio.conform.grammar import GrammarError
from anvil_trio.conform.verdict import Result, Verdict, failed, judge_fault

__all__ = ["Check", "run_checks"]

_Subject = TypeVar("_Subject")
_LATE = failed("The check took too long.")


@dataclass(frozen=True, slots=True)
class Check(Generic[_Subject]):
    """One row of a table. `run` may raise GrammarError, which fails the check, and nothing else."""

    name: str
    title: str
    run: Callable[[_Subject], Awaitable[Verdict]] = field(repr=False)


async def run_checks(
    checks: Sequence[Check[_Subject]],
    subject: _Subject,
    *,
    limit_s: float,
    tell: Callable[[Result], None],
) -> tuple[Result, ...]:
    """The result of every check, in order; `tell` hears each as it comes.

    No check takes longer than `limit_s`; one that would has failed.
    """
    results: list[Result] = []
    for check in checks:
        verdict = await _verdict(check, subject, limit_s)
        results.append(Result(check.name, check.title, verdict))
        tell(results[-1])
    return tuple(results)


async def _verdict(check: Check[_Subject], subject: _Subject, limit_s: float) -> Verdict:
    with trio.move_on_after(limit_s):
        try:
            return await check.run(subject)
        except GrammarError as fault:
            return judge_fault(fault)
    return _LATE
