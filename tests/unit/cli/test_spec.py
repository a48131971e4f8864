"""The manifest of commands, and the table that documents them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click

from anvil_trio.cli.exits import Exit
from anvil_trio.cli.main import PROGRAM, anvil_serving
from anvil_trio.cli.spec import (
    MANIFEST_PATH,
    Authority,
    CommandSpec,
    OptionSpec,
    authority_of,
    manifest,
    render_manifest,
)

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "cli.md"


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
            (
                OptionSpec(
                    "--port",
                    default=1,
                    is_flag=False,
                    is_repeated=False,
                    is_required=False,
                    help="Where.",
                ),
            ),
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


def test_the_manifest_in_the_documentation_is_generated():
    """T013.1: byte for byte; `python -m anvil_trio.cli.spec` writes it."""
    written = (ROOT / MANIFEST_PATH).read_bytes()
    assert written.decode() == render_manifest(manifest(anvil_serving, PROGRAM))


def test_the_manifest_is_written_where_the_project_is(tmp_path):
    """T013.1: running the module writes these very bytes below the current directory."""
    (tmp_path / "docs").mkdir()
    subprocess.run(
        [sys.executable, "-m", "anvil_trio.cli.spec"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert (tmp_path / MANIFEST_PATH).read_bytes() == (ROOT / MANIFEST_PATH).read_bytes()


def test_the_manifest_says_what_a_command_may_do():
    """A help text that is indented and one that is not are one; the exits are named."""
    option = OptionSpec(
        "--x", default=None, is_flag=False, is_repeated=False, is_required=True, help="X."
    )
    document = json.loads(
        render_manifest([CommandSpec(("prog", "leaf"), "Does.", (option,), ("NAME",))])
    )
    assert document == {
        "schema": "anvil-serving-commands/v1",
        "exits": {status.name.lower(): status.value for status in Exit},
        "commands": [
            {
                "command": "prog leaf",
                "authority": "reads",
                "arguments": ["NAME"],
                "help": "Does.",
                "options": [
                    {
                        "name": "--x",
                        "default": None,
                        "is_flag": False,
                        "is_repeated": False,
                        "is_required": True,
                        "help": "X.",
                    }
                ],
            }
        ],
    }


def test_arguments_are_listed_beside_the_options():
    """By their names, in their order; one that may be left out stands in brackets."""
    group = click.Group("g")
    arguments: list[click.Parameter] = [
        click.Argument(["plan"]),
        click.Argument(["name"], required=False),
    ]
    group.add_command(click.Command("leaf", params=arguments, help="Does it."))
    (spec,) = manifest(group, "prog")
    assert (spec.arguments, spec.options) == (("PLAN", "[NAME]"), ())


def test_help_is_the_same_however_it_is_indented():
    """Newer versions of Python take the indentation out of docstrings."""
    group = click.Group("g")
    group.add_command(click.Command("leaf", help="One.\n\n    Two.\n    "))
    (spec,) = manifest(group, "prog")
    assert spec.help == "One.\n\nTwo."


def test_what_changes_something_asks_for_confirmation():
    """No command may change anything without having --confirm."""
    specs = manifest(anvil_serving, PROGRAM)
    changing = [spec for spec in specs if authority_of(spec) is Authority.CHANGES]
    assert changing
    for spec in changing:
        assert "--confirm" in [option.name for option in spec.options]
