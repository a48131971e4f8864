"""The manifest of commands: what documents, tests and other programs are compared with.

`python -m anvil_trio.cli.spec` writes docs/CLI-COMMAND-MANIFEST.json below the current directory.
"""

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import cast

import click
import msgspec

from anvil_trio.cli.exits import Exit
from anvil_trio.cli.main import PROGRAM, anvil_serving

__all__ = [
    "MANIFEST_PATH",
    "Authority",
    "CommandSpec",
    "OptionSpec",
    "authority_of",
    "manifest",
    "render_manifest",
]

MANIFEST_PATH = Path("docs/CLI-COMMAND-MANIFEST.json")
_SCHEMA = "anvil-serving-commands/v1"


class Authority(StrEnum):
    """What a command may do, at most."""

    READS = "reads"
    """It looks and tells; whoever may see may call it."""
    CHANGES = "changes"
    """It changes what a router or this machine does, and only with --confirm."""
    SERVES = "serves"
    """It runs a server until it is stopped."""


_AUTHORITIES = {
    "demo": Authority.SERVES,
    "demo-engine": Authority.SERVES,
    "media approve": Authority.CHANGES,
    "router install-config": Authority.CHANGES,
    "router quiesce": Authority.CHANGES,
    "router readmit": Authority.CHANGES,
    "router run": Authority.SERVES,
    "serves down": Authority.CHANGES,
    "serves mode enter": Authority.CHANGES,
    "serves mode leave": Authority.CHANGES,
    "serves profile apply": Authority.CHANGES,
    "serves promote": Authority.CHANGES,
    "serves up": Authority.CHANGES,
    "serves up-for": Authority.CHANGES,
}


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option of a command; `default` is None where there is none."""

    name: str
    default: object
    is_flag: bool
    is_repeated: bool
    is_required: bool
    help: str


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """One command that can be run, with the words that call it."""

    words: tuple[str, ...]
    help: str
    options: tuple[OptionSpec, ...]
    arguments: tuple[str, ...] = ()


def manifest(command: click.Command, name: str) -> tuple[CommandSpec, ...]:
    """Every visible command below `command`, in the order of their words, `--help` left out."""
    info = click.Context(command, info_name=name).to_info_dict()
    return tuple(sorted(_leaves(info["command"], (name,)), key=lambda spec: spec.words))


def authority_of(spec: CommandSpec) -> Authority:
    """What the command may do; to look is all that one may which is not named here."""
    return _AUTHORITIES.get(" ".join(spec.words[1:]), Authority.READS)


def render_manifest(specs: Iterable[CommandSpec]) -> str:
    """The manifest as JSON, byte for byte the same for the same commands."""
    commands = [
        {
            "command": " ".join(spec.words),
            "authority": authority_of(spec).value,
            "help": spec.help,
            "arguments": [*spec.arguments],
            "options": [asdict(option) for option in spec.options],
        }
        for spec in specs
    ]
    document = {
        "schema": _SCHEMA,
        "exits": {status.name.lower(): status.value for status in Exit},
        "commands": commands,
    }
    encoded = msgspec.json.encode(document, order="sorted")
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def _leaves(info: dict[str, object], words: tuple[str, ...]) -> Iterator[CommandSpec]:
    if info["hidden"]:
        return
    commands = cast("dict[str, dict[str, object]]", info.get("commands", {}))
    for name, inner in commands.items():
        yield from _leaves(inner, (*words, name))
    if not commands:
        params = cast("list[dict[str, object]]", info["params"])
        options = tuple(_option(each) for each in params if _is_option(each))
        arguments = tuple(_argument(each) for each in params if not _is_option(each))
        shown = tuple(option for option in options if option.name != "--help")
        # How docstrings are indented depends on the version of Python.
        yield CommandSpec(words, inspect.cleandoc(str(info["help"])), shown, arguments)


def _argument(info: dict[str, object]) -> str:
    name = str(info["name"]).upper()
    return name if info["required"] else f"[{name}]"


def _is_option(info: dict[str, object]) -> bool:
    return info["param_type_name"] == "option"


def _option(info: dict[str, object]) -> OptionSpec:
    return OptionSpec(
        name=max(cast("list[str]", info["opts"]), key=len),
        default=info["default"],
        is_flag=bool(info["is_flag"]),
        is_repeated=bool(info["multiple"]),
        is_required=bool(info["required"]),
        help=str(info["help"]),
    )


if __name__ == "__main__":
    MANIFEST_PATH.write_text(render_manifest(manifest(anvil_serving, PROGRAM)), encoding="utf-8")
