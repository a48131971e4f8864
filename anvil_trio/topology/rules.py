"""What must hold between the parts of a topology: ids are unique, references exist and agree."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from anvil_trio.topology.fields import SSH
from anvil_trio.topology.model import Topology
from anvil_trio.topology.problems import TopologyCode, TopologyProblem

__all__ = ["find_rule_problems"]

_DUPLICATE = "must be unique in its array"
_OTHER_HOST = "must belong to the same host"


class _Named(Protocol):
    @property
    def id(self) -> str: ...


class _Placed(_Named, Protocol):
    @property
    def host(self) -> str: ...
    @property
    def runtime(self) -> str: ...


def find_rule_problems(topology: Topology) -> Iterator[TopologyProblem]:
    """All that the parts of a topology, each of them right by itself, have against one another."""
    yield from _check_ids(topology)
    yield from _check_policies(topology)
    yield from _check_places(topology)
    yield from _check_gpu_roles(topology)
    yield from _check_command(topology)
    yield from _check_owners(topology)
    yield from _check_sizes(topology)
    yield from _check_transports(topology)


def _check_ids(topology: Topology) -> Iterator[TopologyProblem]:
    arrays: Mapping[str, Sequence[_Named]] = {
        "capacity_policies": topology.capacity_policies,
        "hosts": topology.hosts,
        "runtimes": topology.runtimes,
        "resources": topology.resources,
        "gpu_roles": topology.gpu_roles,
        "transports": topology.transports,
    }
    for name, rows in arrays.items():
        seen = set[str]()
        for at, row in enumerate(rows):
            if row.id in seen:
                yield TopologyProblem(f"{name}[{at}].id", TopologyCode.DUPLICATE, _DUPLICATE)
            seen.add(row.id)


def _check_policies(topology: Topology) -> Iterator[TopologyProblem]:
    policies = {policy.id for policy in topology.capacity_policies}
    for at, host in enumerate(topology.hosts):
        if host.capacity_policy is not None and host.capacity_policy not in policies:
            yield _reference(f"hosts[{at}].capacity_policy", "must name a capacity policy")


def _check_places(topology: Topology) -> Iterator[TopologyProblem]:
    """Hosts exist, and a runtime is its host's."""
    hosts = {host.id for host in topology.hosts}
    for at, runtime in enumerate(topology.runtimes):
        if runtime.host not in hosts:
            yield _reference(f"runtimes[{at}].host", "must name a host")
    placed: Mapping[str, Sequence[_Placed]] = {
        "resources": topology.resources,
        "gpu_roles": topology.gpu_roles,
        "transports": topology.transports,
    }
    host_of = {runtime.id: runtime.host for runtime in topology.runtimes}
    for name, rows in placed.items():
        for at, row in enumerate(rows):
            if row.host not in hosts:
                yield _reference(f"{name}[{at}].host", "must name a host")
            yield from _check_runtime(f"{name}[{at}].runtime", row, host_of)


def _check_runtime(
    path: str, row: _Placed, host_of: Mapping[str, str]
) -> Iterator[TopologyProblem]:
    if row.runtime not in host_of:
        yield _reference(path, "must name a runtime")
    elif host_of[row.runtime] != row.host:
        yield _reference(path, _OTHER_HOST)


def _check_gpu_roles(topology: Topology) -> Iterator[TopologyProblem]:
    host_of = {role.id: role.host for role in topology.gpu_roles}
    for at, resource in enumerate(topology.resources):
        path = f"resources[{at}].gpu_role"
        if resource.gpu_role is None:
            continue
        if resource.gpu_role not in host_of:
            yield _reference(path, "must name a GPU role")
        elif host_of[resource.gpu_role] != resource.host:
            yield _reference(path, _OTHER_HOST)


def _check_command(topology: Topology) -> Iterator[TopologyProblem]:
    """Where commands are given: both are optional, and the runtime is the host's."""
    host = (topology.command_host or "").removeprefix("host:")
    runtime = (topology.command_runtime or "").removeprefix("runtime:")
    host_of = {runtime.id: runtime.host for runtime in topology.runtimes}
    if host and host not in {known.id for known in topology.hosts}:
        yield _reference("command_host", "must name a host")
    if runtime and runtime not in host_of:
        yield _reference("command_runtime", "must name a runtime")
    elif host and runtime and host_of[runtime] != host:
        yield _reference("command_runtime", "must belong to command_host")


def _check_owners(topology: Topology) -> Iterator[TopologyProblem]:
    owners = Counter((resource.host, resource.role) for resource in topology.resources)
    for at, resource in enumerate(topology.resources):
        if owners[resource.host, resource.role] > 1:
            message = "must have one owner on its host"
            path = f"resources[{at}].role"
            yield TopologyProblem(path, TopologyCode.AMBIGUOUS_OWNER, message)


def _check_sizes(topology: Topology) -> Iterator[TopologyProblem]:
    for at, role in enumerate(topology.gpu_roles):
        if role.vram_mib is not None and (role.reserve_mib or 0) > role.vram_mib:
            path = f"gpu_roles[{at}].reserve_mib"
            yield TopologyProblem(path, TopologyCode.CONFLICT, "must not be above vram_mib")


def _check_transports(topology: Topology) -> Iterator[TopologyProblem]:
    for at, transport in enumerate(topology.transports):
        is_ssh = transport.endpoint.lower().startswith(f"{SSH}:")
        if is_ssh != (transport.kind == SSH):
            message = "must be an ssh URL for kind ssh, and an http or https URL otherwise"
            yield TopologyProblem(f"transports[{at}].endpoint", TopologyCode.CONFLICT, message)


def _reference(path: str, message: str) -> TopologyProblem:
    return TopologyProblem(path, TopologyCode.REFERENCE, message)
