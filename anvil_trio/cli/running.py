"""Runs what a command waits for, and tells the failures that are to be expected in plain lines."""

import errno
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from socket import gaierror
from typing import TypeVar

import click
import trio

from anvil_trio.cli.exits import Exit
from anvil_trio.config.problems import ConfigError

__all__ = ["run", "silence_stdout", "tell_problems"]

_CANNOT_LISTEN = {
    errno.EADDRINUSE: "The address is already in use; --port 0 takes any free port.",
    errno.EACCES: "Listening on this port is not allowed.",
    errno.EADDRNOTAVAIL: "This machine does not have that address.",
}
_NO_SUCH_HOST = "The host does not name an address."

_Error = TypeVar("_Error", bound=BaseException)


def run(work: Callable[[], Awaitable[None]], *, on_interrupt: Exit = Exit.INTERRUPTED) -> None:
    """Run `work` to its end; on a failure that is to be expected say why and exit.

    A configuration that is not valid: every problem on a line, status 2. An address that cannot be
    listened on: one line, status 1. A reader of stdout that has left: nothing, status 1. Ctrl-C
    that `work` did not take: nothing, `on_interrupt`. Anything else is a fault of ours and raised.
    """
    status = Exit.SUCCESS
    try:
        trio.run(work, restrict_keyboard_interrupt_to_checkpoints=True)
    except* ConfigError as refused:
        for fault in _leaves(refused):
            tell_problems(fault)
        status = Exit.USAGE
    except* (BrokenPipeError, SystemExit):  # rich ends with the latter where it meets the former
        silence_stdout()
        status = Exit.EXECUTION
    except* OSError as failed:
        for error in _leaves(failed):
            click.echo(_why_not_listening(error), err=True)
        status = Exit.EXECUTION
    except* KeyboardInterrupt:
        status = on_interrupt
    if status is not Exit.SUCCESS:
        sys.exit(status)


def tell_problems(error: ConfigError) -> None:
    """Write each problem on stderr, by key path and rule and never by value (R012)."""
    for problem in error.problems:
        click.echo(problem.line, err=True)


def _leaves(group: BaseExceptionGroup[_Error]) -> Iterator[_Error]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _why_not_listening(error: OSError) -> str:
    if isinstance(error, gaierror):
        return _NO_SUCH_HOST
    if error.errno not in _CANNOT_LISTEN:
        raise error
    return _CANNOT_LISTEN[error.errno]


def silence_stdout() -> None:
    """What is still buffered must not fail again when the interpreter ends."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
