"""The file of intents on disk: read once at start, replaced as a whole on every change."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import trio

from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.intent.document import MAX_STATE_BYTES, CorruptState, parse_state, render_state
from anvil_trio.intent.intents import Intents
from anvil_trio.log_events import LogEvent, log_event

__all__ = ["StateFile"]

_KEY = "server.admission_state_path"
_UNUSABLE = ConfigProblem(
    _KEY,
    ProblemCode.FILE_UNREADABLE,
    "must name a regular file that can be read and replaced, or none yet, in a directory that"
    " exists",
)
_CORRUPT = ConfigProblem(
    _KEY,
    ProblemCode.INVALID,
    "must name a file that this router wrote; this one is damaged, too large or of another version",
)
# Non-blocking so that opening a pipe without a writer fails instead of waiting for one.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OWNER_ONLY = 0o600


class StateFile:
    """Where the intents are remembered.

    It is checked when made: ConfigError, naming the key and never the path, if the file cannot be
    read, is damaged, or could not be replaced. `found` is what it said then. From then on nothing
    here raises.
    """

    def __init__(self, path: str) -> None:
        try:
            # Through links: the file that is meant is replaced, and not the link to it.
            self._path = Path(path).expanduser().resolve()
            self._temporary = self._path.with_name(f"{self._path.name}.tmp")
            data = _read(self._path)
            self._write_temporary(b"")
            self._temporary.unlink()
        except (OSError, ValueError, RuntimeError):  # a null character; a loop of links; no home
            raise ConfigError([_UNUSABLE]) from None
        try:
            self.found = Intents() if data is None else parse_state(data)
        except CorruptState:
            raise ConfigError([_CORRUPT]) from None

    async def save(self, intents: Intents) -> bool:
        """Replace the file in a thread; False, and the old one stays whole, if that fails.

        Cancelled before it begins, or not at all; no checkpoint follows it. Calls must not overlap.
        """
        return await trio.to_thread.run_sync(self.write, intents)

    def write(self, intents: Intents) -> bool:
        """The same, here and now: written beside it, flushed to the disk, then renamed over it."""
        try:
            self._write_temporary(render_state(intents))
            self._temporary.replace(self._path)
        except OSError:
            log_event(LogEvent.ADMISSION_STATE_WRITE_FAILED)
            return False
        with suppress(OSError):  # it is in place; some file systems cannot flush a directory
            _flush_directory(self._path.parent)
        return True

    def _write_temporary(self, data: bytes) -> None:
        """What a killed process left behind is in nobody's use: there is one writer."""
        self._temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(self._temporary, _WRITE, _OWNER_ONLY), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def _read(path: Path) -> bytes | None:
    """The bytes of a regular file, and at most one more than it may have; None if there is none."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_STATE_BYTES + 1)
    finally:
        os.close(descriptor)


def _flush_directory(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
