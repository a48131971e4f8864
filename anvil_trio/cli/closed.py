"""Command lines that are read by one small closed parser, because their arguments are private.

click takes the last of an option that is given twice, guesses options from their first letters and
has many ways of saying what is wrong. Here a line is what it should be, or it is nothing, and
nothing of it is told.
"""

from collections import deque
from collections.abc import Mapping, Sequence

import click

__all__ = ["ClosedCommand", "read_arguments"]


def read_arguments(
    arguments: Sequence[str], options: Sequence[click.Option]
) -> Mapping[str, str] | None:
    """The value of each option that is given, by the option's name; that of a flag is "".

    None unless each word is one of `options` (in full, `--name VALUE` or `--name=VALUE`) or its
    value, none is repeated, no value is empty, and all that are required are there. A value that
    begins with - is written with =.
    """
    known = {option.opts[0]: option for option in options}
    found, waiting = dict[str, str](), deque(arguments)
    while waiting:
        name, sign, value = waiting.popleft().partition("=")
        if name not in known or name in found:
            return None
        if not sign and not known[name].is_flag:
            value = waiting.popleft() if waiting and not waiting[0].startswith("-") else ""
        is_right = not sign if known[name].is_flag else bool(value)
        if not is_right:
            return None
        found[name] = value
    required = {name for name, option in known.items() if option.required}
    return found if required <= found.keys() else None


class ClosedCommand(click.Command):
    """A command whose callback gets `given`, what `read_arguments` made of the line, and `is_json`.

    `is_json` says whether --json stands anywhere in the line: who asked for an object gets one
    even if the line is wrong. --help alone explains the command.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the line in place of click; no line makes it raise."""
        if args == ["--help"]:
            return super().parse_args(ctx, args)
        options = [option for option in self.params if isinstance(option, click.Option)]
        ctx.params = {"given": read_arguments(args, options), "is_json": "--json" in args}
        return []
