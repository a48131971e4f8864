"""The tree holds what belongs here and names nothing that does not."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import ROOT, shown

ALLOWED = {
    *("anvil_trio", "tests", "docs", "benchmarks"),
    *("pyproject.toml", "tox.ini"),
    *("README.md", "LICENSE", "CONTRIBUTING.md"),
}
MADE_HERE = {"build", "dist", "results.json", "__pycache__"}
"""What tools leave behind; .gitignore names the same."""

SUFFIXES = {".py", ".md", ".toml", ".ini", ".txt", ".yml", ".yaml", ".json", ".typed", ""}

_OUTSIDE = re.compile(
    "|".join((
        r"\.\./shared",
        r"(?<![\w.])/(?:work|home|root|opt)/[a-z]",
        r"\b(?:CONTRACT|HOUSE|REFERENCE|SERVER|PERFORMANCE|INTERFACES)(?:\.md\b| \d| section)",
        r"\bissues (?:show|list|ready)\b",
    ))
)


def text_files() -> Iterator[Path]:
    """Every text file of the project, without what tools and version control keep here."""
    here = ROOT / "tests" / "house"
    for top in ROOT.iterdir():
        if top.name in ALLOWED or top.name in {".ci", ".gitignore", ".mkdocs.yml"}:
            for path in [top, *top.rglob("*")]:
                if path.is_file() and path.suffix in SUFFIXES and not path.is_relative_to(here):
                    yield path


def test_the_top_level_holds_exactly_the_agreed_entries() -> None:
    """Beside dot files the top level is the agreed list: no more, no less."""
    found = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    left_behind = {name for name in found if name in MADE_HERE or name.endswith(".egg-info")}
    assert found - left_behind == ALLOWED


def test_no_text_names_a_place_outside_the_project() -> None:
    """Nothing here points at a folder or a document that a reader of this project does not have."""
    outside = [
        f"{shown(path, number)}: {line.strip()}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _OUTSIDE.search(line)
    ]
    assert not outside
