"""`anvil-serving router install-config --dry-run`: what an installation would be about.

T015: one snapshot is captured and validated before anything else, so that a router is not even
asked about a configuration that could not be installed.
"""

import os
import sys

import click
import trio
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure, render_envelope
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.router_client import ask_router
from anvil_trio.cli.topology import CONFIG_OPTION, OVERLAY_OPTION, TOPOLOGY_OPTION, capture_snapshot
from anvil_trio.cli.transition import ROUTER_URL_OPTION, Order
from anvil_trio.cli.transition_reply import read_rows
from anvil_trio.cli.usage import BadUsage
from anvil_trio.topology.result import explain_refusal
from anvil_trio.topology.snapshot import Refused, Snapshot

__all__ = ["INSTALL_CONFIG"]

_COMMAND = "router install-config"
_MAX_DRAIN_S = 3600.0
_STATUS_TIMEOUT_S = 30.0


def _install_config(
    config: str,
    topology: str | None,
    topology_overlay: str | None,
    router_url: str | None,
    drain_timeout: float,
    *,
    is_dry_run: bool,
    is_json: bool,
) -> None:
    if not is_dry_run:
        raise BadUsage("--dry-run must be given; this command changes nothing.")
    data: dict[str, JsonValue] | None = None
    failure: Failure | None = None
    try:
        snapshot = _captured(config, topology, topology_overlay)
        data = _plan(snapshot, _current_tiers(router_url), drain_timeout)
    except CommandFailed as failed:
        failure = failed.failure
    if is_json:
        click.echo(render_envelope(_COMMAND, data, failure))
    elif data is not None:
        click.echo(_render(data))
    elif failure is not None:
        click.echo(f"router config install failed: {failure.code}", err=True)
    if failure is not None:
        sys.exit(failure.status)


def _captured(config: str, topology: str | None, overlay: str | None) -> Snapshot:
    """A valid snapshot. Raises CommandFailed for what is refused."""
    found = capture_snapshot(config, topology, overlay)
    if isinstance(found, Refused):
        raise CommandFailed(Failure(Exit.USAGE, found.code.value, explain_refusal(found.code)))
    return found


def _current_tiers(router_url: str | None) -> list[str]:
    """The tiers of the running router, in its order. Raises CommandFailed."""
    order = Order("status", None, None, router_url, _STATUS_TIMEOUT_S, "", is_confirmed=False)
    reply = trio.run(ask_router, order.question(os.environ))
    return [row.tier_id for row in read_rows(order.action, reply)]


def _plan(snapshot: Snapshot, current: list[str], drain_timeout: float) -> dict[str, JsonValue]:
    return {
        "applied": False,
        "dry_run": True,
        "config_sha256": snapshot.sha256,
        "current_tiers": [*current],
        "desired_tiers": [tier.id for tier in snapshot.config.tiers],
        "drain_timeout": drain_timeout,
    }


def _render(plan: dict[str, JsonValue]) -> str:
    lines = [
        "router config install: dry run, nothing was changed",
        f"config_sha256: {plan['config_sha256']}",
    ]
    for key in ("current_tiers", "desired_tiers"):
        names = plan[key]
        assert isinstance(names, list), "a plan lists tiers"
        shown = ", ".join(map(str, names))
        lines.append(f"{key}: {shown if shown.isprintable() else '?'}")
    return "\n".join(lines)


INSTALL_CONFIG = click.Command(
    "install-config",
    callback=_install_config,
    params=[
        CONFIG_OPTION,
        TOPOLOGY_OPTION,
        OVERLAY_OPTION,
        ROUTER_URL_OPTION,
        click.Option(
            ["--drain-timeout"],
            type=click.FloatRange(0, _MAX_DRAIN_S, min_open=True),
            default=120.0,
            show_default=True,
            help="Seconds that the running requests of a tier would have.",
        ),
        click.Option(
            ["--dry-run", "is_dry_run"], is_flag=True, help="Validate and show; must be given."
        ),
        click.Option(["--json", "is_json"], is_flag=True, help="Answer in one JSON object."),
    ],
    help="Show what it would mean to install a configuration in the running router.\n\n"
    "Validates one capture of the file against the declared topology, as `topology "
    "validate-router-config` does, and only then asks the router which tiers it has, with the "
    "operator's token out of ANVIL_ROUTER_TOKEN. Nothing is changed.",
)
