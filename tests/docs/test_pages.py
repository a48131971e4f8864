"""The documentation points at things that exist."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])

_LINK = re.compile(r"(?<!!)\[[^]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`((?:anvil_trio|tests|docs|benchmarks|\.ci)/[\w./-]+)`")

_PACKAGES = "|".join(sorted(path.parent.name for path in ROOT.glob("anvil_trio/*/__init__.py")))
_MODULE = re.compile(rf"(?<![\w/.])((?:{_PACKAGES})/[a-z]\w+)")


def prose(page: Path) -> str:
    """The text of a page without its code blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked by."""
    heads = re.findall(r"^#+ +(.*)$", prose(page), re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", head.lower()).strip() for head in heads)
    return {re.sub(r"\s+", "-", head) for head in words}


def broken_links(page: Path) -> Iterator[str]:
    """The links of one page that lead to no file or no heading of this project."""
    for target in _LINK.findall(prose(page)):
        name, _, anchor = target.partition("#")
        if "://" in target:
            continue
        goal = (page.parent / name).resolve() if name else page
        if not goal.exists() or (anchor and anchor not in anchors(goal)):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_internal_link_resolves(page: Path) -> None:
    """Each relative link of a page leads to a file, and to a heading where it names one."""
    assert not list(broken_links(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_path_in_the_text_exists(page: Path) -> None:
    """A path of this tree that a page names in code type is there, with or without `.py`."""
    named = (ROOT / path for path in _PATH.findall(prose(page)))
    lost = [path for path in named if not path.exists() and not path.with_suffix(".py").exists()]
    assert not lost


def test_every_module_in_the_architecture_exists() -> None:
    """Each `package/module` that the architecture page names is a module of the package."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = {ROOT / "anvil_trio" / f"{name}.py" for name in _MODULE.findall(text)}
    assert [path.name for path in named if not path.exists()] == []


def test_the_picture_of_the_layers_is_the_contract() -> None:
    """The layers that the architecture page draws are those of the import contract, in order."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract["type"] == "layers")
    built = (re.sub(r" \| \(\w+\)|\(\w+\) \| ", "", layer) for layer in contract["layers"])
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawn = text.partition("## Layers")[2].split("```")[1].strip().splitlines()
    shown = [re.split(r" {2,}", line)[0] for line in drawn]
    assert shown == [layer for layer in built if layer != "__main__"]


def test_decisions_are_numbered_without_gap_or_double() -> None:
    """ADR numbers run from 0001 without a gap, each is used once, and the index lists them all."""
    names = sorted(path.name for path in (ROOT / "docs" / "adr").glob("0*.md"))
    numbers = Counter(int(name[:4]) for name in names)
    assert sorted(numbers.elements()) == list(range(1, len(names) + 1))
    index = (ROOT / "docs" / "adr" / "index.md").read_text(encoding="utf-8")
    assert [name for name in names if f"]({name})" not in index] == []


@pytest.mark.parametrize("front", ["README.md", "docs/index.md"])
def test_every_page_for_operators_is_linked_from_the_front(front: str) -> None:
    """Each page of docs, of its commands and of its dialects is named by both entrances."""
    page = ROOT / front
    goals = {
        (page.parent / target.partition("#")[0]).resolve() for target in _LINK.findall(prose(page))
    }
    docs = ROOT / "docs"
    wanted = {*docs.glob("*.md"), *docs.glob("cli/*.md"), *docs.glob("dialects/*.md")}
    entrances = {docs / "index.md", docs / "CHANGELOG.md"}
    assert sorted(path.name for path in wanted - entrances - goals) == []
