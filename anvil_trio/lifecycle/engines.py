"""The serves of one manifest as they are: started, healthy, stopped."""

from functools import partial
from pathlib import Path

from anvil_trio.lifecycle.capacity import has_room
from anvil_trio.lifecycle.docker import DockerContainers
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed
from anvil_trio.lifecycle.health import is_healthy, wait_until_healthy
from anvil_trio.lifecycle.model import Manifest, Runtime, Serve
from anvil_trio.lifecycle.native import NativeProcesses, Presence

__all__ = ["Engines"]

_POLL_S = 0.25


class Engines:
    """Starts and stops what `manifest`, which stands in `folder`, describes.

    All that changes something is for who holds the lock, is so already or is made so, and raises
    LifecycleFailed if it cannot be.
    """

    def __init__(self, manifest: Manifest, home: Path, folder: Path) -> None:
        self.manifest = manifest
        self._native = NativeProcesses(home, folder)
        self._docker = DockerContainers(folder)

    async def find(self, serve: Serve) -> Presence:
        """Whether it runs."""
        return await self._of(serve).find(serve)

    async def running(self) -> tuple[Serve, ...]:
        """All that run."""
        return tuple([
            serve for serve in self.manifest.serves if await self.find(serve) is Presence.RUNNING
        ])

    async def is_healthy(self, serve: Serve) -> bool:
        """Whether it runs and its health page answers well."""
        return await self.find(serve) is Presence.RUNNING and await is_healthy(serve)

    async def start(self, serve: Serve, *, within_s: float, poll_s: float = _POLL_S) -> None:
        """It runs and is healthy; nothing is started for which a GPU has no room."""
        if await self.find(serve) is not Presence.RUNNING:
            if serve.roles and not has_room(self.manifest, serve, await self.running()):
                raise LifecycleFailed(Fault.GPU_FULL)
            await self._of(serve).start(serve)
        await wait_until_healthy(
            serve, partial(self._is_running, serve), within_s=within_s, poll_s=poll_s
        )

    async def stop(self, serve: Serve) -> None:
        """It does not run."""
        await self._of(serve).stop(serve)

    def _of(self, serve: Serve) -> NativeProcesses | DockerContainers:
        return self._native if serve.runtime is Runtime.NATIVE else self._docker

    async def _is_running(self, serve: Serve) -> bool:
        return await self.find(serve) is Presence.RUNNING
