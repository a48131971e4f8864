"""The database's tables, and how an older one becomes one of this version."""

import sqlite3

__all__ = ["FutureSchema", "is_current", "migrate"]


class FutureSchema(Exception):  # noqa: N818 - named by what was found, as trio does
    """The database was written by a newer program, or by another one."""


_FIRST = """
CREATE TABLE operations (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    version TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    input_digest TEXT NOT NULL,
    inputs TEXT NOT NULL,
    quality_profile TEXT,
    state TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    created_s REAL NOT NULL,
    updated_s REAL NOT NULL,
    submitted_s REAL,
    started_s REAL,
    ended_s REAL,
    failure_code TEXT,
    handle TEXT,
    losses INTEGER NOT NULL DEFAULT 0,
    is_stop_owed INTEGER NOT NULL DEFAULT 0,
    UNIQUE (principal, workflow_id, version, idempotency_key)
) STRICT;
CREATE INDEX operations_open ON operations (created_s) WHERE ended_s IS NULL;
CREATE INDEX operations_owing ON operations (created_s) WHERE is_stop_owed;
CREATE INDEX operations_ended ON operations (ended_s) WHERE ended_s IS NOT NULL;
CREATE TABLE events (
    operation_id TEXT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    at_s REAL NOT NULL,
    PRIMARY KEY (operation_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE artifacts (
    id TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    principal TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    created_s REAL NOT NULL,
    expires_s REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_of ON artifacts (operation_id, position);
CREATE INDEX artifacts_expiring ON artifacts (expires_s);
"""

_STEPS = (_FIRST,)
"""What leads from version 0, an empty file, to the next, and so on; none is ever changed."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables to this version, in one transaction a step.

    A process that is killed meanwhile finds the version before or the one after. Raises
    FutureSchema, and sqlite3.Error.
    """
    version = _version(connection)
    if not 0 <= version <= len(_STEPS):
        raise FutureSchema
    for number, script in enumerate(_STEPS[version:], start=version + 1):
        connection.executescript(f"BEGIN; {script} PRAGMA user_version = {number}; COMMIT;")


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the tables are of this version. Raises sqlite3.Error."""
    return _version(connection) == len(_STEPS)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert isinstance(version, int), "so SQLite keeps it"
    return version
