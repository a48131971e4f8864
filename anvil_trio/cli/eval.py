"""`anvil-serving eval`: one concrete engine, measured before an alias is mapped to it."""

import click

from anvil_trio.cli.eval_benchmark import benchmark
from anvil_trio.cli.eval_preflight import preflight

__all__ = ["evaluate"]


@click.group("eval", no_args_is_help=False)
def evaluate() -> None:
    """One engine, checked and measured; nothing is configured, started or changed."""


for _command in (benchmark, preflight):
    evaluate.add_command(_command)
