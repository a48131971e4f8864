"""`router install-config --confirm`: what is read, asked and held before the first step, and after.

T015: the snapshot that is installed was captured and validated before anything here is called.
"""

import os
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import trio

from anvil_trio.cli.envelope import CommandFailed
from anvil_trio.cli.install_router import HttpRouter
from anvil_trio.cli.install_words import explain_code
from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.load import config_path, current_folder, home_path
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.regular import read_regular
from anvil_trio.installation.faults import InstallFailed, InstallFault
from anvil_trio.installation.installer import Bounds, Installer, Outcome, look_over
from anvil_trio.installation.live_file import LiveFile
from anvil_trio.installation.lock import hold_lock
from anvil_trio.installation.orders import RouterOrders
from anvil_trio.installation.payload import Payload
from anvil_trio.installation.plan import Plan
from anvil_trio.installation.protocol import Step, Way
from anvil_trio.installation.restart import run_restart
from anvil_trio.installation.settings import InstallSettings, parse_settings

__all__ = ["install", "is_unfinished", "live_file"]

_SETTINGS_NAME = "router-install.toml"
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def live_file(told_path: str | None) -> LiveFile:
    """The router's own file: as told, else where `router run` looks. Raises CommandFailed."""
    try:
        return LiveFile(config_path(told_path, os.environ, current_folder()))
    except (OSError, ValueError, RuntimeError):  # a folder that is gone; no home for ~
        raise CommandFailed(explain_code(InstallFault.LIVE_UNREADABLE)) from None
    except InstallFailed as failed:
        raise CommandFailed(explain_code(failed.code)) from None


def is_unfinished(live: LiveFile) -> bool:
    """Whether an earlier installation has left its journal, damaged or not."""
    try:
        return live.read_journal() is not None
    except InstallFailed:
        return True


def install(
    payload: Payload,
    live: LiveFile,
    router_url: str | None,
    drain_timeout: float,
    *,
    is_restart: bool,
    on_step: Callable[[Step], None],
) -> tuple[Plan, Outcome]:
    """Install the captured bytes; what was to be done and what has become of it.

    Raises CommandFailed for what was refused before the first step.
    """
    environ = os.environ
    try:
        home = home_path(environ, current_folder())
        settings = _settings(home, needs_command=is_restart)
        command = settings.restart_command or ()
        restart = partial(run_restart, command, home, settings.restart_timeout_s)
        bounds = Bounds(drain_timeout, settings.start_timeout_s)
        router = _router(router_url, environ)
        way = Way.RESTART if is_restart else Way.HOT
        with hold_lock(home):
            plan = trio.run(look_over, way, payload, router, live)
            installer = partial(Installer, plan, router, live, restart, bounds, on_step)
            return plan, trio.run(_run, installer)
    except InstallFailed as failed:
        raise CommandFailed(explain_code(failed.code)) from None


async def _run(make_installer: Callable[[], Installer]) -> Outcome:
    """The first signal undoes what was begun; further ones change nothing about that."""
    installer = make_installer()
    with trio.open_signal_receiver(*_INTERRUPTS) as signals:
        async with trio.open_nursery() as nursery:

            async def listen() -> None:
                async for _ in signals:
                    installer.interrupt()

            nursery.start_soon(listen)
            outcome = await installer.run()
            nursery.cancel_scope.cancel()
    return outcome


def _settings(home: Path, *, needs_command: bool) -> InstallSettings:
    try:
        settings = parse_settings(read_regular(home / _SETTINGS_NAME, MAX_CONFIG_BYTES))
    except FileNotFoundError:
        settings = InstallSettings()
    except (ConfigError, OSError, ValueError):
        raise InstallFailed(InstallFault.SETTINGS_INVALID) from None
    if needs_command and settings.restart_command is None:
        raise InstallFailed(InstallFault.NO_COMMAND)
    return settings


def _router(url: str | None, environ: Mapping[str, str]) -> RouterOrders:
    router = HttpRouter(url, environ)
    router.check()
    return router
