"""The README promises only what is there."""

import re
import tomllib
from pathlib import Path

from anvil_trio.config.parse import parse_config

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def marked(name: str) -> str:
    """The code block between two marker comments."""
    found = re.search(
        rf"<!-- {name}:begin -->\n```\w+\n(.*?)```\n<!-- {name}:end -->", README, re.S
    )
    assert found is not None
    return found[1]


def test_both_commands_are_one_line_each() -> None:
    """The demo and the tests are each one line that makes its own virtual environment."""
    for name in ("demo", "test"):
        lines = marked(name).splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_the_commands_name_what_the_project_installs() -> None:
    """The demo line ends in the console script of the package, the test line in tox."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert marked("demo").strip().endswith(".venv/bin/anvil-serving demo")
    assert "anvil-serving" in project["scripts"]
    assert marked("test").strip().endswith(".venv/bin/tox")


def test_the_configuration_of_the_quick_start_loads() -> None:
    """The example is a valid configuration of one alias over two members on loopback."""
    config = parse_config(marked("config").encode())
    (tier,) = config.tiers
    assert dict(config.routes) == {"llm.primary": "pair"}
    assert tier.member_ids == ("member-a", "member-b")
    assert {member.base_url[:16] for member in tier.replicas} == {"http://127.0.0.1"}


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """The CI script takes its command out of the README, between the same markers."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "/<!-- test:begin -->/,/<!-- test:end -->/p" in script
    assert "tox" not in script
