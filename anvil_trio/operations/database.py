"""The file, its lock and its transactions; used from one thread at a time."""

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import outcome

from anvil_trio.operations.schema import FutureSchema, is_current, migrate

__all__ = [
    "DatabaseFault",
    "DatabaseUnusable",
    "open_database",
    "run_batch",
    "visit_database",
]

Book = TypeVar("Book")
_OWNER_ONLY = 0o600
_OWNER_FOLDER = 0o700
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # what was answered is on the disk
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA busy_timeout = 2000",  # an operator's command, a backup
)


class DatabaseFault(Exception):  # noqa: N818 - named by what was found, as trio does
    """The database did not do it, for a reason of its own: a full disk, a damaged file."""


class DatabaseUnusable(Exception):  # noqa: N818 - likewise
    """The file cannot be used at all: not readable, not ours, or in another router's hands."""


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """The database at `path`, made if there is none, in no other router's hands meanwhile.

    It is its owner's alone. Raises DatabaseUnusable.
    """
    with _locked(path):
        try:
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error:
            raise DatabaseUnusable from None
        try:
            _set_up(connection, path)
            yield connection
        finally:
            connection.close()


@contextmanager
def visit_database(path: Path) -> Iterator[sqlite3.Connection]:
    """The database of a router that may be at work on it; raises DatabaseUnusable.

    There must be one, of this program's version: a visitor makes and changes no tables.
    """
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            for pragma in _PRAGMAS[1:]:
                connection.execute(pragma)
            if not is_current(connection):
                raise DatabaseUnusable
            yield connection
    except (sqlite3.Error, ValueError):  # ValueError: a null character
        raise DatabaseUnusable from None


def run_batch(
    connection: sqlite3.Connection, book: Book, calls: "Sequence[Callable[[Book], object]]"
) -> list[outcome.Outcome[object]]:
    """Each call's outcome, in order; all that they changed is on the disk, in one transaction.

    A call that raises has changed nothing. Where the database fails, at whichever call, each of
    them raises DatabaseFault and none has changed anything.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")  # waits for an operator's command, if there is one
        outcomes = [_run_one(connection, book, call) for call in calls]
        connection.execute("COMMIT")
    except sqlite3.Error:
        with suppress(sqlite3.Error):  # it may not even have begun
            connection.execute("ROLLBACK")
        return [outcome.Error(DatabaseFault()) for _ in calls]
    return outcomes


def _run_one(
    connection: sqlite3.Connection, book: Book, call: Callable[[Book], object]
) -> outcome.Outcome[object]:
    connection.execute("SAVEPOINT one")
    try:
        answer = call(book)
    except sqlite3.Error:
        raise  # of the file as a whole: no call of the batch is believed
    except Exception as error:  # noqa: BLE001 - of any kind: it is raised where it was asked
        connection.execute("ROLLBACK TO one")
        connection.execute("RELEASE one")
        return outcome.Error(error)
    connection.execute("RELEASE one")
    return outcome.Value(answer)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the one lock beside the file; it ends with the process, however that ends."""
    try:
        path.parent.mkdir(mode=_OWNER_FOLDER, parents=True, exist_ok=True)
        name = path.with_name(f"{path.name}.lock")
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
    except (OSError, ValueError):
        raise DatabaseUnusable from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DatabaseUnusable from None
        yield
    finally:
        os.close(descriptor)


def _set_up(connection: sqlite3.Connection, path: Path) -> None:
    try:
        path.chmod(_OWNER_ONLY)  # before there is a journal beside it, which takes its mode
        connection.row_factory = sqlite3.Row
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        migrate(connection)
    except (sqlite3.Error, OSError, FutureSchema):
        raise DatabaseUnusable from None
