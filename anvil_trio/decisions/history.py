"""What the decision log on disk still says of earlier requests: bounded in bytes, lines and time.

Read by a worker thread, since a disk may take its time and the loop may not.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import msgspec
import trio

from anvil_trio.decisions.journal import earlier
from anvil_trio.decisions.record import DecisionRecord

__all__ = ["MOST_RECORDS", "Found", "History", "Unreadable"]

MOST_RECORDS = 50
_TAIL_BYTES = 1_048_576
_LINE_BYTES = 65_536
_PATIENCE_S = 2.0
_READERS = 2

_decode = msgspec.json.Decoder(DecisionRecord).decode

Wanted = Callable[[DecisionRecord], bool]


class Unreadable(Exception):  # noqa: N818 - named by what happened, as trio does
    """The file could not be read, or not in time."""


class Found(msgspec.Struct, frozen=True):
    """Records, newest first; `may_be_more` if there was more to read or to find."""

    records: tuple[DecisionRecord, ...] = ()
    may_be_more: bool = False


class History:
    """Reads the newest part of a decision log and of the generation before it.

    Of each file at most the newest MiB is read, lines longer than 64 KiB are skipped, as is what
    is no record, and at most 50 records are kept. At most two searches run at once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._readers = trio.CapacityLimiter(_READERS)

    async def search(self, wanted: Wanted, most: int = MOST_RECORDS) -> Found:
        """The newest `most` records that are wanted. Raises Unreadable, within two seconds.

        Whoever is cancelled leaves the thread behind, which ends by itself and changes nothing.
        """
        with trio.move_on_after(_PATIENCE_S):
            try:
                return await trio.to_thread.run_sync(
                    self._read,
                    wanted,
                    min(most, MOST_RECORDS),
                    abandon_on_cancel=True,
                    limiter=self._readers,
                )
            except OSError:
                raise Unreadable from None
        raise Unreadable

    def _read(self, wanted: Wanted, most: int) -> Found:
        found: list[DecisionRecord] = []
        with ExitStack() as files:
            generations = _open_generations(self._path, files)
            tails = [_tail(file) for file in generations]
        for lines, _ in tails:
            for record in _records(lines):
                if wanted(record):
                    if len(found) == most:
                        return Found(tuple(found), may_be_more=True)
                    found.append(record)
        return Found(tuple(found), may_be_more=any(is_cut for _, is_cut in tails))


def _open_generations(path: Path, files: ExitStack) -> list[BinaryIO]:
    """The open files, newest first, each once; FileNotFoundError if there is none.

    The newer one is opened first: a rotation in between then shows one file twice, and none less.
    """
    opened: list[BinaryIO] = []
    for name in (path, earlier(path)):
        try:
            file = files.enter_context(_open_regular(name))
        except FileNotFoundError:
            continue
        known = [os.fstat(one.fileno()) for one in opened]
        if not any(os.path.samestat(os.fstat(file.fileno()), one) for one in known):
            opened.append(file)
    if not opened:
        raise FileNotFoundError
    return opened


def _open_regular(path: Path) -> BinaryIO:
    """A regular file, so that reading never waits for a writer; OSError for anything else."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):  # before fdopen, which leaves a folder open
        os.close(file)
        raise OSError
    return os.fdopen(file, "rb")


def _tail(file: BinaryIO) -> tuple[list[bytes], bool]:
    """The newest whole lines, and whether there are older ones that are not read."""
    size = os.fstat(file.fileno()).st_size
    start = max(size - _TAIL_BYTES, 0)
    data = os.pread(file.fileno(), _TAIL_BYTES, start)
    lines = data.split(b"\n")
    return (lines[1:], True) if start else (lines, False)


def _records(lines: list[bytes]) -> Iterator[DecisionRecord]:
    """The records among the lines, newest first: only the fields that a record has."""
    for line in reversed(lines):
        if 0 < len(line) <= _LINE_BYTES:
            try:
                yield _decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
