"""What every reading command does: ask, then show an object as JSON or as a person reads it."""

import sys
from collections.abc import Awaitable, Callable, Mapping

import click
import trio
from pydantic import JsonValue
from rich.console import Console, RenderableType

from anvil_trio.cli.envelope import CommandFailed, render_envelope

__all__ = ["open_console", "tell"]

_FILE_WIDTH = 200

Answer = dict[str, JsonValue]


def tell(
    command: str,
    ask: Callable[[], Awaitable[Answer]],
    render: Callable[[Mapping[str, JsonValue]], RenderableType],
    *,
    is_json: bool,
) -> None:
    """Show what `ask` finds out and return; or say why not, and exit with that status."""
    try:
        answer = trio.run(ask)
    except CommandFailed as failed:
        failure = failed.failure
        if is_json:
            click.echo(render_envelope(command, None, failure))
        else:
            click.echo(f"{failure.code}: {failure.message}", err=True)
        sys.exit(failure.status)
    if is_json:
        click.echo(render_envelope(command, answer))
    else:
        open_console().print(render(answer))


def open_console() -> Console:
    """Stdout, as wide as its terminal; wide enough for a whole line where there is none."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_FILE_WIDTH)
