"""Runs another program to its end, within a bound of time, and shows nothing of what it says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

import trio

__all__ = ["Ended", "run_bounded"]

_MAX_OUTPUT_BYTES = 65_536
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and the beginning of what it wrote to stdout."""

    status: int
    output: bytes = b""


async def run_bounded(command: Sequence[str], *, within_s: float, folder: Path) -> Ended | None:
    """How `command` ended; None if it could not be run or was still running after `within_s`.

    It gets no stdin, and no shell. Cancelled or late, it is asked to end and then killed.
    """
    try:
        process = await trio.lowlevel.open_process(
            command, cwd=folder, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
        )
    except (OSError, ValueError):
        return None
    assert process.stdout is not None, "it was asked for"
    output = bytearray()
    try:
        with trio.move_on_after(within_s):
            async for data in process.stdout:
                output += data[: _MAX_OUTPUT_BYTES - len(output)]
            status = await process.wait()
            return Ended(status, bytes(output))
        return None
    finally:
        with trio.move_on_after(3 * _PATIENCE_S, shield=True):  # a killed process is soon gone
            await _end(process)


async def _end(process: trio.Process) -> None:
    if process.poll() is None:
        process.terminate()
        with trio.move_on_after(_PATIENCE_S):
            await process.wait()
    if process.poll() is None:
        process.kill()
        with trio.move_on_after(_PATIENCE_S):
            await process.wait()
    assert process.stdout is not None, "it was asked for"
    await process.stdout.aclose()
