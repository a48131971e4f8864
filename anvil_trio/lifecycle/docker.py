"""Serves as containers, through the docker command line where this machine has it."""

import shlex
import shutil
from pathlib import Path

from anvil_trio.lifecycle.bounded_run import Ended, run_bounded
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed
from anvil_trio.lifecycle.model import Serve, fill
from anvil_trio.lifecycle.native import Presence

__all__ = ["DockerContainers"]

_ASK_S = 10.0
_SLACK_S = 10.0


class DockerContainers:
    """The containers of a manifest in `folder`. Nothing that docker says is shown to anybody."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def find(self, serve: Serve) -> Presence:
        """Whether its container runs; unknown where docker cannot be asked."""
        if shutil.which("docker") is None:
            return Presence.UNKNOWN
        asked = ("docker", "inspect", "--format", "{{.State.Running}}", serve.container)
        ended = await run_bounded(asked, within_s=_ASK_S, folder=self._folder)
        if ended is None:
            return Presence.UNKNOWN
        is_running = ended.status == 0 and ended.output.strip() == b"true"
        return Presence.RUNNING if is_running else Presence.STOPPED

    async def start(self, serve: Serve) -> None:
        """Start its container, or run its `up` command. Raises LifecycleFailed."""
        if await self.find(serve) is Presence.RUNNING:
            return
        command: tuple[str, ...] = ("docker", "start", serve.container)
        if serve.up:
            values = {"dir": str(self._folder), "port": str(serve.port)}
            command = fill(shlex.split(serve.up), values)
        await self._run(command, serve.startup_timeout)

    async def stop(self, serve: Serve) -> None:
        """Stop its container, if it runs; docker kills it after `stop_timeout_s`."""
        presence = await self.find(serve)
        if presence is Presence.STOPPED:
            return
        seconds = max(1, round(serve.stop_timeout_s))
        command = ("docker", "stop", "--time", str(seconds), serve.container)
        await self._run(command, serve.stop_timeout_s + _SLACK_S)

    async def _run(self, command: tuple[str, ...], within_s: float) -> Ended:
        if shutil.which("docker") is None:
            raise LifecycleFailed(Fault.NO_DOCKER)
        ended = await run_bounded(command, within_s=within_s, folder=self._folder)
        if ended is None or ended.status != 0:
            raise LifecycleFailed(Fault.DOCKER_FAILED)
        return ended
