"""Operators' files in small, and the values that they are."""

from anvil_trio.lifecycle.manifest import PROFILES_SCHEMA, parse_manifest

__all__ = ["DUO", "FULL", "MANIFEST", "PROFILE", "SWAP", "docker", "native", "table"]


def table(name: str, /, **keys: str | None) -> str:
    """One row of an array of tables; None leaves a key out."""
    lines = [f"{key} = {value}" for key, value in keys.items() if value is not None]
    return "\n".join([f"[[{name}]]", *lines, ""])


def native(name: str, **keys: str | None) -> str:
    """A serve that is a process."""
    said: dict[str, str | None] = {
        "name": f'"{name}"',
        "runtime": '"native"',
        "port": "8101",
        "model": '"m"',
        "command": '["engine", "--port", "{port}"]',
    }
    return table("serve", **{**said, **keys})


def docker(name: str, **keys: str | None) -> str:
    """A serve that is a container."""
    said: dict[str, str | None] = {
        "name": f'"{name}"',
        "runtime": '"docker"',
        "port": "8101",
        "model": '"m"',
        "container": '"box"',
    }
    return table("serve", **{**said, **keys})


DUO: dict[str, str | None] = {
    "operating_mode": '"dual-gpu-exclusive"',
    "gpu_roles": '["left", "right"]',
    "tensor_parallel_size": "2",
}
SWAP = """
[[promotion]]
name = "swap"
target = "new"
rollback = "old"
affected_tiers = ["chat"]
router_config = "new.toml"
rollback_router_config = "old.toml"
"""
FULL = (
    table("gpu_roles", id='"left"', vram_mib="1000", reserve_mib="100")
    + table("gpu_roles", id='"right"', vram_mib="1000")
    + native("one")
    + docker("box-one", port="8102", up='"compose up {dir}"')
    + native("old", port="8103", router_tier='"chat"')
    + native("new", port="8104", router_tier='"chat"')
    + native("west", port="8105", gpu_role='"left"', router_tier='"left"', groups='["day"]')
    + native("east", port="8106", gpu_role='"right"', router_tier='"right"', groups='["day"]')
    + native("duo", port="8107", router_tier='"big"', **DUO)
    + SWAP
)
MANIFEST = parse_manifest([FULL.encode()])
PROFILE = f"""
schema = "{PROFILES_SCHEMA}"

[[profile]]
id = "big"
mode = "dual-gpu-exclusive"
exclusive_target = "duo"
restore_group = "day"
"""
