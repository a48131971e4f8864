"""The router's own configuration file, and what stands beside it: replaced whole or not at all.

    router.toml           what the router reads
    router.toml.new       what is being written; of no use to anybody
    router.toml.bak       what was there before the last installation
    router.toml.install   the journal of one that has not ended

A process that is killed at any moment leaves each of them as it was, or as it was to be.
"""

from contextlib import suppress
from functools import partial
from pathlib import Path

from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.config.regular import read_regular
from anvil_trio.installation.faults import InstallFailed, InstallFault
from anvil_trio.installation.journal import (
    MAX_JOURNAL_BYTES,
    CorruptJournal,
    Journal,
    parse_journal,
)
from anvil_trio.whole_file import keep_rights, replace_whole

__all__ = ["LiveFile"]


class LiveFile:
    """One file, by its path. Whoever writes holds the lock; everything raises InstallFailed.

    The file that a link leads to is meant, not the link. Nothing here awaits: a step on the disk is
    never cut in half by a cancel.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._path = path.resolve()
        except (OSError, ValueError, RuntimeError):  # a null character; a loop of links
            raise InstallFailed(InstallFault.LIVE_UNREADABLE) from None

    def read(self) -> bytes | None:
        """What it holds; None if there is none."""
        return _read(self._path, MAX_CONFIG_BYTES, InstallFault.LIVE_UNREADABLE)

    def read_backup(self) -> bytes | None:
        """What it held before the last installation; None if that is not known."""
        return _read(self._beside(".bak"), MAX_CONFIG_BYTES, InstallFault.LIVE_UNREADABLE)

    def read_journal(self) -> Journal | None:
        """The installation that has not ended, if there is one."""
        data = _read(self._beside(".install"), MAX_JOURNAL_BYTES, InstallFault.JOURNAL_UNREADABLE)
        try:
            return None if data is None else parse_journal(data)
        except CorruptJournal:
            raise InstallFailed(InstallFault.JOURNAL_UNREADABLE) from None

    def save_journal(self, journal: Journal) -> None:
        """Replace the journal; it is on the disk when this returns."""
        self._replace(self._beside(".install"), journal.render(), InstallFault.NOT_SAVED)

    def remove_journal(self) -> None:
        """There is no installation that has not ended. One that cannot be removed is harmless."""
        with suppress(OSError):
            self._beside(".install").unlink(missing_ok=True)

    def back_up(self, data: bytes) -> None:
        """Keep what it held, with its owner and mode."""
        self._replace(self._beside(".bak"), data, InstallFault.NOT_WRITTEN)

    def write(self, data: bytes | None) -> None:
        """Let it hold exactly `data`, with the owner and mode it has; None: let there be none."""
        if data is not None:
            self._replace(self._path, data, InstallFault.NOT_WRITTEN)
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            raise InstallFailed(InstallFault.NOT_WRITTEN) from None

    def _replace(self, target: Path, data: bytes, fault: InstallFault) -> None:
        try:
            replace_whole(
                target,
                data,
                beside=self._beside(".new"),
                set_rights=partial(keep_rights, self._path),
            )
        except (OSError, ValueError):
            raise InstallFailed(fault) from None

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)


def _read(path: Path, max_bytes: int, fault: InstallFault) -> bytes | None:
    try:
        data = read_regular(path, max_bytes)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise InstallFailed(fault) from None
    if len(data) > max_bytes:
        raise InstallFailed(fault)
    return data
