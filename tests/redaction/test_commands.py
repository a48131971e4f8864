"""R012 on the command line: no argument, path, address or variable shows in what a command says.

Every leaf is taken from the program's own manifest, with a canary in each of its positions.
"""

import pytest

from anvil_trio.cli.main import PROGRAM, anvil_serving, main
from anvil_trio.cli.spec import CommandSpec, OptionSpec, manifest
from tests.redaction.planted import ENVIRON, leaks

LEAVES = manifest(anvil_serving, PROGRAM)
HOSTILE = "/kanarie/../http://kanarie:kanarie@kanarie.test/?kanarie"


def words_of(leaf: CommandSpec) -> str:
    """What to call one leaf in a report."""
    return " ".join(leaf.words[1:])


def given(option: OptionSpec) -> list[str]:
    """An option as it is written, with a canary for its value if it has one."""
    return [option.name] if option.is_flag else [option.name, HOSTILE]


def hostile_lines(leaf: CommandSpec) -> list[list[str]]:
    """Command lines with a canary in each position; all but the first are no valid usage."""
    words = list(leaf.words[1:])
    lines = [
        [*words, *(word for option in leaf.options for word in given(option)), HOSTILE],
        [*words, HOSTILE],
        [*words, "--kanarie", HOSTILE],
        [*words, f"--kanarie={HOSTILE}"],
        [*words[:-1], HOSTILE],
    ]
    for option in leaf.options:
        lines += [
            [*words, *given(option), HOSTILE],
            [*words, *given(option), *given(option), HOSTILE],
            [*words, f"{option.name}={HOSTILE}", HOSTILE],
            [*words, HOSTILE, option.name],
        ]
    return lines


@pytest.mark.parametrize("leaf", LEAVES, ids=words_of)
def test_no_argument_is_repeated(leaf, capfd, monkeypatch):
    """R012: whatever stands where on a command line, its refusal is in words of our own."""
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    found = []
    for line in hostile_lines(leaf):
        with pytest.raises(SystemExit) as ended:
            main(line)
        assert ended.value.code == 2, line
        said = capfd.readouterr()
        found += leaks(str(line), said.out) + leaks(str(line), said.err)
    assert not found


@pytest.mark.parametrize("leaf", LEAVES, ids=words_of)
def test_help_names_no_value_of_the_environment(leaf, capfd, monkeypatch):
    """R012: the help of a command shows no value of a variable that it reads."""
    for name in ("ANVIL_CONFIG", "ANVIL_ROUTER_URL", "ANVIL_ROUTER_TOKEN", "HOME"):
        monkeypatch.setenv(name, HOSTILE)
    with pytest.raises(SystemExit):
        main([*leaf.words[1:], "--help"])
    said = capfd.readouterr()
    assert said.out.startswith("Usage:")
    assert not leaks("help", said.out) + leaks("help", said.err)
