"""What was done, as lines of a file, and told to another program if the operator wants that."""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from anvil_trio.lifecycle.bounded_run import run_bounded
from anvil_trio.lifecycle.model import EventSettings

__all__ = ["EVENT_KEYS", "EventKind", "Events"]

EVENT_KEYS = ("time", "kind", "subject", "operation")
_WITHIN_S = 35.0
_MAX_FILE_BYTES = 16_777_216
# Non-blocking: nobody is waited for who would read a pipe in the file's place.
_APPEND = (
    os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    | os.O_NOCTTY
)  # fmt: skip


class EventKind(StrEnum):
    """What can have been done."""

    SERVE_UP = "serve.up"
    SERVE_DOWN = "serve.down"
    PROFILE_ENTER = "profile.enter"
    PROFILE_LEAVE = "profile.leave"
    PROMOTE_APPLIED = "promote.applied"
    PROMOTE_ROLLED_BACK = "promote.rolled_back"


@dataclass(frozen=True, slots=True)
class Events:
    """One operator's events, below `home`. Recording one never fails what it is about."""

    home: Path
    settings: EventSettings

    async def record(self, kind: EventKind, subject: str, operation: str | None = None) -> bool:
        """Append one line, and tell the operator's program; False if either did not work.

        The program has 35 seconds. `subject` is the name of a serve, a plan or a profile.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        event = dict(zip(EVENT_KEYS, (now, kind.value, subject, operation), strict=True))
        is_written = self._append(event)
        return await self._tell(kind, subject, operation) and is_written

    def _append(self, event: Mapping[str, str | None]) -> bool:
        path = self.home / "events.jsonl"
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                if path.lstat().st_size > _MAX_FILE_BYTES:
                    path.replace(path.with_name("events.jsonl.1"))
            with os.fdopen(os.open(path, _APPEND, 0o600), "ab") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return False
                file.write(msgspec.json.encode(event) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            return False
        return True

    async def _tell(self, kind: EventKind, subject: str, operation: str | None) -> bool:
        settings = self.settings
        if not settings.enabled:
            return True
        told = {
            "--kind": kind.value,
            "--subject": subject,
            "--operation": operation or "",
            "--node": settings.node,
            "--producer": settings.producer,
            "--root": settings.root,
        }
        words = [word for name, value in told.items() if value for word in (name, value)]
        command = (*settings.command, "record", *words)
        ended = await run_bounded(command, within_s=_WITHIN_S, folder=self.home)
        return ended is not None and ended.status == 0
