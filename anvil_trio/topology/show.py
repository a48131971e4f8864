"""What is shown of a topology by itself: names and how they belong together, and its faults.

Addresses, endpoints, paths, UUIDs and variables stay in the file, so that what is shown can be
pasted anywhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from pydantic import JsonValue

from anvil_trio.config.model import Frozen
from anvil_trio.topology.model import Topology
from anvil_trio.topology.problems import TopologyProblem

__all__ = ["project_problems", "project_topology", "render_topology"]

_HEAD = ("schema_version", "id", "command_host", "command_runtime")
_ROWS: Mapping[str, Sequence[str]] = MappingProxyType({
    "capacity_policies": (
        "id",
        "allow_model_workloads",
        "allow_experimental_model_workloads",
    ),
    "hosts": ("id", "roles", "capacity_policy", "os"),
    "runtimes": ("id", "host", "role"),
    "resources": ("id", "role", "host", "runtime", "gpu_role", "workload", "has_endpoint"),
    "gpu_roles": ("id", "host", "runtime", "vram_mib", "reserve_mib"),
    "transports": ("id", "kind", "host", "runtime"),
})
"""What is shown of each row, and nothing else."""


def project_problems(problems: Iterable[TopologyProblem]) -> dict[str, JsonValue]:
    """Whether there are none, and each of them as path, message and code."""
    errors: list[JsonValue] = [
        {"path": problem.path, "message": problem.message, "code": problem.code.value}
        for problem in problems
    ]
    return {"valid": not errors, "errors": errors}


def project_topology(topology: Topology) -> dict[str, JsonValue]:
    """The declared names, array by array, in the order of the document."""
    head: dict[str, JsonValue] = {key: getattr(topology, key) for key in _HEAD}
    arrays: dict[str, JsonValue] = {
        name: [_project_row(row, keys) for row in getattr(topology, name)]
        for name, keys in _ROWS.items()
    }
    return head | arrays


def render_topology(data: Mapping[str, JsonValue]) -> str:
    """A line for each row of that object, under the name of its array."""
    lines = [f"topology {data['id']}"]
    for name, rows in data.items():
        if isinstance(rows, list):
            lines += [f"{name}: {_row(row)}" for row in rows if isinstance(row, dict)]
    return "\n".join(lines)


def _project_row(row: Frozen, keys: Sequence[str]) -> dict[str, JsonValue]:
    values = {key: getattr(row, key) for key in keys}
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in values.items()
    }


def _row(row: Mapping[str, JsonValue]) -> str:
    words = [str(row["id"])]
    words += [f"{key}={_word(value)}" for key, value in row.items() if key != "id" and value]
    return " ".join(words)


def _word(value: JsonValue) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "yes" if value is True else str(value)
