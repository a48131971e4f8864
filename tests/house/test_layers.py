"""The import contracts hold, and each of them fails when it is broken."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE, ROOT

LAYERS = "layers point down"
PURE = "pure modules know no I/O"

SIBLING = ("tiers/planted.py", "import anvil_trio.admission\n")
INDIRECT_TRIO = ("views/planted.py", "import anvil_trio.actors.reply\n")
UNPLACED = ("planted/__init__.py", '"""A package that stands in no layer."""\n')


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    """Judge the package that stands in `root` by the project's contracts."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDEVMODE"}
    command = "import sys; from importlinter.cli import lint_imports_command; "
    command += "sys.argv[1:] = ['--no-cache']; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-P", "-c", command],
        cwd=root,
        env=env | {"PYTHONPATH": str(root), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and its settings, free to be broken."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "anvil_trio", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("planted", "broken", "said"),
    [
        (SIBLING, LAYERS, "anvil_trio.tiers is not allowed to import anvil_trio.admission"),
        (INDIRECT_TRIO, PURE, "anvil_trio.views is not allowed to import trio"),
        (UNPLACED, LAYERS, "- anvil_trio.planted"),
    ],
    ids=["sibling import", "trio reached indirectly", "package in no layer"],
)
def test_a_planted_breach_breaks_its_contract(
    copy: Path, planted: tuple[str, str], broken: str, said: str
) -> None:
    """The contract that a planted file breaks is reported as broken, for that reason."""
    place, text = planted
    file = copy / "anvil_trio" / place
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    result = lint_imports(copy)
    assert result.returncode != 0
    assert said in result.stdout, result.stdout + result.stderr
    assert f"{broken} BROKEN" in result.stdout


def test_the_contracts_hold() -> None:
    """As it stands, the package breaks neither contract."""
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout
    assert "2 kept, 0 broken" in result.stdout
