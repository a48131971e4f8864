"""`anvil-serving topology`: what is declared of hosts and resources, checked without a network."""

import os
import sys
from collections.abc import Mapping, Sequence

import click
from pydantic import JsonValue

from anvil_trio.cli.closed import ClosedCommand
from anvil_trio.cli.envelope import Failure, render_envelope
from anvil_trio.cli.exits import Exit
from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.load import current_folder, expand_path, topology_path
from anvil_trio.config.regular import read_regular
from anvil_trio.topology.codes import RefusalCode
from anvil_trio.topology.document import parse_topology
from anvil_trio.topology.model import Topology
from anvil_trio.topology.problems import TopologyCode, TopologyError, TopologyProblem
from anvil_trio.topology.result import explain_refusal, project_result, render_result
from anvil_trio.topology.show import project_problems, project_topology, render_topology
from anvil_trio.topology.snapshot import Refused, Snapshot, TopologyBytes, validate_snapshot

__all__ = [
    "CONFIG_OPTION",
    "OVERLAY_OPTION",
    "TOPOLOGY_OPTION",
    "capture_snapshot",
    "topology",
]

_COMMAND = "topology validate-router-config"
_NOT_READ = (OSError, ValueError, RuntimeError)  # a null character; no home for ~
_UNREADABLE = TopologyProblem("", TopologyCode.READ, "the topology or its overlay cannot be read")
_INVALID = Failure(Exit.USAGE, RefusalCode.TOPOLOGY_INVALID.value, "The topology is not valid.")


@click.group(no_args_is_help=False)
def topology() -> None:
    """What is declared of hosts and resources; nothing is resolved, asked or changed."""


def capture_snapshot(config: str, topology: str | None, overlay: str | None) -> Snapshot | Refused:
    """Read each file once and validate what was read; no path is opened again afterwards."""
    try:
        source = read_regular(current_folder() / expand_path(config, os.environ), MAX_CONFIG_BYTES)
    except _NOT_READ:
        return Refused(RefusalCode.ROUTER_CONFIG_INVALID, None)
    return validate_snapshot(source, _capture_topology(topology, overlay))


def _capture_topology(topology: str | None, overlay: str | None) -> TopologyBytes | None:
    try:
        cwd = current_folder()
        base = read_regular(topology_path(topology, os.environ, cwd), MAX_CONFIG_BYTES)
        if overlay is None:
            return TopologyBytes(base)
        over = read_regular(cwd / expand_path(overlay, os.environ), MAX_CONFIG_BYTES)
    except _NOT_READ:
        return None
    return TopologyBytes(base, over)


def _validate_router_config(given: Mapping[str, str] | None, *, is_json: bool) -> None:
    """The answer to every line of arguments; `given` is None for one that is not valid."""
    result: Snapshot | Refused = Refused(RefusalCode.ROUTER_CONFIG_INVALID, None)
    if given is not None:
        paths = (given.get(name) for name in ("--topology", "--topology-overlay"))
        result = capture_snapshot(given["--config"], *paths)
    data = project_result(result)
    failure = None
    if isinstance(result, Refused):
        failure = Failure(Exit.USAGE, result.code.value, explain_refusal(result.code))
    _answer(_COMMAND, data, failure, render_result(data), is_json=is_json)


def _show(topology: str | None, topology_overlay: str | None, *, is_json: bool) -> None:
    found = _parsed(topology, topology_overlay)
    if isinstance(found, Topology):
        data = project_topology(found)
        _answer("topology show", data, None, render_topology(data), is_json=is_json)
    else:
        _answer("topology show", None, _INVALID, _lines(found), is_json=is_json)


def _validate(topology: str | None, topology_overlay: str | None, *, is_json: bool) -> None:
    found = _parsed(topology, topology_overlay)
    if isinstance(found, Topology):
        _answer("topology validate", project_problems(()), None, "topology valid", is_json=is_json)
    else:
        data = project_problems(found)
        _answer("topology validate", data, _INVALID, _lines(found), is_json=is_json)


def _parsed(topology: str | None, overlay: str | None) -> Topology | Sequence[TopologyProblem]:
    captured = _capture_topology(topology, overlay)
    if captured is None:
        return (_UNREADABLE,)
    try:
        return parse_topology(captured.base, captured.overlay)
    except TopologyError as error:
        return error.problems


def _lines(problems: Sequence[TopologyProblem]) -> str:
    return "\n".join(problem.line for problem in problems)


def _answer(
    command: str, data: JsonValue, failure: Failure | None, text: str, *, is_json: bool
) -> None:
    """Say what came of a command, once, and exit with what that means."""
    if is_json:
        click.echo(render_envelope(command, data, failure))
    else:
        click.echo(text, err=failure is not None)
    if failure is not None:
        sys.exit(failure.status)


CONFIG_OPTION = click.Option(
    ["--config"], metavar="PATH", required=True, help="The router's configuration."
)
TOPOLOGY_OPTION = click.Option(
    ["--topology"],
    metavar="PATH",
    help="The topology. Without it: $ANVIL_SERVING_HOME/operator-topology.toml.",
)
OVERLAY_OPTION = click.Option(
    ["--topology-overlay"], metavar="PATH", help="A part of a topology that is merged over it."
)
_JSON_OPTION = click.Option(["--json", "is_json"], is_flag=True, help="Answer in one JSON object.")

topology.add_command(
    ClosedCommand(
        "validate-router-config",
        callback=_validate_router_config,
        params=[
            CONFIG_OPTION,
            TOPOLOGY_OPTION,
            OVERLAY_OPTION,
            _JSON_OPTION,
        ],
        help="Check a router's configuration against the declared topology.\n\n"
        "Each file is read once; no host is resolved or asked, and nothing is changed. Status 0: "
        "valid, 2: refused, with one of nine codes. No argument and no name out of a file is told.",
    )
)
topology.add_command(
    click.Command(
        "validate",
        callback=_validate,
        params=[TOPOLOGY_OPTION, OVERLAY_OPTION, _JSON_OPTION],
        help="Check a topology by itself, and list all that is wrong.\n\n"
        "Every problem is told by its key path and rule, never by a value. Status 2: not valid.",
    )
)
topology.add_command(
    click.Command(
        "show",
        callback=_show,
        params=[TOPOLOGY_OPTION, OVERLAY_OPTION, _JSON_OPTION],
        help="Show what a topology declares, its overlay merged.\n\n"
        "Addresses, endpoints, paths, GPU UUIDs and names of variables are left out; whether a "
        "resource has an endpoint is shown.",
    )
)
