"""The gate for pure modules, run after the tests: `python -m tests.house.pure_coverage`.

Which modules are pure is written once, in the import contract of pyproject.toml. Whatever can be
reached with plain function calls has no excuse: each of its branches is covered.
"""

import sys
import tomllib
from collections.abc import Sequence

import coverage

from tests.house.tree import ROOT

__all__ = ["pure_modules", "pure_patterns"]


def pure_modules() -> Sequence[str]:
    """The modules and packages that may not reach I/O, as the contract names them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (pure,) = (contract for contract in contracts if contract["type"] == "forbidden")
    return tuple(pure["source_modules"])


def pure_patterns() -> list[str]:
    """The same as file patterns."""
    paths = [name.replace(".", "/") for name in pure_modules()]
    return [f"*/{path}/*" if (ROOT / path).is_dir() else f"*/{path}.py" for path in paths]


if __name__ == "__main__":
    measured = coverage.Coverage()
    measured.load()
    if measured.report(include=pure_patterns(), precision=2) < 100:
        sys.exit("the pure modules are not covered in full")
