"""What the commands that measure a server share: how it is named, and how rows are told."""

import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType

import click
from pydantic import JsonValue
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from anvil_trio.cli.envelope import CommandFailed, Failure, render_envelope
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.reading import open_console
from anvil_trio.cli.running import run
from anvil_trio.cli.values import SecondsRange
from anvil_trio.config.load import resolve_secret
from anvil_trio.config.urls import direct_fault
from anvil_trio.conform.asking import Target
from anvil_trio.conform.verdict import Outcome, Result
from anvil_trio.names import is_env_name

__all__ = [
    "CHECK_FAILED",
    "JSON_OPTION",
    "MODEL_OPTION",
    "TIMEOUT_OPTION",
    "UNREACHABLE",
    "URL_OPTION",
    "Bar",
    "answer",
    "auth_option",
    "has_failed",
    "measure",
    "print_results",
    "render_results",
    "resolve_target",
]

CHECK_FAILED = Failure(Exit.EXECUTION, "check_failed", "A check failed.")
UNREACHABLE = Failure(
    Exit.TRANSPORT, "server_unreachable", "No connection could be made. Does a server run at --url?"
)
_BAD_URL = Failure(
    Exit.USAGE, "invalid_url", "A URL must be http or https, without credentials, ? and #."
)
_BAD_MODEL = Failure(Exit.USAGE, "invalid_model", "A model has a name of printable characters.")
_NO_KEY = Failure(
    Exit.USAGE,
    "credential_required",
    "A variable that was named for a key is not set, or holds what no key is made of.",
)
_MAX_MODEL_CHARS = 256
_SHOWN = {
    Outcome.PASSED: ("pass", "green"),
    Outcome.FAILED: ("FAIL", "bold red"),
    Outcome.NOT_APPLICABLE: ("n/a", "dim"),
}

URL_OPTION = click.Option(
    ["--url"], metavar="URL", required=True, help="The server, with or without /v1 at its end."
)
MODEL_OPTION = click.Option(
    ["--model"], metavar="NAME", required=True, help="What the server calls its model."
)
TIMEOUT_OPTION = click.Option(
    ["--timeout"],
    type=SecondsRange(0, 900, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that each answer may take.",
)
JSON_OPTION = click.Option(["--json", "is_json"], is_flag=True, help="Answer in one JSON object.")


def auth_option(default: str) -> click.Option:
    """`--auth-env`: the name of a variable, never a key."""
    return click.Option(
        ["--auth-env"],
        metavar="NAME",
        help="The variable that holds the key, which must then be set. Without it: "
        f"{default}, which may be unset if no key is needed.",
    )


def resolve_target(url: str, model: str, auth_env: str | None, default_env: str) -> Target:
    """The server that the options name. Raises CommandFailed; nothing is asked yet."""
    if direct_fault(url) is not None:
        raise CommandFailed(_BAD_URL)
    if not model or len(model) > _MAX_MODEL_CHARS or not model.isprintable():
        raise CommandFailed(_BAD_MODEL)
    name = default_env if auth_env is None else auth_env
    key = resolve_secret(name, os.environ) if is_env_name(name) else None
    if (auth_env is not None and not key) or (key and not (key.isascii() and key.isprintable())):
        raise CommandFailed(_NO_KEY)
    return Target(url, model, key or None)


def measure(command: str, work: Callable[[], Awaitable[None]], *, is_json: bool) -> None:
    """Run what measures, and answer for it if it ends before it has a result.

    Ctrl-C ends it at once with nothing but its status: every connection is closed by then.
    """
    failure: Failure | None = None

    async def guarded() -> None:
        nonlocal failure
        try:
            await work()
        except CommandFailed as failed:
            failure = failed.failure

    run(guarded)
    if failure is not None:
        answer(command, None, failure, is_json=is_json)


def answer(
    command: str,
    data: JsonValue,
    failure: Failure | None,
    *,
    is_json: bool,
    warnings: Sequence[str] = (),
) -> None:
    """End a command: one object if it was asked for, words on stderr if it failed, and its status.

    What a person reads was printed before.
    """
    if is_json:
        click.echo(render_envelope(command, data, failure, warnings))
    elif failure is not None:
        click.echo(f"{failure.code}: {failure.message}", err=True)
    if failure is not None:
        sys.exit(failure.status)


def has_failed(results: Sequence[Result]) -> bool:
    """Whether a check did."""
    return any(one.verdict.outcome is Outcome.FAILED for one in results)


def render_results(results: Sequence[Result]) -> Table:
    """The rows as a person reads them."""
    table = Table("", "check", "why", "measured", box=None, padding=(0, 2, 0, 0))
    for one in results:
        word, style = _SHOWN[one.verdict.outcome]
        facts = " ".join(f"{name}={value}" for name, value in one.verdict.facts.items())
        cells = (Text(word, style), Text(one.name), Text(one.verdict.reason), Text(facts))
        table.add_row(*cells)
    return table


def print_results(results: Sequence[Result]) -> None:
    """The rows on stdout."""
    open_console().print(render_results(results))


class Bar:
    """A bar on stderr while the block lasts, on a terminal only; it leaves nothing behind."""

    def __init__(self, *, is_wanted: bool) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            console=console,
            transient=True,
            disable=not (is_wanted and console.is_terminal),
        )

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def begin(self, words: str, total: int) -> Callable[[], None]:
        """A line of so many steps; call what is given back for each."""
        task = self._progress.add_task(words, total=total)
        return lambda: self._progress.advance(task)
