"""Tests read as facts; packages say what they are for and hold nothing else."""

import ast
import re

from tests.house.tree import PACKAGE, ROOT, functions, parsed, python_files, shown

_NEXT_SENTENCE = re.compile(r"[.!?]\s+[A-Z]")


def is_one_sentence(text: str | None) -> bool:
    """Whether `text` is one paragraph, ends as a sentence does, and no other follows the first."""
    if text is None:
        return False
    flat = " ".join(text.split())
    return "\n\n" not in text and flat.endswith((".", "?", "!")) and not _NEXT_SENTENCE.search(flat)


def test_every_test_says_in_one_sentence_what_it_proves() -> None:
    """Each test function has a docstring of exactly one sentence."""
    silent = [
        shown(path, function.lineno)
        for path in python_files(ROOT / "tests")
        for function in functions(path)
        if function.name.startswith("test_") and not is_one_sentence(ast.get_docstring(function))
    ]
    assert not silent


def test_a_package_is_its_docstring() -> None:
    """Each `__init__` below the package holds a docstring only, so importing it imports nothing."""
    full = [
        shown(path)
        for path in python_files(PACKAGE)
        if path.name == "__init__.py" and path.parent != PACKAGE and len(parsed(path).body) != 1
    ]
    assert not full
