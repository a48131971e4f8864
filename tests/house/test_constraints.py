"""The versions of whatever the checks install are held in one file."""

import re
import tomllib
from collections.abc import Iterator

from tests.house.tree import ROOT

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def canonical(requirement: str) -> str:
    """The name that a requirement begins with, as package indexes compare names."""
    name = _NAME.match(requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def asked_for() -> Iterator[str]:
    """Every package that the project, its groups, its build and its README name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    yield from settings["project"]["dependencies"]
    yield from settings["build-system"]["requires"]
    yield "tox"
    for group in settings["dependency-groups"].values():
        yield from (one for one in group if isinstance(one, str))


def test_every_package_that_is_asked_for_is_held() -> None:
    """Each direct dependency has one exact version in .ci/constraints.txt."""
    text = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    held = [canonical(line) for line in lines if "==" in line]
    assert len(held) == len(lines) == len(set(held))
    assert {canonical(requirement) for requirement in asked_for()} <= set(held)
