"""The manifest of commands: what documents and tests are compared with."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import click

__all__ = ["CommandSpec", "OptionSpec", "manifest"]


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option of a command; `default` is None where there is none."""

    name: str
    default: object
    is_flag: bool
    is_repeated: bool
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


def _leaves(info: dict[str, object], words: tuple[str, ...]) -> Iterator[CommandSpec]:
    if info["hidden"]:
        return
    commands = cast("dict[str, dict[str, object]]", info.get("commands", {}))
    for name, inner in commands.items():
        yield from _leaves(inner, (*words, name))
    if not commands:
        params = cast("list[dict[str, object]]", info["params"])
        options = tuple(_option(each) for each in params if _is_option(each))
        arguments = tuple(str(each["metavar"]) for each in params if not _is_option(each))
        shown = tuple(option for option in options if option.name != "--help")
        yield CommandSpec(words, str(info["help"]), shown, arguments)


def _is_option(info: dict[str, object]) -> bool:
    return info["param_type_name"] == "option"


def _option(info: dict[str, object]) -> OptionSpec:
    return OptionSpec(
        name=max(cast("list[str]", info["opts"]), key=len),
        default=info["default"],
        is_flag=bool(info["is_flag"]),
        is_repeated=bool(info["multiple"]),
        help=str(info["help"]),
    )
