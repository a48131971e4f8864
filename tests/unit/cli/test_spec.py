"""The manifest of commands, and the table that documents them."""

import re
from pathlib import Path

import click

from anvil_trio.cli.main import PROGRAM, anvil_serving
from anvil_trio.cli.spec import CommandSpec, OptionSpec, manifest

DOCUMENT = Path(__file__).parents[3] / "docs" / "cli.md"


def test_the_manifest_lists_visible_leaves_and_their_options():
    """Groups are words of their commands; hidden commands and `--help` are left out."""
    group = click.Group("g")
    group.add_command(click.Command("hidden", hidden=True))
    option = click.Option(["-p", "--port"], default=1, help="Where.", multiple=False)
    group.add_command(click.Command("leaf", params=[option], help="Does it."))
    assert manifest(group, "prog") == (
        CommandSpec(
            ("prog", "leaf"),
            "Does it.",
            (OptionSpec("--port", default=1, is_flag=False, is_repeated=False, help="Where."),),
        ),
    )


def test_the_documented_commands_are_those_that_exist():
    """Each row of the table in docs/cli.md is one command, its options and its first sentence."""
    rows = re.findall(
        r"^\| `([^|]*)` \| ([^|]*) \| ([^|]*) \|$", DOCUMENT.read_text(), re.MULTILINE
    )
    documented = [(words, re.findall(r"`(\S+)`", options), does) for words, options, does in rows]
    assert documented == [
        (" ".join(spec.words), [option.name for option in spec.options], spec.help.split("\n\n")[0])
        for spec in manifest(anvil_serving, PROGRAM)
    ]


def test_every_option_is_explained():
    """No option is without help."""
    options = [option for spec in manifest(anvil_serving, PROGRAM) for option in spec.options]
    assert all(option.help.endswith(".") for option in options)
