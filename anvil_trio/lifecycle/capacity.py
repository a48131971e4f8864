"""Whether the memory of the GPUs is enough for one more serve. Pure."""

from collections.abc import Iterable

from anvil_trio.lifecycle.model import Manifest, Serve

__all__ = ["has_room"]


def has_room(manifest: Manifest, serve: Serve, running: Iterable[Serve]) -> bool:
    """Whether `serve` fits beside what runs, the reserve of each GPU left free.

    A serve of two GPUs takes its `vram_mib` on each. A GPU whose size nobody declared has room.
    """
    others = [other for other in running if other.name != serve.name]
    return all(
        serve.vram_mib + sum(other.vram_mib for other in others if role.id in other.roles)
        <= role.vram_mib - role.reserve_mib
        for role in manifest.gpu_roles
        if role.id in serve.roles
    )
