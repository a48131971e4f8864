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
_WORDS = {b"true": Presence.RUNNING, b"false": Presence.STOPPED}


class DockerContainers:
    """The containers of a manifest in `folder`. Nothing that docker says is shown to anybody."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def find(self, serve: Serve) -> Presence:
        """Whether its container runs; unknown where docker cannot be asked, or says neither.

        Docker says with one status that there is no such container and that its service is not
        there, so the service is asked too: what nobody knows is not taken for stopped.
        """
        asked = ("container", "inspect", "--format", "{{.State.Running}}", serve.container)
        ended = await self._ask(*asked)
        if ended is not None and ended.status == 0:
            return _WORDS.get(ended.output.strip(), Presence.UNKNOWN)
        service = await self._ask("version", "--format", "{{.Server.Version}}")
        is_there = service is not None and service.status == 0 and service.output.strip() != b""
        return Presence.STOPPED if ended is not None and is_there else Presence.UNKNOWN

    async def start(self, serve: Serve) -> None:
        """Start its container, or run its `up` command. Raises LifecycleFailed."""
        if await self.find(serve) is Presence.RUNNING:
            return
        command: tuple[str, ...] = ("docker", "container", "start", serve.container)
        if serve.up:
            values = {"dir": str(self._folder), "port": str(serve.port)}
            command = fill(shlex.split(serve.up), values)
        await self._run(command, serve.startup_timeout)

    async def stop(self, serve: Serve) -> None:
        """Stop its container, if it runs; docker kills it after `stop_timeout_s`.

        Raises LifecycleFailed if docker did not, or if its container runs all the same.
        """
        if await self.find(serve) is Presence.STOPPED:
            return
        seconds = max(1, round(serve.stop_timeout_s))
        # The long name of -t is not the same in every release of docker.
        command = ("docker", "container", "stop", "-t", str(seconds), serve.container)
        await self._run(command, serve.stop_timeout_s + _SLACK_S)
        if await self.find(serve) is not Presence.STOPPED:
            raise LifecycleFailed(Fault.NOT_STOPPED)

    async def _ask(self, *words: str) -> Ended | None:
        if shutil.which("docker") is None:
            return None
        command = ("docker", *words)
        return await run_bounded(command, within_s=_ASK_S, folder=self._folder, is_heard=True)

    async def _run(self, command: tuple[str, ...], within_s: float) -> None:
        if shutil.which("docker") is None:
            raise LifecycleFailed(Fault.NO_DOCKER)
        ended = await run_bounded(command, within_s=within_s, folder=self._folder)
        if ended is None or ended.status != 0:
            raise LifecycleFailed(Fault.DOCKER_FAILED)
