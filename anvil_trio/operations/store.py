"""What is remembered of operations: each method is one step of one transaction, or nothing.

Nobody but the writer's thread calls these. Times are told, never asked for.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from anvil_trio.operations.ids import is_artifact_id, is_operation_id
from anvil_trio.operations.inputs import Inputs
from anvil_trio.operations.model import (
    Artifact,
    Event,
    FailureCode,
    Operation,
    Refusal,
    RefusalCode,
    State,
    Submission,
)
from anvil_trio.operations.rows import (
    Standing,
    artifact_of,
    event_of,
    operation_of,
    render_values,
    standing_of,
)
from anvil_trio.operations.states import AT_BACKEND, may_follow

__all__ = ["Change", "Entry", "Store"]

_NOT_FOUND = Refusal(RefusalCode.OPERATION_NOT_FOUND)
_MARKS = {State.QUEUED: "submitted_s", State.RUNNING: "started_s"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One checked submission, and the id that its operation has if it is a new one."""

    operation_id: str
    principal: str = field(repr=False)
    submission: Submission
    inputs: Inputs
    at_s: float


@dataclass(frozen=True, slots=True)
class Change:
    """One step of one operation, made only if it is still where the step begins."""

    operation_id: str
    before: State
    after: State
    at_s: float
    failure: FailureCode | None = None
    artifacts: Sequence[Artifact] = ()


