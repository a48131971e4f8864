"""Serves as processes of this machine: one session each, known by pid and start time."""

import os
import signal
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import msgspec
import trio

from anvil_trio.lifecycle import gate, log_keeper
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed
from anvil_trio.lifecycle.model import Serve, fill
from anvil_trio.lifecycle.process_stat import (
    PidFile,
    Stat,
    is_same,
    parse_pid_file,
    parse_stat,
)
from anvil_trio.lifecycle.store import write_whole

__all__ = ["NativeProcesses", "Presence"]

_PROC = Path("/proc")
_BOOT_ID = _PROC / "sys/kernel/random/boot_id"
_POLL_S = 0.05
_KILL_S = 5.0
_PYTHON = (sys.executable, "-I", "-S")
_MAX_PID_FILE_BYTES = 4096
_CONNECT_S = 1.0
_OURS = {"ANVIL_ROUTER_TOKEN"}
"""What the operator gave to this command, and to no serve."""


class Presence(StrEnum):
    """Whether a serve runs."""

    RUNNING = "running"
    STOPPED = "stopped"
    MISMATCH = "mismatch"
    """Another process has its pid, or the pid file is damaged: nothing is ever sent to it."""
    UNKNOWN = "unknown"
    """Docker could not be asked."""


class NativeProcesses:
    """The processes that pid files below `home` name; relative commands run in `folder`.

    Only who holds the lock may start or stop one.
    """

    def __init__(self, home: Path, folder: Path) -> None:
        self._pids, self._logs, self._folder = home / "run", home / "logs", folder

    async def find(self, serve: Serve) -> Presence:
        """Whether the process that was started for `serve` runs."""
        try:
            with self._pid_path(serve).open("rb") as file:
                data = file.read(_MAX_PID_FILE_BYTES)
        except FileNotFoundError:
            return Presence.STOPPED
        except OSError:
            return Presence.MISMATCH
        told = parse_pid_file(data)
        if told is None:
            return Presence.MISMATCH
        if told.boot_id != _boot_id():
            return Presence.STOPPED
        found = _stat(told.pid)
        if found is None or not found.is_alive:
            return Presence.STOPPED
        return Presence.RUNNING if is_same(told, found) else Presence.MISMATCH

    async def start(self, serve: Serve) -> None:
        """Start it if it does not run. It outlives this program. Raises LifecycleFailed.

        Its pid file is on the disk before its command begins, so whoever is killed here leaves a
        process that is known, or none. That it starts does not mean that it will serve.
        """
        if await self.find(serve) is Presence.RUNNING:
            return
        if await _is_taken(serve.port):
            raise LifecycleFailed(Fault.PORT_IN_USE)
        values = {"port": str(serve.port), "dir": str(self._folder)}
        try:
            self._spawn(serve, fill(serve.command, values))
        except (OSError, ValueError):  # ValueError: a null character in a folder's name
            raise LifecycleFailed(Fault.NOT_STARTED) from None

    async def stop(self, serve: Serve) -> None:
        """End it and what it started: asked first, killed after `stop_timeout_s`.

        Raises LifecycleFailed, having sent nothing, if another process has its pid by now; and if
        it would not go even so. Cancelled, the pid file stays.
        """
        presence = await self.find(serve)
        if presence is Presence.MISMATCH:
            raise LifecycleFailed(Fault.MISMATCH)
        if presence is Presence.RUNNING:
            told = parse_pid_file(self._pid_path(serve).read_bytes())
            assert told is not None, "it was found a moment ago"
            _send(told.pid, signal.SIGTERM)
            if not await _is_gone(told.pid, serve.stop_timeout_s):
                _send(told.pid, signal.SIGKILL)
                if not await _is_gone(told.pid, _KILL_S):
                    raise LifecycleFailed(Fault.NOT_STOPPED)
        self._pid_path(serve).unlink(missing_ok=True)

    def _pid_path(self, serve: Serve) -> Path:
        return self._pids / f"{serve.name}.json"

    def _spawn(self, serve: Serve, command: Sequence[str]) -> None:
        for folder in (self._pids, self._logs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _Pipe() as log, _Pipe() as word:
            keeper = [str(Path(log_keeper.__file__)), str(self._logs / f"{serve.name}.log")]
            _spawn([*_PYTHON, *keeper, str(serve.log_max_bytes)], stdin=log.reader)
            log.close_reader()
            os.set_inheritable(word.reader, True)  # noqa: FBT003
            start = [*_PYTHON, str(Path(gate.__file__)), str(word.reader), str(self._folder)]
            pid = _spawn([*start, *command], output=log.writer)
            found = _stat(pid)
            if found is None:
                raise OSError
            known = PidFile(pid, found.start_time, _boot_id())
            write_whole(self._pid_path(serve), msgspec.json.encode(known))
            os.write(word.writer, b"1")


class _Pipe:
    """Two descriptors that are closed when the block is left."""

    def __enter__(self) -> "_Pipe":
        self.reader, self.writer = os.pipe()
        return self

    def close_reader(self) -> None:
        """Nobody here reads any more."""
        os.close(self.reader)
        self.reader = -1

    def __exit__(self, *_: object) -> None:
        for descriptor in (self.reader, self.writer):
            if descriptor >= 0:
                os.close(descriptor)


def _spawn(command: Sequence[str], *, stdin: int = -1, output: int = -1) -> int:
    """Start a process in a session of its own, with nothing of ours but these descriptors."""
    nowhere = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    silent = [(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_WRONLY, 0) for each in (1, 2)]
    heard = [(os.POSIX_SPAWN_DUP2, output, each) for each in (1, 2)]
    return os.posix_spawn(
        command[0],
        [*command],
        {name: value for name, value in os.environ.items() if name not in _OURS},
        file_actions=[
            nowhere if stdin < 0 else (os.POSIX_SPAWN_DUP2, stdin, 0),
            *(silent if output < 0 else heard),
        ],
        setsid=True,
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
    )


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _stat(pid: int) -> Stat | None:
    try:
        return parse_stat((_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def _send(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        return  # it went by itself, or is not ours to end: whether it is gone is asked anyway


async def _is_gone(group: int, within_s: float) -> bool:
    """Whether nothing of a process group is left before the time is over."""
    with trio.move_on_after(within_s):
        while _has_members(group):  # noqa: ASYNC110 - the kernel tells nobody
            await trio.sleep(_POLL_S)
        return True
    return False


def _has_members(group: int) -> bool:
    pids = (int(path.name) for path in _PROC.iterdir() if path.name.isdigit())
    found = (_stat(pid) for pid in pids)
    return any(each is not None and each.group == group and each.is_alive for each in found)


async def _is_taken(port: int) -> bool:
    """Whether somebody listens on that port of this machine."""
    with trio.move_on_after(_CONNECT_S), trio.socket.socket() as sock:
        try:
            await sock.connect(("127.0.0.1", port))
        except OSError:
            return False
    return True
