"""What is remembered on disk: journals with the configurations they are about, and the one lock.

    HOME/operations/000007-promotion-NAME/journal.json
    HOME/operations/000007-promotion-NAME/SHA256.toml
    HOME/locks/serves-switch-promotion.lock

A journal is replaced as a whole and flushed, file and folder, before anybody relies on it: a
process that is killed at any moment leaves the journal before or the next one, never half of one.
"""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.regular import read_regular
from anvil_trio.lifecycle.faults import Fault, LifecycleFailed
from anvil_trio.lifecycle.journal import (
    MAX_JOURNAL_BYTES,
    CorruptJournal,
    Journal,
    parse_journal,
    render_journal,
)
from anvil_trio.whole_file import flush_folder, replace_whole

__all__ = ["OperationStore", "hold_lock", "write_whole"]

_JOURNAL = "journal.json"
_LOCK = "serves-switch-promotion.lock"
_FOLDER = re.compile(r"([0-9]{6,9})-[A-Za-z0-9_-]+")
_OWNER_FOLDER = 0o700
_OWNER_FILE = 0o600
_OPEN_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def write_whole(path: Path, data: bytes) -> None:
    """Replace the file at `path`, its owner's alone, or leave it as it was; raises OSError."""
    replace_whole(
        path,
        data,
        beside=path.with_name(f"{path.name}.new"),
        set_rights=lambda descriptor: os.fchmod(descriptor, _OWNER_FILE),
    )


@contextmanager
def hold_lock(home: Path) -> Iterator[None]:
    """Hold what every change of serves must hold; raises LifecycleFailed at once if another does.

    It ends with the process, however that ends. A serve that is started does not inherit it.
    """
    try:
        folder = home / "locks"
        folder.mkdir(mode=_OWNER_FOLDER, parents=True, exist_ok=True)
        descriptor = os.open(folder / _LOCK, _OPEN_LOCK, _OWNER_FILE)
    except OSError:
        raise LifecycleFailed(Fault.NOT_SAVED) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LifecycleFailed(Fault.LOCKED) from None
        yield
    finally:
        os.close(descriptor)


class OperationStore:
    """The journals below one operator's home. Written to only by who holds the lock."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "operations"

    def create(self, journal: Journal, configs: Mapping[str, bytes]) -> Journal:
        """Write a new operation down, under the next free id, with the configurations it names.

        Raises LifecycleFailed if it could not be; then there is none.
        """
        number = max(map(_number_of, self._folders()), default=0) + 1
        journal = msgspec.structs.replace(journal, id=f"{number:06d}-{journal.kind}-{journal.name}")
        if _FOLDER.fullmatch(journal.id) is None:  # nobody would ever find it again
            raise LifecycleFailed(Fault.NOT_SAVED)
        try:
            folder = self._folder / journal.id
            self._folder.mkdir(mode=_OWNER_FOLDER, parents=True, exist_ok=True)
            folder.mkdir(mode=_OWNER_FOLDER)
            for digest, data in configs.items():
                write_whole(folder / f"{digest}.toml", data)
        except OSError:
            raise LifecycleFailed(Fault.NOT_SAVED) from None
        self.save(journal)
        with suppress(OSError):  # it is there; some file systems cannot flush a folder
            flush_folder(self._folder)
        return journal

    def save(self, journal: Journal) -> None:
        """Replace the journal of its operation. Raises LifecycleFailed if that fails."""
        try:
            write_whole(self._folder / journal.id / _JOURNAL, render_journal(journal))
        except OSError:
            raise LifecycleFailed(Fault.NOT_SAVED) from None

    def config(self, journal: Journal, digest: str) -> bytes | None:
        """The bytes of one configuration that it was begun with; None if they are not those."""
        data = _read(self._folder / journal.id / f"{digest}.toml", MAX_CONFIG_BYTES)
        return data if data is not None and sha256(data).hexdigest() == digest else None

    def latest(self, kind: str, name: str) -> Journal | None:
        """The newest operation of that kind and name. Raises LifecycleFailed if it is damaged."""
        return next(
            (each for each in self._journals() if (each.kind, each.name) == (kind, name)), None
        )

    def unfinished(self) -> Journal | None:
        """The newest operation of which something is left to do, or None."""
        return next((each for each in self._journals() if not each.progress.is_finished), None)

    def _journals(self) -> Iterator[Journal]:
        """Every journal, the newest first. A folder without one was never an operation."""
        for folder in sorted(self._folders(), key=_number_of, reverse=True):
            data = _read(folder / _JOURNAL, MAX_JOURNAL_BYTES)
            if data is None:
                continue
            yield _parse(data, folder.name)

    def _folders(self) -> list[Path]:
        try:
            return [path for path in self._folder.iterdir() if _FOLDER.fullmatch(path.name)]
        except FileNotFoundError:
            return []
        except OSError:
            raise LifecycleFailed(Fault.UNREADABLE) from None


def _number_of(folder: Path) -> int:
    return int(folder.name.partition("-")[0])


def _parse(data: bytes, folder_name: str) -> Journal:
    """The journal of that folder. One that was copied there is not: it names where it is saved."""
    try:
        journal = parse_journal(data)
    except CorruptJournal:
        raise LifecycleFailed(Fault.UNREADABLE) from None
    if journal.id != folder_name:
        raise LifecycleFailed(Fault.UNREADABLE)
    return journal


def _read(path: Path, max_bytes: int) -> bytes | None:
    """The file, and at most one byte more than it may have; None if there is none."""
    try:
        return read_regular(path, max_bytes)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):  # ValueError: no plain file
        raise LifecycleFailed(Fault.UNREADABLE) from None
