"""What a router's answer to an order means: its rows in plain lines, and success or not."""

from collections.abc import Mapping, Sequence

import msgspec
from pydantic import JsonValue

from anvil_trio.cli.envelope import CommandFailed, Failure
from anvil_trio.cli.exits import Exit

__all__ = ["Row", "judge", "read_rows", "render_row", "render_rows"]


class Row(msgspec.Struct):
    """A tier, or one member of it; what only a status says is None elsewhere."""

    tier_id: str
    state: str | None
    reason: str | None
    active_requests: int | None
    draining: bool | None
    member_id: str | None = None
    ready: bool | None = None
    readiness_reason: str | None = None
    members: list["Row"] = []


class _Status(msgspec.Struct):
    tiers: list[Row]


class _Quiesced(msgspec.Struct):
    result: Row


class _DrainResult(msgspec.Struct):
    drained: bool
    snapshot: Row


class _Drained(msgspec.Struct):
    result: _DrainResult


class _ReadmitResult(msgspec.Struct):
    readmitted: bool
    status: _Status


class _Readmitted(msgspec.Struct):
    result: _ReadmitResult


_INVALID = Failure(
    Exit.TRANSPORT, "router_response_invalid", "The router's answer could not be read."
)
_NOT_DRAINED = Failure(
    Exit.EXECUTION, "not_drained", "Requests still run; it stays quiesced and drains no more."
)
_NOT_READMITTED = Failure(
    Exit.EXECUTION, "not_readmitted", "It is not ready, so it was not opened."
)
_NOT_READY = Failure(Exit.EXECUTION, "not_ready", "Not everything that was asked for is ready.")


def read_rows(action: str, reply: Mapping[str, JsonValue], tier_id: str | None) -> Sequence[Row]:
    """The rows of an answer to an order about `tier_id`; None: all that there are.

    Raises CommandFailed for what is no answer, or one about another tier or about one twice.
    """
    try:
        rows = _rows(action, reply)
    except (msgspec.ValidationError, RecursionError):
        raise CommandFailed(_INVALID) from None
    ids = [row.tier_id for row in rows]
    if len(set(ids)) < len(ids) or (tier_id is not None and ids != [tier_id]):
        raise CommandFailed(_INVALID)
    return rows


def _rows(action: str, reply: Mapping[str, JsonValue]) -> Sequence[Row]:
    match action:
        case "quiesce":
            return [msgspec.convert(reply, _Quiesced).result]
        case "drain":
            return [msgspec.convert(reply, _Drained).result.snapshot]
        case "readmit":
            return msgspec.convert(reply, _Readmitted).result.status.tiers
        case _:
            return msgspec.convert(reply, _Status).tiers


def judge(action: str, reply: Mapping[str, JsonValue], rows: Sequence[Row]) -> Failure | None:
    """Why an answer that was read is no success, or None."""
    match action:
        case "drain":
            is_done = msgspec.convert(reply, _Drained).result.drained
            return None if is_done else _NOT_DRAINED
        case "readmit":
            is_done = msgspec.convert(reply, _Readmitted).result.readmitted
            return None if is_done else _NOT_READMITTED
        case "status":
            return None if all(row.ready for row in rows) else _NOT_READY
        case _:
            return None


def render_rows(rows: Sequence[Row]) -> Sequence[str]:
    """A line for each tier, and below it one for each member: their intents are their own."""
    return [render_row(one) for row in rows for one in (row, *row.members)]


def render_row(row: Row) -> str:
    """One line: who, its intent, what runs, and whether it is ready where that was asked."""
    name = row.tier_id if row.member_id is None else f"{row.tier_id}/{row.member_id}"
    words = [row.state or "unknown"]
    if row.reason is not None:
        words[0] += f" ({row.reason})"
    if row.active_requests is not None:
        words.append(f"{row.active_requests} running")
    if row.draining:
        words.append("draining")
    if row.ready is not None:
        words.append("ready" if row.ready else f"not ready ({row.readiness_reason})")
    line = f"{name}: {', '.join(words)}"
    return line if line.isprintable() else "?"  # a router's words do not steer a terminal