class Store:
    """The tables, through one connection whose transactions somebody else begins and ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def submit(self, entry: Entry, max_active: int) -> Operation | Refusal:
        """The one operation of this key: an earlier one of the same input, or a new one."""
        asked = entry.submission
        row = self._db.execute(
            "SELECT * FROM operations WHERE principal = ? AND workflow_id = ? AND version = ?"
            " AND idempotency_key = ?",
            (entry.principal, asked.workflow_id, asked.version, asked.idempotency_key),
        ).fetchone()
        if row is not None:
            if row["input_digest"] != entry.inputs.digest:
                return Refusal(RefusalCode.IDEMPOTENCY_CONFLICT)
            return self._operation(row)
        refusal = self._find_refusal(entry, max_active)
        return self._insert(entry) if refusal is None else refusal

    def operation(self, principal: str, operation_id: str) -> Operation | Refusal:
        """One of the principal's own."""
        row = self._row(operation_id)
        if row is None or row["principal"] != principal:
            return _NOT_FOUND
        return self._operation(row)

    def change(self, change: Change) -> Operation | None:
        """The operation after the step; None, and nothing has changed, if it is elsewhere."""
        assert may_follow(change.before, change.after), "a step of the table"
        row = self._row(change.operation_id)
        if row is None or row["state"] != change.before:
            return None
        is_stop_owed = (
            change.after in {State.FAILED, State.CANCELED} and change.before in AT_BACKEND
        )
        self._db.execute(
            "UPDATE operations SET state = ?, sequence = sequence + 1, updated_s = ?,"
            " failure_code = ?, is_stop_owed = ? WHERE id = ?",
            (change.after, change.at_s, change.failure, is_stop_owed, row["id"]),
        )
        mark = "ended_s" if change.after.terminal else _MARKS.get(change.after)
        if mark is not None:
            self._db.execute(
                f"UPDATE operations SET {mark} = ? WHERE id = ?",  # noqa: S608 - a name of ours
                (change.at_s, row["id"]),
            )
        self._add_event(row["id"], row["sequence"] + 1, change.after, change.at_s)
        self._add_artifacts(change.artifacts)
        return self._found(row["id"])

    def complete(self, change: Change, max_stored_bytes: int) -> Operation | FailureCode | None:
        """The last step with what it made; STORAGE_FULL, and no change, if it is too much."""
        added = sum(artifact.size for artifact in change.artifacts)
        if self.used_bytes() + added > max_stored_bytes:
            return FailureCode.STORAGE_FULL
        return self.change(change)

    def cancel(self, principal: str, operation_id: str, at_s: float) -> Operation | Refusal:
        """End it here; what the backend still does is owed to be stopped."""
        found = self.operation(principal, operation_id)
        if isinstance(found, Refusal):
            return found
        if found.state.terminal:
            return Refusal(RefusalCode.OPERATION_NOT_CANCELABLE)
        done = self.change(Change(found.id, found.state, State.CANCELED, at_s))
        assert done is not None, "nobody comes in between within a transaction"
        return done

    def approve(self, principal: str, operation_id: str, at_s: float) -> Operation | Refusal:
        """Let it go on from where it waits to be approved."""
        found = self.operation(principal, operation_id)
        if isinstance(found, Refusal):
            return found
        step = Change(found.id, State.AWAITING_APPROVAL, State.PREPARING, at_s)
        done = self.change(step)
        return Refusal(RefusalCode.OPERATION_NOT_AWAITING_APPROVAL) if done is None else done

    def feed(self, operation_id: str, after: int, limit: int) -> tuple[list[Event], bool]:
        """The next events after that sequence, in order, and whether none will ever follow them."""
        rows = self._db.execute(
            "SELECT * FROM events WHERE operation_id = ? AND sequence > ?"
            " ORDER BY sequence LIMIT ?",
            (operation_id, after, limit),
        )
        events = [event_of(row) for row in rows]
        if events:
            return events, events[-1].state.terminal
        row = self._row(operation_id)
        return events, row is None or State(row["state"]).terminal

    def artifact(self, principal: str, artifact_id: str, at_s: float) -> Artifact | None:
        """One of the principal's own that has not expired."""
        if not is_artifact_id(artifact_id):
            return None
        row = self._db.execute(
            "SELECT * FROM artifacts WHERE id = ? AND principal = ? AND expires_s > ?",
            (artifact_id, principal, at_s),
        ).fetchone()
        return None if row is None else artifact_of(row)

    def standing(self, operation_id: str) -> Standing | None:
        """What the reconciler needs to know of one operation."""
        row = self._row(operation_id)
        return None if row is None else standing_of(row, self._operation(row))

    def unfinished(self) -> list[str]:
        """Every operation that somebody has to see to, the oldest first."""
        rows = self._db.execute(
            "SELECT id, created_s FROM operations WHERE ended_s IS NULL"
            " UNION SELECT id, created_s FROM operations WHERE is_stop_owed"
            " ORDER BY created_s, id"
        )
        return [row["id"] for row in rows]

    def awaiting(self) -> list[Operation]:
        """Every operation that awaits approval, whoever's it is, the oldest first."""
        rows = self._db.execute(
            "SELECT * FROM operations WHERE state = ? ORDER BY created_s, id",
            (State.AWAITING_APPROVAL,),
        )
        return [self._operation(row) for row in rows.fetchall()]

    def count_loss(self, operation_id: str) -> None:
        """The backend forgot the job once more, and with it what it called it."""
        self._db.execute(
            "UPDATE operations SET losses = losses + 1, handle = NULL WHERE id = ?",
            (operation_id,),
        )

    def handed_over(self, operation_id: str, handle: str) -> None:
        """What the backend calls the job that it was given."""
        self._db.execute("UPDATE operations SET handle = ? WHERE id = ?", (handle, operation_id))

    def stopped(self, operation_id: str) -> None:
        """The backend was told to stop; nothing is owed any more."""
        self._db.execute("UPDATE operations SET is_stop_owed = 0 WHERE id = ?", (operation_id,))

    def used_bytes(self) -> int:
        """The size of everything that is kept."""
        (total,) = self._db.execute("SELECT coalesce(sum(size), 0) FROM artifacts").fetchone()
        assert isinstance(total, int)
        return total

    def artifact_ids(self) -> frozenset[str]:
        """Every artifact that there is."""
        return frozenset(row["id"] for row in self._db.execute("SELECT id FROM artifacts"))

    def expire(self, at_s: float, retention_s: float) -> list[str]:
        """Forget what is too old; the artifacts whose files are to go."""
        gone = self._db.execute("DELETE FROM artifacts WHERE expires_s <= ? RETURNING id", (at_s,))
        expired = [row["id"] for row in gone.fetchall()]
        self._db.execute(
            "DELETE FROM operations WHERE ended_s <= ? AND NOT is_stop_owed"
            " AND id NOT IN (SELECT operation_id FROM artifacts)",
            (at_s - retention_s,),
        )
        return expired

    def census(self) -> dict[tuple[str, State], int]:
        """How many operations of each workflow are in each state in which there are some."""
        rows = self._db.execute(
            "SELECT workflow_id, state, count(*) AS number FROM operations"
            " GROUP BY workflow_id, state"
        )
        return {(row["workflow_id"], State(row["state"])): row["number"] for row in rows}

    def _find_refusal(self, entry: Entry, max_active: int) -> Refusal | None:
        for name in entry.inputs.artifacts:
            wanted = str(entry.inputs.values[name])
            if self.artifact(entry.principal, wanted, entry.at_s) is None:
                return Refusal(RefusalCode.PARAMETER_INVALID, name)
        (active,) = self._db.execute(
            "SELECT count(*) FROM operations WHERE ended_s IS NULL"
        ).fetchone()
        return Refusal(RefusalCode.BUSY) if active >= max_active else None

    def _insert(self, entry: Entry) -> Operation:
        asked, inputs = entry.submission, entry.inputs
        self._db.execute(
            "INSERT INTO operations (id, principal, workflow_id, version, idempotency_key,"
            " input_digest, inputs, quality_profile, state, sequence, created_s, updated_s)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)",
            (
                entry.operation_id,
                entry.principal,
                asked.workflow_id,
                asked.version,
                asked.idempotency_key,
                inputs.digest,
                render_values(inputs.values),
                asked.quality_profile,
                State.ACCEPTED,
                entry.at_s,
                entry.at_s,
            ),
        )
        self._add_event(entry.operation_id, 1, State.ACCEPTED, entry.at_s)
        return self._found(entry.operation_id)

    def _add_event(self, operation_id: str, sequence: int, state: State, at_s: float) -> None:
        self._db.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?)", (operation_id, sequence, state, at_s)
        )

    def _add_artifacts(self, artifacts: Iterable[Artifact]) -> None:
        self._db.executemany(
            "INSERT INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    each.id,
                    each.operation_id,
                    position,
                    each.principal,
                    each.media_type,
                    each.size,
                    each.created_s,
                    each.expires_s,
                )
                for position, each in enumerate(artifacts)
            ),
        )

    def _row(self, operation_id: str) -> sqlite3.Row | None:
        if not is_operation_id(operation_id):  # text that the database might not even take
            return None
        row = self._db.execute("SELECT * FROM operations WHERE id = ?", (operation_id,)).fetchone()
        assert row is None or isinstance(row, sqlite3.Row)
        return row

    def _found(self, operation_id: str) -> Operation:
        row = self._row(operation_id)
        assert row is not None, "it was there in this transaction"
        return self._operation(row)

    def _operation(self, row: sqlite3.Row) -> Operation:
        kept = self._db.execute(
            "SELECT id FROM artifacts WHERE operation_id = ? ORDER BY position", (row["id"],)
        )
        return operation_of(row, [each["id"] for each in kept])
