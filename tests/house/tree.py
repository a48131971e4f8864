"""The source tree as the house tests see it: files, modules and their syntax."""

import ast
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["PACKAGE", "ROOT", "functions", "module_name", "parsed", "python_files", "shown"]

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "anvil_trio"

_NOT_OURS_TO_JUDGE = ROOT / "tests" / "cases" / "runner"
"""The conformance runner is a tool of its own with its own style."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_files(*folders: Path) -> Sequence[Path]:
    """All Python files below `folders`, sorted, without the conformance runner."""
    found = (path for folder in folders for path in folder.rglob("*.py"))
    return sorted(path for path in found if not path.is_relative_to(_NOT_OURS_TO_JUDGE))


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def functions(path: Path) -> Iterator[Function]:
    """Every function and method of one file, nested ones too."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, Function):
            yield node


def module_name(path: Path) -> str:
    """The dotted name of a file of the package; a package's own name for its `__init__`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shown(path: Path, line: int | None = None) -> str:
    """A place in the tree as an editor understands it."""
    name = path.relative_to(ROOT).as_posix()
    return name if line is None else f"{name}:{line}"
