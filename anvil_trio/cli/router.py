"""`anvil-serving router`: run the router in the foreground."""

import ipaddress
import os
import sys
from functools import partial

import click

from anvil_trio.cli.diagnose import diagnose
from anvil_trio.cli.events import set_up_events
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.install import INSTALL_CONFIG
from anvil_trio.cli.running import run, tell_problems
from anvil_trio.cli.status import status
from anvil_trio.cli.top import top
from anvil_trio.cli.transition import TRANSITIONS
from anvil_trio.config.load import config_path, current_folder
from anvil_trio.config.model import RouterConfig
from anvil_trio.config.problems import ConfigError
from anvil_trio.config.source import ConfigSource
from anvil_trio.serving import run_router

__all__ = ["router"]


_NO_CONFIG = "--config names it; --help says where it is looked for without."


@click.group(no_args_is_help=False)
def router() -> None:
    """The router: one endpoint in front of your model servers."""


for _command in (*TRANSITIONS, INSTALL_CONFIG, diagnose, status, top):
    router.add_command(_command)


@router.command("run")
@click.option(
    "--config",
    "told_path",
    metavar="PATH",
    help="The configuration. Without it: $ANVIL_SERVING_HOME/router.toml, else ./router.toml.",
)
@click.option(
    "--authorization-policy",
    "policy_path",
    metavar="PATH",
    help="The clients and what each may do, in place of server.authorization_policy_path.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="The port to listen on; 0 takes any free one.",
)
def run_in_foreground(told_path: str | None, policy_path: str | None, host: str, port: int) -> None:
    """Run the router in the foreground until SIGTERM or Ctrl-C.

    Prints `listening on URL` when it takes requests; event lines go to stderr. The first signal
    lets running requests end within shutdown_timeout_s, a second one ends at once. A configuration
    or policy that is not valid ends it with status 2 and every problem on a line of stderr.
    """
    source, config = _loaded(told_path, policy_path)
    if config.server.auth_env is None:
        click.echo("Warning: no server.auth_env: whoever reaches the router may use it.", err=True)
    if not _is_loopback(host):
        click.echo("Warning: this address can be reached from other machines.", err=True)
    set_up_events()
    announce = partial(_announce, is_tls=config.server.tls_certfile is not None)
    run(partial(run_router, config, host=host, port=port, on_ready=announce, source=source))


def _loaded(told_path: str | None, policy_path: str | None) -> tuple[ConfigSource, RouterConfig]:
    cwd = current_folder()
    path = config_path(told_path, os.environ, cwd)
    source = ConfigSource(path, os.environ, policy_path, cwd)
    try:
        return source, source.load()
    except ConfigError as error:
        tell_problems(error)
        if told_path is None and not path.exists():
            click.echo(_NO_CONFIG, err=True)
        sys.exit(Exit.USAGE)


def _announce(host: str, port: int, *, is_tls: bool) -> None:
    scheme = "https" if is_tls else "http"
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"listening on {scheme}://{shown}:{port}")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
