"""Command lines that are not valid, and what is said of them."""

import errno
import io
import sys
from pathlib import Path

import click
import pytest

from anvil_trio import __version__
from anvil_trio.cli.main import anvil_serving, main
from anvil_trio.cli.usage import explain

CANARY = "canary-5417"


def said(capsys, *arguments):
    """The status of one command line, and what it wrote on stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "A command must follow, one of those that --help lists."),
        ([CANARY], "A command must follow, one of those that --help lists."),
        (["router"], "A command must follow, one of those that --help lists."),
        (["router", CANARY], "A command must follow, one of those that --help lists."),
        ([f"--{CANARY}"], "There is no such option."),
        (["router", "run", f"--{CANARY}"], "There is no such option."),
        (["router", "run", f"--{CANARY}={CANARY}"], "There is no such option."),
        (["router", "run", CANARY], "There are more arguments than this command takes."),
        (["router", "run", "--port", CANARY], "The value of --port is not valid."),
        (["router", "run", "--port", "65536"], "The value of --port is not valid."),
        (["router", "run", "--config"], "An option lacks its value, or has one and takes none."),
        (
            ["demo", f"--once={CANARY}"],
            "An option lacks its value, or has one and takes none.",
        ),
        (["demo", "--member", CANARY], "--member and --model go together."),
        (["demo", "--model", CANARY], "--member and --model go together."),
        (["demo", "--model", "m", *["--member", CANARY] * 17], "There may be at most 16 members."),
        (["demo-engine", "--slots", CANARY], "The value of --slots is not valid."),
    ],
)
def test_a_command_line_that_is_not_valid_is_explained_and_not_repeated(capsys, arguments, words):
    """Status 2, fixed words on stderr, nothing of what was given (R012)."""
    status, out, err = said(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert f"Error: {words}\n" in err
    assert err.startswith(("Usage: anvil-serving ", "Error: "))
    assert CANARY not in err


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["topology", "show", "--json"]])
def test_a_disk_that_is_full_is_told_in_fixed_words(arguments, capsys, monkeypatch):
    """Status 1 and one line on stderr for whatever was to be printed; nothing is raised."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as ended:
            main(arguments)
    assert ended.value.code == 1
    assert capsys.readouterr().err == "The output could not be written.\n"


def test_another_failure_of_the_system_is_not_called_one_of_the_output(monkeypatch):
    """What we have no words for is raised."""

    def fail(**_):
        raise OSError(errno.ENOENT, "")

    monkeypatch.setattr(anvil_serving, "main", fail)
    with pytest.raises(FileNotFoundError):
        main([])


def test_what_a_terminal_has_no_character_for_is_a_question_mark(monkeypatch):
    """A name that a router tells never ends a command, whatever the locale is."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "latin-1"))
    with pytest.raises(SystemExit):
        main(["--version"])
    sys.stdout.write("\xe9\u65e5")
    sys.stdout.flush()
    assert written.getvalue().endswith(b"\n\xe9?")


def test_the_version_is_printed(capsys):
    """`--version` names the program and its version."""
    assert said(capsys, "--version") == (0, f"anvil-serving, version {__version__}\n", "")


@pytest.mark.parametrize("words", [(), ("router",), ("router", "run"), ("demo",), ("demo-engine",)])
def test_every_command_explains_itself(capsys, words):
    """`--help` is on stdout with status 0."""
    status, out, err = said(capsys, *words, "--help")
    assert (status, err) == (0, "")
    assert out.startswith("Usage: anvil-serving ")


def test_an_option_that_must_be_given_is_named():
    """What is missing is told by the option's own name."""
    option = click.Option(["-p", "--port"], required=True)
    context = click.Context(click.Command("leaf", params=[option]), info_name="prog")
    error = click.MissingParameter(ctx=context, param=option)
    assert explain(error) == "Usage: prog [OPTIONS]\nError: --port is missing.\nTry 'prog --help'."
