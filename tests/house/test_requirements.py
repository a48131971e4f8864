"""Every requirement that is promised is named by a test that proves it."""

import ast
import re

from tests.house.tree import ROOT, functions, parsed, python_files, shown

_ROW = re.compile(r"^\| (R\d{3}) \|", re.MULTILINE)
_NAME = re.compile(r"\b[RT]0\d\d\b")


def promised() -> set[str]:
    """The requirements in the table of docs/requirements.md."""
    text = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
    return set(_ROW.findall(text))


def named_by_tests() -> set[str]:
    """All requirements and tasks that test docstrings name."""
    return {
        name
        for path in python_files(ROOT / "tests")
        for function in functions(path)
        if function.name.startswith("test_")
        for name in _NAME.findall(ast.get_docstring(function) or "")
    }


def test_each_requirement_is_named_by_a_test() -> None:
    """Each promised requirement, and T009 about the ends of a stream, is named by some test."""
    assert promised() | {"T009"} <= named_by_tests()


def test_only_the_command_line_prints() -> None:
    """R014: no module outside cli/ calls print or writes to standard output."""
    loud = [
        shown(path, node.lineno)
        for path in python_files(ROOT / "anvil_trio")
        if path.parent.name != "cli"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"print", "sys.stdout.write"}
    ]
    assert not loud
