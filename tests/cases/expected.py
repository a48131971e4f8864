"""Reads `expected.txt`: what each fault case must do against this router."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["HERE", "ROOT", "Expectation", "read_expectations"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

Kind = Literal["pass", "unit", "skip"]


@dataclass(frozen=True, slots=True)
class Expectation:
    """One line: the case passes, is proven by a unit test, or is skipped; `detail` names which."""

    case_id: str
    kind: Kind
    detail: str = ""

    @property
    def group(self) -> str:
        """The class of the case: what stands before the number."""
        return self.case_id.partition("-")[0]


def _parse(line: str) -> Expectation:
    case_id, _, rest = line.partition(" ")
    kind, _, detail = rest.strip().partition(" ")
    match kind:
        case "":
            return Expectation(case_id, "pass")
        case "unit" | "skip" if detail:
            return Expectation(case_id, kind, detail.strip())
        case _:
            message = f"not understood: {line}"
            raise ValueError(message)


def read_expectations() -> Sequence[Expectation]:
    """All lines of `expected.txt` that are neither empty nor comments."""
    lines = (HERE / "expected.txt").read_text(encoding="utf-8").splitlines()
    return [_parse(line.strip()) for line in lines if line.strip() and not line.startswith("#")]
