"""Serves as processes of this machine: one session each, known by pid and start time."""

import os
import signal
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from secrets import token_hex

import msgspec
import trio

from anvil_trio.config.regular import read_regular
from anvil_trio.lifecycle import gate, log_keeper
from anvil_trio.lifecycle.bounded_run import environ_of_others
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
_MARK = "ANVIL_SERVE_MARK"
"""The variable by which what a serve has started is known when its own process is gone."""
_MAX_ENVIRON_BYTES = 4_194_304


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
        return self._look(serve)[0]

    async def start(self, serve: Serve) -> None:
        """Start it if it does not run. It outlives this program. Raises LifecycleFailed.

        Its pid file is on the disk before its command begins, so whoever is killed here leaves a
        process that is known, or none. What an earlier one left running is ended first. That it
        starts does not mean that it will serve.
        """
        presence, told = self._look(serve)
        if presence is Presence.RUNNING:
            return
        if presence is Presence.STOPPED and told is not None:
            await self._end(serve, told)
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
        presence, told = self._look(serve)
        if presence is Presence.MISMATCH:
            raise LifecycleFailed(Fault.MISMATCH)
        if told is not None:
            await self._end(serve, told)
        try:
            self._pid_path(serve).unlink(missing_ok=True)
        except OSError:
            raise LifecycleFailed(Fault.NOT_SAVED) from None

    def _look(self, serve: Serve) -> tuple[Presence, PidFile | None]:
        """Whether it runs, and which process was started for it since the machine was."""
        try:
            data = read_regular(self._pid_path(serve), _MAX_PID_FILE_BYTES)
        except FileNotFoundError:
            return Presence.STOPPED, None
        except (OSError, ValueError):
            return Presence.MISMATCH, None
        told = parse_pid_file(data)
        if told is None:
            return Presence.MISMATCH, None
        if told.boot_id != _boot_id():
            return Presence.STOPPED, None
        found = _stat(told.pid)
        if found is None or not found.is_alive:
            return Presence.STOPPED, told
        return (Presence.RUNNING if is_same(told, found) else Presence.MISMATCH), told

    async def _end(self, serve: Serve, told: PidFile) -> None:
        """End its process, or what that left in its group when it was gone."""
        if not _is_ours(told):
            return
        _send(told.pid, signal.SIGTERM)
        if not await _is_gone(told.pid, serve.stop_timeout_s):
            _send(told.pid, signal.SIGKILL)
            if not await _is_gone(told.pid, _KILL_S):
                raise LifecycleFailed(Fault.NOT_STOPPED)

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
            mark = token_hex(16)
            pid = _spawn([*start, *command], output=log.writer, mark=mark)
            found = _stat(pid)
            if found is None:
                raise OSError
            known = PidFile(pid, found.start_time, _boot_id(), mark)
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


def _spawn(
    command: Sequence[str], *, stdin: int = -1, output: int = -1, mark: str | None = None
) -> int:
    """Start a process in a session of its own, with nothing of ours but these descriptors."""
    marked = {} if mark is None else {_MARK: mark}
    nowhere = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    silent = [(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_WRONLY, 0) for each in (1, 2)]
    heard = [(os.POSIX_SPAWN_DUP2, output, each) for each in (1, 2)]
    return os.posix_spawn(
        command[0],
        [*command],
        {**environ_of_others(), **marked},
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
    return bool(_members(group))


def _members(group: int) -> list[Stat]:
    pids = (int(path.name) for path in _PROC.iterdir() if path.name.isdigit())
    found = (_stat(pid) for pid in pids)
    return [each for each in found if each is not None and each.group == group and each.is_alive]


def _is_ours(told: PidFile) -> bool:
    """Whether a group is that of the process that was started: by its leader, else by a mark.

    Where the leader is gone, its number may have been another's in between, and so the group.
    """
    leader = _stat(told.pid)
    if leader is not None and is_same(told, leader):
        return True
    return bool(told.mark) and any(_has_mark(each.pid, told.mark) for each in _members(told.pid))


def _has_mark(pid: int, mark: str) -> bool:
    try:
        with (_PROC / str(pid) / "environ").open("rb") as file:
            variables = file.read(_MAX_ENVIRON_BYTES).split(b"\0")
    except OSError:
        return False  # it is gone, or another user's
    return f"{_MARK}={mark}".encode() in variables


async def _is_taken(port: int) -> bool:
    """Whether somebody listens on that port of this machine."""
    with trio.move_on_after(_CONNECT_S), trio.socket.socket() as sock:
        try:
            await sock.connect(("127.0.0.1", port))
        except OSError:
            return False
    return True
