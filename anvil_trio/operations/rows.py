"""The database's rows as values, and what only the service itself knows of an operation."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from anvil_trio.operations.model import (
    Artifact,
    Event,
    FailureCode,
    Latency,
    Operation,
    Scalar,
    State,
)

__all__ = ["Standing", "artifact_of", "event_of", "operation_of", "render_values", "standing_of"]

_VALUES: msgspec.json.Decoder[dict[str, str | int | float | bool]] = msgspec.json.Decoder(
    dict[str, str | int | float | bool]
)


@dataclass(frozen=True, slots=True)
class Standing:
    """One operation as the reconciler sees it.

    `handle` is the backend's own name for its job, `losses` how often the backend forgot it, and
    `is_stop_owed` that it ended here while the backend may still be at work.
    """

    operation: Operation
    values: Mapping[str, Scalar] = field(repr=False)
    handle: str | None
    losses: int
    is_stop_owed: bool


def operation_of(row: sqlite3.Row, artifact_ids: Sequence[str]) -> Operation:
    """A row of `operations`."""
    failure = row["failure_code"]
    return Operation(
        id=row["id"],
        principal=row["principal"],
        workflow_id=row["workflow_id"],
        version=row["version"],
        state=State(row["state"]),
        sequence=row["sequence"],
        created_s=row["created_s"],
        updated_s=row["updated_s"],
        failure_code=None if failure is None else FailureCode(failure),
        artifact_ids=tuple(artifact_ids),
        quality_profile=row["quality_profile"],
        latency=Latency(row["submitted_s"], row["started_s"], row["ended_s"]),
    )


def standing_of(row: sqlite3.Row, operation: Operation) -> Standing:
    """The same row, as the reconciler sees it."""
    return Standing(
        operation=operation,
        values=_VALUES.decode(row["inputs"]),
        handle=row["handle"],
        losses=row["losses"],
        is_stop_owed=bool(row["is_stop_owed"]),
    )


def event_of(row: sqlite3.Row) -> Event:
    """A row of `events`."""
    return Event(row["operation_id"], row["sequence"], State(row["state"]), row["at_s"])


def artifact_of(row: sqlite3.Row) -> Artifact:
    """A row of `artifacts`."""
    return Artifact(
        id=row["id"],
        operation_id=row["operation_id"],
        principal=row["principal"],
        media_type=row["media_type"],
        size=row["size"],
        created_s=row["created_s"],
        expires_s=row["expires_s"],
    )


def render_values(values: Mapping[str, Scalar]) -> str:
    """Inputs as they are kept; `standing_of` reads them back."""
    return msgspec.json.encode(values, order="sorted").decode()
