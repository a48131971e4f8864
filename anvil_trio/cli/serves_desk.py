"""From the options of a `serves` command to what it works with."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click

from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.router_orders import HttpOrders
from anvil_trio.cli.serves_words import EVENTS_INVALID, MANIFEST_INVALID, PROFILES_INVALID
from anvil_trio.config.load import current_folder, expand_path, home_path
from anvil_trio.config.problems import ConfigError, ConfigProblem
from anvil_trio.lifecycle.desk import Desk
from anvil_trio.lifecycle.engines import Engines
from anvil_trio.lifecycle.events import Events
from anvil_trio.lifecycle.files import (
    capture,
    read_events,
    read_manifest,
    read_profiles,
)
from anvil_trio.lifecycle.model import Manifest, Profile
from anvil_trio.lifecycle.store import OperationStore, hold_lock

__all__ = [
    "CONFIG_OPTION",
    "CONFIRM_OPTION",
    "JSON_OPTION",
    "MANIFEST_OPTION",
    "ROUTER_OPTION",
    "FilesInvalid",
    "Place",
]

MANIFEST_OPTION = click.option(
    "--manifest",
    metavar="PATH",
    help="The serves file; every serves*.toml beside it belongs to it. Without it: "
    "$ANVIL_SERVING_HOME/serves.toml.",
)
CONFIG_OPTION = click.option(
    "--config",
    metavar="PATH",
    help="The router's own configuration, on this machine. Without it: "
    "$ANVIL_SERVING_HOME/router.toml.",
)
ROUTER_OPTION = click.option(
    "--router-url",
    metavar="URL",
    help="The router; its host is a literal private address. Without it: $ANVIL_ROUTER_URL, else "
    "http://127.0.0.1:8000.",
)
CONFIRM_OPTION = click.option(
    "--confirm", "is_confirmed", is_flag=True, help="Really do it; without it nothing is changed."
)
JSON_OPTION = click.option("--json", "is_json", is_flag=True, help="Answer in one JSON object.")


class FilesInvalid(CommandFailed):
    """One of the operator's files is not valid; `problems` name keys and rules, never values."""

    def __init__(self, failure: Failure, problems: Sequence[ConfigProblem]) -> None:
        super().__init__(failure)
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Place:
    """Where the operator's files are: what the command line said, else the operator's home."""

    manifest_path: str | None
    config_path: str | None = None
    router_url: str | None = None
    home: Path = field(default_factory=lambda: home_path(os.environ, current_folder()))

    @property
    def file(self) -> Path:
        """The serves file."""
        return self._at(self.manifest_path, "serves.toml")

    @property
    def live_config(self) -> Path:
        """The router's own file, and not a link to it."""
        path = self._at(self.config_path, "router.toml")
        try:
            return path.resolve()
        except (OSError, RuntimeError, ValueError):
            return path  # it cannot be read either, and that is told

    def manifest(self) -> Manifest:
        """The set. Raises FilesInvalid."""
        try:
            return read_manifest(self.file)
        except ConfigError as error:
            raise FilesInvalid(MANIFEST_INVALID, error.problems) from None
        except (OSError, ValueError):
            raise FilesInvalid(MANIFEST_INVALID, ()) from None

    def profiles(self, manifest: Manifest) -> tuple[Profile, ...]:
        """The profiles beside it. Raises FilesInvalid."""
        try:
            return read_profiles(self.file.parent, manifest)
        except ConfigError as error:
            raise FilesInvalid(PROFILES_INVALID, error.problems) from None

    def engines(self, manifest: Manifest) -> Engines:
        """The serves as they are."""
        return Engines(manifest, self.home, self.file.parent)

    def desk(self, manifest: Manifest) -> Desk:
        """All that an operation may touch; nothing is touched yet. Raises FilesInvalid."""
        return Desk(
            manifest=manifest,
            folder=self.file.parent,
            engines=self.engines(manifest),
            store=OperationStore(self.home),
            lock=self.lock,
            events=self.events(),
            router=HttpOrders(self.router_url, os.environ),
            live_config=self.live_config,
            active=capture(self.live_config),
        )

    @property
    def lock(self) -> Callable[[], AbstractContextManager[None]]:
        """What every change holds."""
        return partial(hold_lock, self.home)

    def events(self) -> Events:
        """Where what was done is recorded. Raises FilesInvalid."""
        try:
            return Events(self.home, read_events(self.file.parent))
        except ConfigError as error:
            raise FilesInvalid(EVENTS_INVALID, error.problems) from None

    def _at(self, told: str | None, name: str) -> Path:
        if told is None:
            return self.home / name
        return current_folder() / expand_path(told, os.environ)
