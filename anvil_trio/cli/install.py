"""`anvil-serving router install-config`: a validated configuration for a running router.

T015: one snapshot is captured and validated before anything else, so that a router is not even
asked about a configuration that could not be installed, and what is installed are its bytes.
"""

import os
import sys

import click
import trio
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure, render_envelope
from anvil_trio.cli.exits import Exit
from anvil_trio.cli.install_run import install, is_unfinished, live_file
from anvil_trio.cli.install_words import (
    UNFINISHED,
    explain_outcome,
    project_outcome,
    render_end,
    render_names,
    render_outcome,
)
from anvil_trio.cli.router_client import ask_router
from anvil_trio.cli.topology import CONFIG_OPTION, OVERLAY_OPTION, TOPOLOGY_OPTION, capture_snapshot
from anvil_trio.cli.transition import NOT_CONFIRMED, ROUTER_URL_OPTION, Order
from anvil_trio.cli.transition_reply import read_rows
from anvil_trio.cli.usage import BadUsage
from anvil_trio.cli.values import SecondsRange
from anvil_trio.installation.journal import HOW_TO_GO_ON
from anvil_trio.installation.payload import payload_of
from anvil_trio.installation.protocol import Step
from anvil_trio.topology.result import explain_refusal
from anvil_trio.topology.snapshot import Refused, Snapshot

__all__ = ["INSTALL_CONFIG"]

_COMMAND = "router install-config"
_MAX_DRAIN_S = 3600.0
_STATUS_TIMEOUT_S = 30.0


class _Said:
    """What one call of the command says, as it goes and in the end."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._warnings: list[str] = []

    def step(self, step: Step) -> None:
        """One line for whoever watches."""
        if not self._is_json:
            click.echo(f"router config install: {step.value}", err=True)

    def unfinished(self) -> None:
        """An earlier installation was killed."""
        self._warnings.append(UNFINISHED)
        if not self._is_json:
            click.echo(f"{UNFINISHED}: {HOW_TO_GO_ON}", err=True)

    def end(
        self,
        data: dict[str, JsonValue] | None,
        text: str,
        failure: Failure | None = None,
        more: tuple[str, ...] = (),
    ) -> None:
        """The answer, once; exits with the status of a failure."""
        if self._is_json:
            click.echo(render_envelope(_COMMAND, data, failure, self._warnings))
        elif failure is None:
            click.echo(text)
        else:
            lines = (f"router config install failed: {failure.code}", *more)
            click.echo("\n".join(lines), err=True)
        if failure is not None:
            sys.exit(failure.status)


def _install_config(
    config: str,
    topology: str | None,
    topology_overlay: str | None,
    live_path: str | None,
    router_url: str | None,
    drain_timeout: float,
    *,
    is_restart: bool,
    is_dry_run: bool,
    is_confirmed: bool,
    is_json: bool,
) -> None:
    if is_dry_run and is_confirmed:
        raise BadUsage("--dry-run and --confirm exclude each other.")
    said = _Said(is_json=is_json)
    if not (is_dry_run or is_confirmed):
        said.end(None, "", NOT_CONFIRMED)
    try:
        snapshot = _captured(config, topology, topology_overlay)
        live = live_file(live_path)
        if is_dry_run:
            current = _current_tiers(router_url)
            if is_unfinished(live):
                said.unfinished()
            data = _plan(snapshot, current, drain_timeout)
            said.end(data, _render(data))
            return
        plan, outcome = install(
            payload_of(snapshot),
            live,
            router_url,
            drain_timeout,
            is_restart=is_restart,
            on_step=said.step,
        )
    except CommandFailed as failed:
        said.end(None, "", failed.failure)
        return
    data = project_outcome(plan, outcome, drain_timeout)
    said.end(data, render_outcome(data), explain_outcome(outcome), tuple(render_end(outcome)))


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
    return [row.tier_id for row in read_rows(order.action, reply, None)]


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
        lines.append(f"{key}: {render_names(names)}")
    return "\n".join(lines)


INSTALL_CONFIG = click.Command(
    "install-config",
    callback=_install_config,
    params=[
        CONFIG_OPTION,
        TOPOLOGY_OPTION,
        OVERLAY_OPTION,
        click.Option(
            ["--live-path"],
            metavar="PATH",
            help="The router's own file. Without it: where `router run` looks for one.",
        ),
        ROUTER_URL_OPTION,
        click.Option(
            ["--drain-timeout"],
            type=SecondsRange(0, _MAX_DRAIN_S, min_open=True),
            default=120.0,
            show_default=True,
            help="Seconds that all running requests have together, with --restart.",
        ),
        click.Option(
            ["--restart", "is_restart"],
            is_flag=True,
            help="Drain the router and start it anew with the command in router-install.toml.",
        ),
        click.Option(["--dry-run", "is_dry_run"], is_flag=True, help="Validate and show only."),
        click.Option(["--confirm", "is_confirmed"], is_flag=True, help="Really do it."),
        click.Option(["--json", "is_json"], is_flag=True, help="Answer in one JSON object."),
    ],
    help="Install a configuration in the running router.\n\n"
    "Validates one capture of the file against the declared topology, as `topology "
    "validate-router-config` does, and only then asks the router. With --confirm exactly these "
    "bytes are written to the router's own file, and the running router takes them up; with "
    "--restart it is drained and started anew. What fails is undone. The operator's "
    "token is the value of ANVIL_ROUTER_TOKEN.",
)
