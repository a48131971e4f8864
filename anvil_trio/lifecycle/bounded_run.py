"""Runs another program to its end, within a bound of time, and shows nothing of what it says."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

import trio

__all__ = ["Ended", "environ_of_others", "run_bounded"]

_MAX_OUTPUT_BYTES = 65_536
_PATIENCE_S = 5.0
_LOOK_S = 0.05
"""How long after its last word a program is looked at: it may have ended."""
_OURS = frozenset({"ANVIL_ROUTER_TOKEN"})
"""What the operator gave to this command, and to nothing that it starts."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and the beginning of what it wrote to stdout if that was wanted."""

    status: int
    output: bytes = b""


def environ_of_others() -> dict[str, str]:
    """Our environment without what opens the router."""
    return {name: value for name, value in os.environ.items() if name not in _OURS}


async def run_bounded(
    command: Sequence[str], *, within_s: float, folder: Path, is_heard: bool = False
) -> Ended | None:
    """How `command` ended; None if it could not be run or was still running after `within_s`.

    It leads a session of its own and gets no stdin, no shell and no token. It has ended when its
    own process has: what it leaves behind is not waited for, whatever that holds open. Cancelled
    or late, it and what it started are asked to end and then killed.
    """
    try:
        process = await trio.lowlevel.open_process(
            command,
            cwd=folder,
            env=environ_of_others(),
            stdin=DEVNULL,
            stdout=PIPE if is_heard else DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    try:
        with trio.move_on_after(within_s):
            output = b"" if process.stdout is None else await _heard(process, process.stdout)
            return Ended(await process.wait(), output)
        return None
    finally:
        with trio.move_on_after(3 * _PATIENCE_S, shield=True):  # a killed process is soon gone
            await _end(process)


async def _heard(process: trio.Process, stdout: trio.abc.ReceiveStream) -> bytes:
    """What it says, to the end or until it has ended; its children may say more, to nobody."""
    output = bytearray()
    while True:
        data: bytes | bytearray | None = None
        with trio.move_on_after(_LOOK_S):
            data = await stdout.receive_some(_MAX_OUTPUT_BYTES)
        output += (data or b"")[: _MAX_OUTPUT_BYTES - len(output)]
        is_over = process.poll() is not None
        if data == b"" or (is_over and (not data or len(output) == _MAX_OUTPUT_BYTES)):
            return bytes(output)


async def _end(process: trio.Process) -> None:
    if process.poll() is None:
        _send(process, signal.SIGTERM)
        with trio.move_on_after(_PATIENCE_S):
            await process.wait()
        _send(process, signal.SIGKILL)  # also what it started, which may not have listened
        with trio.move_on_after(_PATIENCE_S):
            await process.wait()
    if process.stdout is not None:
        await process.stdout.aclose()


def _send(process: trio.Process, number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except OSError:
        return  # nothing of it is left
