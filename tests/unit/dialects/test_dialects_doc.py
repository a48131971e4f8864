"""The page about dialects and the tests are about the same list of changes."""

import ast
import re
from collections import Counter
from pathlib import Path
from typing import get_args

from anvil_trio.config.model import Compat

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "dialects.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|")]


def functions_of(name: str) -> set[str]:
    """The tests of one module beside this one."""
    tree = ast.parse((Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8"))
    functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return {name for name in functions if name.startswith("test_")}


def test_each_documented_change_has_one_test_and_each_test_one_change():
    """No change is made that the page does not list, and none is listed that is not tested."""
    named = Counter(name for row in ROWS for name in re.findall(r"`(test_\w+)`", row))
    assert set(named) == functions_of("test_request_changes") | functions_of("test_reply_changes")
    assert set(named.values()) == {1}


def test_each_compat_value_has_its_row_and_its_default_comes_first():
    """Every value of every setting stands in the table, in the order of the settings."""
    cells = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in ROWS]
    for name, field in Compat.model_fields.items():
        at = next(at for at, row in enumerate(cells) if row[0] == name)
        values = get_args(field.annotation) or ("any",)
        assert [row[1] for row in cells[at : at + len(values)]] == list(values)
        assert field.default in {*values[:1], True}
