"""Runs the operator's restart command: bounded, without a shell, and nothing of it is shown."""

from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL

import trio

from anvil_trio.installation.faults import InstallFailed, InstallFault, NotBegun

__all__ = ["run_restart"]

_PATIENCE_S = 5.0


async def run_restart(command: Sequence[str], folder: Path, within_s: float) -> None:
    """Return once `command` has ended well, in `folder`.

    Raises NotBegun if it could not be run, InstallFailed if it ended badly or not in time. Late or
    cancelled, it is asked to end and then killed; what it has started is not.
    """
    try:
        # A session of its own: a Ctrl-C is for us, and what it starts outlives us.
        process = await trio.lowlevel.open_process(
            command,
            cwd=folder,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        raise NotBegun(InstallFault.COMMAND_FAILED) from None
    try:
        with trio.move_on_after(within_s) as scope:
            status = await process.wait()
        if scope.cancelled_caught:
            raise InstallFailed(InstallFault.COMMAND_TIMED_OUT)
    finally:
        with trio.move_on_after(2 * _PATIENCE_S, shield=True):  # a killed process is soon gone
            await _end(process)
    if status != 0:
        raise InstallFailed(InstallFault.COMMAND_FAILED)


async def _end(process: trio.Process) -> None:
    if process.poll() is None:
        process.terminate()
        with trio.move_on_after(_PATIENCE_S):
            await process.wait()
    if process.poll() is None:
        process.kill()
        await process.wait()
