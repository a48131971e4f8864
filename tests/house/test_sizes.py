"""Modules and functions stay small enough to be read in one go."""

import ast

from tests.house.tree import PACKAGE, ROOT, Function, functions, python_files, shown

MODULE_LINES = 400
FUNCTION_LINES = 50


def lines_of(function: Function) -> int:
    """How long a function is, without its docstring."""
    first = function.body[0]
    is_documented = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if is_documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def test_no_module_is_longer_than_400_lines() -> None:
    """No module of the package, its tests or its benchmarks has more than 400 lines."""
    files = python_files(PACKAGE, ROOT / "tests", ROOT / "benchmarks")
    sizes = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert not {name: size for name, size in sizes.items() if size > MODULE_LINES}


def test_no_function_is_longer_than_50_lines() -> None:
    """No function of the package or its benchmarks has more than 50 lines beside its docstring."""
    sizes = {
        shown(path, function.lineno): lines_of(function)
        for path in python_files(PACKAGE, ROOT / "benchmarks")
        for function in functions(path)
    }
    assert not {name: size for name, size in sizes.items() if size > FUNCTION_LINES}
