"""How the commands that only read find the router and what opens it: options, file, environment."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from anvil_trio.cli.diagnostics_settings import (
    MAX_SETTINGS_BYTES,
    MAX_TIMEOUT_S,
    Settings,
    parse_settings,
)
from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.router_client import Question
from anvil_trio.cli.values import SecondsRange
from anvil_trio.config.load import expand_path, home_file, resolve_secret
from anvil_trio.config.protected import read_protected
from anvil_trio.config.regular import read_regular
from anvil_trio.config.secrets import look_up, parse_env
from anvil_trio.config.urls import router_fault
from anvil_trio.names import is_env_name

__all__ = ["Reach", "Told", "reach_params", "resolve_reach"]

SETTINGS_NAME = "router-diagnostics.toml"
_URL_ENV = "ANVIL_ROUTER_URL"
_TOKEN_ENV = "ANVIL_ROUTER_TOKEN"  # noqa: S105 - the name of a variable
_DEFAULT_URL = "http://127.0.0.1:8000"
_DEFAULT_TIMEOUT_S = 10.0
_MAX_CREDENTIAL_BYTES = 65_536

_BAD_URL = Failure(
    Exit.USAGE,
    "invalid_router_url",
    "The router's URL must be http or https, and its host a literal loopback or private address.",
)
_NO_TOKEN = Failure(
    Exit.USAGE,
    "router_credential_required",
    f"No credential for the router: set {_TOKEN_ENV}, or the variable that --auth-env names; "
    f"{SETTINGS_NAME} may name a file.",
)
_BAD_SETTINGS = Failure(
    Exit.USAGE,
    "router_diagnostics_config_invalid",
    "The settings cannot be read, or a key or value in them is not valid. They are a file of their "
    "own, not the router's configuration.",
)


@dataclass(frozen=True, slots=True)
class Told:
    """What the command line says of the way to the router; None where it says nothing."""

    config: str | None = None
    router_url: str | None = None
    auth_env: str | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """A way to the router. `repr` shows neither address nor token."""

    url: str
    token: str
    timeout_s: float

    def __repr__(self) -> str:
        return "Reach()"

    def question(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        refusals: Mapping[str, Failure] | None = None,
    ) -> Question:
        """One GET."""
        return Question(
            self.url, self.token, path, dict(query or {}), None, self.timeout_s, refusals or {}
        )


def reach_params() -> Sequence[click.Parameter]:
    """The options that all reading commands have, in one order."""
    return (
        click.Option(
            ["--config"],
            metavar="PATH",
            help="The settings of this command, not the router's configuration. Without it: "
            f"$ANVIL_SERVING_HOME/{SETTINGS_NAME}, if it is there.",
        ),
        click.Option(
            ["--router-url"],
            metavar="URL",
            help=f"The router; its host is a literal private address. Without it: ${_URL_ENV}, "
            f"the settings, else {_DEFAULT_URL}.",
        ),
        click.Option(
            ["--auth-env"],
            metavar="NAME",
            help=f"The variable that holds the credential. Without it: the settings, else "
            f"{_TOKEN_ENV}.",
        ),
        click.Option(
            ["--timeout"],
            type=SecondsRange(0, MAX_TIMEOUT_S, min_open=True),
            help="Seconds that each answer of the router may take, at most 30; 10 by default.",
        ),
    )


def resolve_reach(told: Told, environ: Mapping[str, str], cwd: Path) -> Reach:
    """The way to the router that options, settings and environment name, in this order.

    Raises CommandFailed for settings, an address or a credential of no use. Nothing is asked yet.
    """
    settings = _settings(told.config, environ, cwd)
    url = told.router_url or environ.get(_URL_ENV) or settings.router_url or _DEFAULT_URL
    if router_fault(url) is not None:
        raise CommandFailed(_BAD_URL)
    token = _credential(told.auth_env, settings, environ)
    if not token or not token.isascii() or not token.isprintable():
        raise CommandFailed(_NO_TOKEN)
    return Reach(url, token, told.timeout or settings.timeout or _DEFAULT_TIMEOUT_S)


def _settings(told: str | None, environ: Mapping[str, str], cwd: Path) -> Settings:
    if told is None:
        path = home_file(SETTINGS_NAME, environ, cwd)
        if not os.path.lexists(path):
            return Settings()
    else:
        path = cwd / expand_path(told, environ)
    try:
        found = parse_settings(read_regular(path, MAX_SETTINGS_BYTES))
    except (OSError, ValueError):  # ValueError: a path with a null character, or no plain file
        found = None
    if found is None:
        raise CommandFailed(_BAD_SETTINGS)
    return found


def _credential(told_env: str | None, settings: Settings, environ: Mapping[str, str]) -> str | None:
    """A variable that the command line names comes first, then the files of the settings."""
    if told_env is not None:
        return resolve_secret(told_env, environ) if is_env_name(told_env) else None
    if settings.credential_file is not None:
        return _read(settings.credential_file, environ).strip()
    name = settings.auth_env or _TOKEN_ENV
    if settings.credential_env_file is not None:
        return look_up(name, [parse_env(_read(settings.credential_env_file, environ))])
    return resolve_secret(name, environ)


def _read(path: str, environ: Mapping[str, str]) -> str:
    """A small protected file; nothing, if it is not one."""
    try:
        data = read_protected(expand_path(path, environ), _MAX_CREDENTIAL_BYTES)
        return data.decode("utf-8") if len(data) <= _MAX_CREDENTIAL_BYTES else ""
    except (OSError, ValueError):
        return ""
