"""What is shown of a topology by itself: names and how they belong together, and its faults.

Addresses, endpoints, paths, UUIDs and variables stay in the file, so that what is shown can be
pasted anywhere.
"""

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from anvil_trio.topology.model import Topology
from anvil_trio.topology.problems import TopologyProblem

__all__ = ["project_problems", "project_topology", "render_topology"]


def project_problems(problems: Iterable[TopologyProblem]) -> dict[str, JsonValue]:
    """Whether there are none, and each of them as path, message and code."""
    errors: list[JsonValue] = [
        {"path": problem.path, "message": problem.message, "code": problem.code.value}
        for problem in problems
    ]
    return {"valid": not errors, "errors": errors}


def project_topology(topology: Topology) -> dict[str, JsonValue]:
    """The declared names, array by array, in the order of the document."""
    return {
        "schema_version": topology.schema_version,
        "id": topology.id,
        "command_host": topology.command_host,
        "command_runtime": topology.command_runtime,
        "capacity_policies": [
            {
                "id": policy.id,
                "allow_model_workloads": policy.allow_model_workloads,
                "allow_experimental_model_workloads": policy.allow_experimental_model_workloads,
            }
            for policy in topology.capacity_policies
        ],
        "hosts": [
            {
                "id": host.id,
                "roles": list(host.roles),
                "capacity_policy": host.capacity_policy,
                "os": host.os,
            }
            for host in topology.hosts
        ],
        "runtimes": [
            {"id": runtime.id, "host": runtime.host, "role": runtime.role}
            for runtime in topology.runtimes
        ],
        "resources": [
            {
                "id": resource.id,
                "role": resource.role,
                "host": resource.host,
                "runtime": resource.runtime,
                "gpu_role": resource.gpu_role,
                "workload": resource.workload,
                "has_endpoint": resource.endpoint is not None,
            }
            for resource in topology.resources
        ],
        "gpu_roles": [
            {
                "id": role.id,
                "host": role.host,
                "runtime": role.runtime,
                "vram_mib": role.vram_mib,
                "reserve_mib": role.reserve_mib,
            }
            for role in topology.gpu_roles
        ],
        "transports": [
            {
                "id": transport.id,
                "kind": transport.kind,
                "host": transport.host,
                "runtime": transport.runtime,
            }
            for transport in topology.transports
        ],
    }


def render_topology(data: Mapping[str, JsonValue]) -> str:
    """A line for each row of that object, under the name of its array."""
    lines = [f"topology {data['id']}"]
    for name, rows in data.items():
        if isinstance(rows, list):
            lines += [f"{name}: {_row(row)}" for row in rows if isinstance(row, dict)]
    return "\n".join(lines)


def _row(row: Mapping[str, JsonValue]) -> str:
    words = [str(row["id"])]
    words += [f"{key}={_word(value)}" for key, value in row.items() if key != "id" and value]
    return " ".join(words)


def _word(value: JsonValue) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "yes" if value is True else str(value)
