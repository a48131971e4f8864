"""The decision log on disk: one JSON object per line, appended, never edited."""

import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.decisions.record import DecisionRecord, render_line
from anvil_trio.log_events import LogEvent, log_event

__all__ = ["Journal"]

_UNUSABLE = ConfigProblem(
    "server.decision_log_path",
    ProblemCode.FILE_UNREADABLE,
    "must name a regular file that can be appended to, in a directory that exists",
)
# Non-blocking so that opening a pipe without a reader fails instead of waiting for one.
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
_OWNER_ONLY = 0o600


class Journal:
    """An open, append-only file of decision records; a `with` block closes it.

    It is opened when made: ConfigError, naming the key and never the path, if that fails. From
    then on nothing here raises: a record that cannot be written is counted in `failures`, and a
    line on stderr says so at the first, second, fourth, eighth ... failure.
    """

    def __init__(self, path: str) -> None:
        self.failures = 0
        self._file: int | None = _opened(path)
        self._is_torn = _ends_inside_a_line(self._file)

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

    def _failed(self) -> None:
        self.failures += 1
        if self.failures.bit_count() == 1:  # a power of two: few lines, however long it lasts
            log_event(LogEvent.DECISION_LOG_WRITE_FAILED, failures=self.failures)


def _opened(path: str) -> int:
    """The open file, if it is one that never makes a writer wait."""
    try:
        file = os.open(Path(path).expanduser(), _FLAGS, _OWNER_ONLY)
    except (OSError, ValueError, RuntimeError):
        raise ConfigError([_UNUSABLE]) from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise ConfigError([_UNUSABLE])
    return file


def _ends_inside_a_line(file: int) -> bool:
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"
