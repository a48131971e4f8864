"""Topologies for tests: rows have their TOML text, so that a test can change just one key."""

from collections.abc import Mapping

from tests.unit.config.toml import REPLICA, config, rows

__all__ = [
    "ARRAYS",
    "GPU_ROLE",
    "HOST",
    "POLICY",
    "RESOURCE_A",
    "RESOURCE_B",
    "ROUTER",
    "RUNTIME",
    "TRANSPORT",
    "topology",
]

Keys = Mapping[str, str | None]

POLICY: Keys = {"id": '"models"', "allow_model_workloads": "true"}
HOST: Keys = {"id": '"host-one"', "roles": '["serve"]', "capacity_policy": '"models"'}
RUNTIME: Keys = {"id": '"native"', "host": '"host-one"', "role": '"native"'}
RESOURCE_A: Keys = {
    "id": '"resource-a"',
    "role": '"first"',
    "host": '"host-one"',
    "runtime": '"native"',
    "endpoint": '"http://127.0.0.1:8001/v1"',
}
RESOURCE_B: Keys = {
    **RESOURCE_A,
    "id": '"resource-b"',
    "role": '"second"',
    "endpoint": '"http://127.0.0.1:8002/v1"',
}
GPU_ROLE: Keys = {
    "id": '"first-gpu"',
    "host": '"host-one"',
    "runtime": '"native"',
    "uuid": '"GPU-00000000-0000-0000-0000-00000000000a"',
    "vram_mib": "24576",
    "reserve_mib": "1024",
}
TRANSPORT: Keys = {
    "id": '"shell"',
    "kind": '"ssh"',
    "host": '"host-one"',
    "runtime": '"native"',
    "endpoint": '"ssh://10.0.0.1:22"',
    "auth_env": '"SHELL_KEY"',
    "allowed_operations": '["status"]',
    "host_key_fingerprint": f'"SHA256:{"a" * 43}"',
    "known_hosts_path": '"known_hosts"',
    "expected_node": '"node-one"',
}
ARRAYS: Mapping[str, tuple[Keys, ...]] = {
    "capacity_policies": (POLICY,),
    "hosts": (HOST,),
    "runtimes": (RUNTIME,),
    "resources": (RESOURCE_A, RESOURCE_B),
    "gpu_roles": (GPU_ROLE,),
    "transports": (TRANSPORT,),
}

ROUTER = config(REPLICA).encode()
"""A router whose two members are the resources of `topology()`."""


def topology(*lines: str, head: str = "", **arrays: tuple[Keys, ...]) -> bytes:
    """A whole topology; each array is as above unless it is given."""
    return "\n".join([
        head or 'schema_version = 1\nid = "lab"',
        *lines,
        *(f"{name} = {rows(*tables)}" for name, tables in {**ARRAYS, **arrays}.items()),
    ]).encode()
