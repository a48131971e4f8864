"""`anvil-serving serves`: what runs behind the router on this machine."""

import click

from anvil_trio.cli.serves_modes import mode, profile
from anvil_trio.cli.serves_promote import promote
from anvil_trio.cli.serves_single import down, list_serves, status, up, up_for

__all__ = ["serves"]


@click.group(no_args_is_help=False)
def serves() -> None:
    """The model servers on this machine: start, stop, promote, and share out the GPUs."""


for _command in (up, down, status, list_serves, up_for, mode, profile, promote):
    serves.add_command(_command)
