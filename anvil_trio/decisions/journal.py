"""The decision log on disk: one JSON object per line, appended, never edited; two generations."""

import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.decisions.record import DecisionRecord, render_line
from anvil_trio.log_events import LogEvent, log_event

__all__ = ["ROTATE_BYTES", "Journal", "earlier"]

ROTATE_BYTES = 67_108_864
"""A file of this size gives way to a new one."""

_UNUSABLE = ConfigProblem(
    "server.decision_log_path",
    ProblemCode.FILE_UNREADABLE,
    "must name a regular file that can be appended to, in a directory that exists",
)
# Non-blocking so that opening a pipe without a reader fails instead of waiting for one.
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
_OWNER_ONLY = 0o600
_RETRY_BYTES = 1_048_576
"""How much more is written before a rotation that failed is tried again."""


class Journal:
    """An open, append-only file of decision records; a `with` block closes it.

    It is opened when made: ConfigError, naming the key and never the path, if that fails. From
    then on nothing here raises: a record that cannot be written is counted in `failures`, and a
    line on stderr says so at the first, second, fourth, eighth ... failure.

    A file of `rotate_bytes` becomes `<path>.1`, in place of the one that was there, and a new one
    begins. Where that fails the file grows on, so that no record is lost by it.
    """

    def __init__(self, path: str, *, rotate_bytes: int = ROTATE_BYTES) -> None:
        self.failures = 0
        self._rotate_bytes = self._rotate_at = rotate_bytes
        self.path, file = _opened(path)
        self._file: int | None = file
        self._is_torn = _ends_inside_a_line(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def append(self, record: DecisionRecord) -> None:
        """Add one record with one write, without waiting; never raises.

        After half a line (a full disk, a crash) the next record starts on a line of its own.
        """
        if self._file is not None:
            self._rotate_if_full(self._file)
        line = render_line(record)
        if self._is_torn:
            line = b"\n" + line
        written = self._write(line)
        self._is_torn = self._is_torn if written == 0 else written < len(line)
        if written < len(line):
            self._failed()

    def close(self) -> None:
        """Close the file, once; later records are counted as failures."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _write(self, line: bytes) -> int:
        """How many bytes went out: all, some, or none."""
        if self._file is None:
            return 0
        try:
            return os.write(self._file, line)
        except OSError:
            return 0

    def _rotate_if_full(self, file: int) -> None:
        """Begin a new file if this one is full; whatever goes wrong, there is a file after it."""
        try:
            size = os.fstat(file).st_size
            if size < self._rotate_at:
                return
            self._rotate_at = size + _RETRY_BYTES  # stands if what follows fails
            if _is_at(self.path, file):  # else another process has moved it out of the way
                self.path.rename(earlier(self.path))
            fresh = _open_regular(self.path)
        except OSError:
            log_event(LogEvent.DECISION_LOG_ROTATION_FAILED)
            return
        os.close(file)
        self._file, self._rotate_at = fresh, self._rotate_bytes
        self._is_torn = _ends_inside_a_line(fresh)

    def _failed(self) -> None:
        self.failures += 1
        if self.failures.bit_count() == 1:  # a power of two: few lines, however long it lasts
            log_event(LogEvent.DECISION_LOG_WRITE_FAILED, failures=self.failures)


def earlier(path: Path) -> Path:
    """Where the generation before the one at `path` is kept."""
    return path.with_name(f"{path.name}.1")


def _opened(path: str) -> tuple[Path, int]:
    """Where the file is, whatever the working directory becomes, and the open file."""
    try:
        where = Path(path).expanduser().absolute()
        return where, _open_regular(where)
    except (OSError, ValueError, RuntimeError):
        raise ConfigError([_UNUSABLE]) from None


def _open_regular(path: Path) -> int:
    """The open file, if it is one that never makes a writer wait; OSError if not."""
    file = os.open(path, _FLAGS, _OWNER_ONLY)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError
    return file


def _is_at(path: Path, file: int) -> bool:
    """Whether the open file is the one that the path names now."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


def _ends_inside_a_line(file: int) -> bool:
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"
