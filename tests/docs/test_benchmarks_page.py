"""docs/benchmarks.md: every benchmark has a section with its command and what that prints."""

import re

import pytest

from benchmarks.__main__ import BENCHMARKS
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
SECTIONS = {
    part.partition("\n")[0]: part.partition("\n")[2] for part in re.split(r"^## ", PAGE, flags=re.M)
}


def test_the_page_has_a_section_for_each_benchmark_and_no_other():
    """The names of the command are the headings of the page."""
    assert SECTIONS.keys() - {"# Benchmarks"} == BENCHMARKS.keys()


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_section_has_the_command_and_an_example(name: str):
    """How it is run, and a piece of what it prints."""
    section = SECTIONS[name]
    assert f"python -m benchmarks {name}" in section
    assert re.search(r"^```text\n.+?\n```", section, re.M | re.S)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_options_on_the_page_are_options(name: str):
    """Each option in the section is one that the benchmark takes."""
    source = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", SECTIONS[name]))
    assert told <= set(re.findall(r'"(--[a-z][a-z-]+)"', source))
