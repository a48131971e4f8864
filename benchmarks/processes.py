"""Servers as child processes, so that their CPU can be told from the load generator's."""

import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Child", "cpu_seconds", "family", "family_cpu_seconds", "rss_kib", "status_fields"]

_START_S = 30.0
_STOP_S = 10.0
_READY = "listening on "


class Child:
    """`anvil-serving ARGUMENTS`, or another module's program, as a child process.

    Entered once it listens, ended when the block is left.

    `url` is what it printed after `listening on`. Its event lines are kept, and shown only if it
    does not come to listen.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        module: str = "anvil_trio",
    ) -> None:
        self._command = [sys.executable, "-m", module, *arguments]
        self._env = {**os.environ, **(env or {})}
        self.url = ""

    def __enter__(self) -> Self:
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command, env=self._env, stdout=subprocess.PIPE, stderr=self._stderr
        )
        try:
            self.url = self._announced()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def _announced(self) -> str:
        stdout = self._process.stdout
        assert stdout is not None, "stdout is a pipe"
        if not select.select([stdout], [], [], _START_S)[0]:
            raise TimeoutError("a server said nothing within its time to start")
        line = stdout.readline().decode().strip()
        if not line.startswith(_READY):
            self._process.wait(_STOP_S)
            self._stderr.seek(0)
            raise RuntimeError(f"a server did not listen: {self._stderr.read().decode()}")
        return line.removeprefix(_READY)

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._stderr.close()


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of one process, from /proc: nanoseconds, not ticks."""
    tasks = Path(f"/proc/{pid}/task")
    spent = [int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()]
    return sum(spent) / 1e9


def family(pid: int) -> Iterator[int]:
    """A process and all that it has started, in turn; nothing of those that have ended."""
    yield pid
    for task in _listed(Path(f"/proc/{pid}/task")):
        try:
            children = (task / "children").read_text(encoding="ascii")
        except OSError:
            continue
        for child in children.split():
            yield from family(int(child))


def family_cpu_seconds(pid: int) -> float:
    """The CPU time of a process and of its children, as far as they are there.

    Raises ProcessLookupError if the process itself is not there, or is not ours to look at.
    """
    if not Path(f"/proc/{pid}/task").is_dir():
        raise ProcessLookupError(f"there is no process {pid} on this host")
    return sum(_cpu_or_none(member) for member in family(pid))


def _cpu_or_none(pid: int) -> float:
    try:
        return cpu_seconds(pid)
    except OSError:
        return 0.0


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def status_fields(pid: int) -> dict[str, str]:
    """What /proc says of a process, by the field's name."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def rss_kib(pid: int) -> int:
    """How much of a process is in memory, shared pages included."""
    return int(status_fields(pid)["VmRSS"].split()[0])
