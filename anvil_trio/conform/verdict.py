"""What one check found: a value. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from anvil_trio.conform.grammar import GrammarError

__all__ = [
    "Outcome",
    "Result",
    "StatusFault",
    "Verdict",
    "failed",
    "judge_fault",
    "not_applicable",
    "passed",
]


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a check ended and why, in fixed words.

    `facts` are what was measured: numbers, booleans and closed words. `settings` are what follows
    for the tier, by the name of its key. Neither holds anything a server said but its own model's
    context and the like, all of them checked.
    """

    outcome: Outcome
    reason: str
    facts: Mapping[str, JsonValue]
    settings: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Result:
    """One row of a report."""

    name: str
    title: str
    verdict: Verdict


class StatusFault(GrammarError):  # noqa: N818 - named by what it is
    """An answer has another status than it should."""

    def __init__(self, status: int) -> None:
        super().__init__("The answer has another status than it should.")
        self.status = status


def passed(
    reason: str, settings: Mapping[str, JsonValue] | None = None, **facts: JsonValue
) -> Verdict:
    """It is as it should be."""
    return Verdict(Outcome.PASSED, reason, facts, settings or {})


def failed(
    reason: str, settings: Mapping[str, JsonValue] | None = None, **facts: JsonValue
) -> Verdict:
    """It is not."""
    return Verdict(Outcome.FAILED, reason, facts, settings or {})


def not_applicable(
    reason: str, settings: Mapping[str, JsonValue] | None = None, **facts: JsonValue
) -> Verdict:
    """It could not be seen here, or need not be so."""
    return Verdict(Outcome.NOT_APPLICABLE, reason, facts, settings or {})


def judge_fault(fault: GrammarError) -> Verdict:
    """The verdict that a fault on the way to one means."""
    if isinstance(fault, StatusFault):
        return failed(str(fault), status=fault.status)
    words = str(fault)
    return failed(f"{words[:1].upper()}{words[1:].removesuffix('.')}.")
