"""`anvil-serving media`: what operations await an operator's word, and giving it."""

import os
import time
from functools import partial
from pathlib import Path

import click
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.serves_answer import Answer, answer
from anvil_trio.cli.serves_desk import CONFIRM_OPTION, JSON_OPTION, FilesInvalid
from anvil_trio.config.load import config_path, current_folder
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.source import ConfigSource
from anvil_trio.operations.approval import approve as let_go_on
from anvil_trio.operations.approval import find_awaiting
from anvil_trio.operations.database import DatabaseUnusable
from anvil_trio.operations.model import Operation, Refusal

__all__ = ["media"]

CONFIRM = Failure(
    Exit.SAFETY, "confirmation_required", "This lets an operation go on; add --confirm."
)
CONFIG_INVALID = Failure(
    Exit.USAGE, "config_invalid", "The router's configuration cannot be read or is not valid."
)
NO_MEDIA = Failure(Exit.USAGE, "media_not_configured", "The configuration has no media_ keys.")
NO_DATABASE = Failure(
    Exit.EXECUTION,
    "operations_unavailable",
    "The database of operations is not there, is busy, or is of another version.",
)
NOT_FOUND = Failure(Exit.EXECUTION, "operation_not_found", "There is no such operation.")
NOT_AWAITING = Failure(
    Exit.EXECUTION,
    "operation_not_awaiting_approval",
    "The operation waits for nobody's approval.",
)
_REFUSED = {failure.code: failure for failure in (NOT_FOUND, NOT_AWAITING)}

_CONFIG_OPTION = click.option(
    "--config",
    metavar="PATH",
    help="The router's configuration. Without it: $ANVIL_SERVING_HOME/router.toml, else "
    "./router.toml.",
)


@click.group(no_args_is_help=False)
def media() -> None:
    """The router's operations: what awaits approval, and approving it."""


@media.command("awaiting")
@_CONFIG_OPTION
@JSON_OPTION
def awaiting(config: str | None, *, is_json: bool) -> None:
    """List the operations that await approval, the oldest first.

    Nothing is changed, and the router need not run. Neither who asked nor what for is shown.
    """

    def work() -> Answer:
        found = _waiting(_database(config))
        data: list[JsonValue] = [_project(each) for each in found]
        lines = [f"{each.id}  {each.workflow_id} {each.version}" for each in found]
        return Answer({"operations": data}, lines or ["No operation awaits approval."])

    answer("media awaiting", work, is_json=is_json)


@media.command("approve")
@click.argument("operation", metavar="OPERATION")
@_CONFIG_OPTION
@CONFIRM_OPTION
@JSON_OPTION
def approve(operation: str, config: str | None, *, is_confirmed: bool, is_json: bool) -> None:
    """Let an operation that awaits approval go on.

    A router that runs takes it up within five seconds, one that does not at its next start. What is
    not approved within a day of its submission has failed; its caller may also cancel it.
    """
    answer(
        "media approve",
        partial(_approve, operation, config, is_confirmed=is_confirmed),
        is_json=is_json,
    )


def _approve(operation_id: str, config: str | None, *, is_confirmed: bool) -> Answer:
    path = _database(config)
    if not is_confirmed:
        raise CommandFailed(CONFIRM)
    try:
        found = let_go_on(path, operation_id, time.time())
    except DatabaseUnusable:
        raise CommandFailed(NO_DATABASE) from None
    if isinstance(found, Refusal):
        raise CommandFailed(_REFUSED[found.code.value])
    return Answer({"operation": _project(found)}, [f"{found.id}: approved"])


def _waiting(path: Path) -> list[Operation]:
    try:
        return find_awaiting(path)
    except DatabaseUnusable:
        raise CommandFailed(NO_DATABASE) from None


def _database(told: str | None) -> Path:
    """Where the router that this configuration describes keeps its operations."""
    cwd = current_folder()
    source = ConfigSource(config_path(told, os.environ, cwd), os.environ, cwd=cwd)
    try:
        settings = source.resolve(source.load()).media
    except ConfigError as error:
        raise FilesInvalid(CONFIG_INVALID, error.problems) from None
    if settings is None:
        raise CommandFailed(NO_MEDIA)
    return settings.state_db


def _project(operation: Operation) -> JsonValue:
    return {
        "id": operation.id,
        "workflow": operation.workflow_id,
        "version": operation.version,
        "quality_profile": operation.quality_profile,
        "state": operation.state.value,
        "created_at": operation.created_s,
    }
