"""The file of intents on disk: read once at start, replaced as a whole on every change."""

from pathlib import Path

import trio

from anvil_trio.config.problems import ConfigError, ConfigProblem, ProblemCode
from anvil_trio.config.regular import read_regular
from anvil_trio.intent.document import MAX_STATE_BYTES, CorruptState, parse_state, render_state
from anvil_trio.intent.intents import Intents
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.whole_file import replace_whole, write_beside

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
            write_beside(self._temporary, b"")
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
            replace_whole(self._path, render_state(intents), beside=self._temporary)
        except OSError:
            log_event(LogEvent.ADMISSION_STATE_WRITE_FAILED)
            return False
        return True


def _read(path: Path) -> bytes | None:
    """The bytes of a regular file, and at most one more than it may have; None if there is none."""
    try:
        return read_regular(path, MAX_STATE_BYTES)
    except FileNotFoundError:
        return None
