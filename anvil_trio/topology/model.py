"""A declared topology: frozen, complete, already checked.

Only `topology.document` makes these from a file; tests may build them directly. Every value obeys
the rule of its own key even then. Sizes are MiB.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from anvil_trio.config.fields import Count, EnvName, FilePath, Flag, JsonTable, Positive, Words
from anvil_trio.config.kinds import Choice
from anvil_trio.config.model import Frozen
from anvil_trio.topology.fields import (
    Address,
    Fingerprint,
    GpuUuid,
    HostReference,
    Name,
    Names,
    ResourceUrl,
    RuntimeReference,
    TransportUrl,
    Version,
)

__all__ = [
    "CapacityPolicy",
    "GpuRole",
    "Host",
    "Resource",
    "Runtime",
    "Topology",
    "TopologyHead",
    "Transport",
]


class CapacityPolicy(Frozen):
    """What may run on the hosts that it is attached to."""

    id: Name
    allow_model_workloads: Flag = False
    allow_experimental_model_workloads: Flag = False


class Host(Frozen):
    """One machine."""

    id: Name
    roles: Names
    address: Address | None = Field(default=None, repr=False)
    capacity_policy: Name | None = None
    os: Annotated[Literal["linux", "macos", "windows"], Choice()] | None = None
    # How a host is first set up is declared for other tools; nothing here reads it.
    bootstrap: JsonTable | None = Field(default=None, repr=False)


class Runtime(Frozen):
    """One way in which a host runs things."""

    id: Name
    host: Name
    role: Name


class Resource(Frozen):
    """Something that runs on a host, and where it is reached."""

    id: Name
    role: Name
    host: Name
    runtime: Name
    endpoint: ResourceUrl | None = Field(default=None, repr=False)
    endpoint_kind: Name | None = None
    path: FilePath | None = Field(default=None, repr=False)
    gpu_role: Name | None = None
    workload: (
        Annotated[
            Literal["service", "model", "llm", "stt", "tts", "media", "experimental-model"],
            Choice(),
        ]
        | None
    ) = None

    @property
    def has_endpoint(self) -> bool:
        """Whether it can be reached at all."""
        return self.endpoint is not None


class GpuRole(Frozen):
    """One GPU of a host, by what it is for."""

    id: Name
    host: Name
    runtime: Name
    uuid: GpuUuid = Field(repr=False)
    vram_mib: Positive | None = None
    reserve_mib: Count | None = None


class Transport(Frozen):
    """One way to reach a host's runtime from elsewhere."""

    id: Name
    kind: Annotated[Literal["controller", "remote", "ssh"], Choice()]
    host: Name
    runtime: Name
    endpoint: TransportUrl = Field(repr=False)
    auth_env: EnvName | None = Field(default=None, repr=False)
    allowed_operations: Words = ()
    host_key_fingerprint: Fingerprint | None = Field(default=None, repr=False)
    known_hosts_path: FilePath | None = Field(default=None, repr=False)
    allow_unauthenticated_loopback: Flag = False
    expected_node: Name | None = None


class TopologyHead(Frozen):
    """The keys at the top of a topology that hold one value each."""

    schema_version: Version
    id: Name
    command_host: HostReference | None = None
    command_runtime: RuntimeReference | None = None


class Topology(TopologyHead):
    """One whole topology; its arrays are in the order of the document."""

    capacity_policies: tuple[CapacityPolicy, ...] = ()
    hosts: tuple[Host, ...] = ()
    runtimes: tuple[Runtime, ...] = ()
    resources: tuple[Resource, ...] = ()
    gpu_roles: tuple[GpuRole, ...] = ()
    transports: tuple[Transport, ...] = ()

    @property
    def resource_by_id(self) -> Mapping[str, Resource]:
        """Each resource by its id."""
        return {resource.id: resource for resource in self.resources}
