"""The `anvil-serving` command."""

import errno
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from anvil_trio import __version__
from anvil_trio.cli.demo import demo, demo_engine
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.media import media
from anvil_trio.cli.router import router
from anvil_trio.cli.running import silence_stdout
from anvil_trio.cli.serves import serves
from anvil_trio.cli.topology import topology
from anvil_trio.cli.usage import explain

__all__ = ["PROGRAM", "anvil_serving", "main"]

PROGRAM = "anvil-serving"
_NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""A full disk, a quota, a limit, a terminal that is gone."""


@click.group(no_args_is_help=False)
@click.version_option(__version__, prog_name=PROGRAM)
def anvil_serving() -> None:
    """One name in front of several identical language-model servers on one machine."""


for _command in (router, serves, media, topology, demo, demo_engine):
    anvil_serving.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command line (`sys.argv` if none is given) and exit with its status.

    A command line that is not valid is explained on stderr in fixed words; the status is 2. What a
    terminal has no character for is shown as `?`.
    """
    if isinstance(sys.stdout, TextIOWrapper):  # it is None where descriptor 1 was closed
        sys.stdout.reconfigure(errors="replace")
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        anvil_serving.main(args=arguments, prog_name=PROGRAM, standalone_mode=False)
    except click.UsageError as error:
        click.echo(explain(error), err=True)
        return Exit.USAGE
    except click.Abort:
        return Exit.INTERRUPTED
    except OSError as error:
        if error.errno not in _NOT_WRITTEN:
            raise
        silence_stdout()
        click.echo("The output could not be written.", err=True)
        return Exit.EXECUTION
    return Exit.SUCCESS
