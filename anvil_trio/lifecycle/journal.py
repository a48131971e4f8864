"""The journal of one operation: a value, and the file that it is. Pure.

What an operation is about is written down in full when it begins, so that whoever takes it up needs
nothing but the manifest's serves. A file is taken as a whole or not at all.
"""

import math
from typing import Annotated, Final, Literal

import msgspec

from anvil_trio.lifecycle.progress import (
    Extent,
    Goal,
    Order,
    Path,
    Progress,
    Status,
    Step,
    is_possible,
)

__all__ = [
    "MAX_JOURNAL_BYTES",
    "SCHEMA",
    "CorruptJournal",
    "Journal",
    "Kind",
    "Side",
    "parse_journal",
    "render_journal",
]

MAX_JOURNAL_BYTES = 1_048_576
SCHEMA: Final = "anvil-serving.serves-switch-operation/v1"

Kind = Literal["promotion", "mode"]
_Digest = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_ErrorCode = Annotated[str, msgspec.Meta(pattern=r"\A[a-z_]{1,64}\Z")]


class CorruptJournal(ValueError):  # noqa: N818 - named by what it is
    """The bytes are no journal. It says nothing of what they hold (R012)."""


class Side(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is so once this side has taken over, and what has to be done for it."""

    serves: tuple[str, ...]
    """What runs."""
    stops: tuple[str, ...]
    """What does not."""
    closes: tuple[str, ...]
    """The tiers that take nothing while it takes over."""
    opens: tuple[str, ...]
    """Those that are opened in the end."""
    config_sha256: _Digest | None = None
    """The router's configuration; None: it stays as it is."""
    gate: tuple[str, ...] = ()
    startup_timeout_s: float = 600.0


class Journal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One operation, from its plan to its end."""

    schema: Literal["anvil-serving.serves-switch-operation/v1"] = SCHEMA
    id: str
    kind: Kind
    name: str
    status: Status
    order: Order
    origin: Goal
    goal: Goal
    path: Path
    step: Step | None
    extent: Extent
    target: Side
    rollback: Side
    drain_timeout_s: float
    poll_interval_s: float
    error: _ErrorCode | None = None
    """The code of the last failure."""

    @property
    def progress(self) -> Progress:
        """Where it is."""
        return Progress(
            self.order, self.origin, self.goal, self.path, self.step, self.extent, self.status
        )

    def at(self, progress: Progress) -> "Journal":
        """The same operation somewhere else."""
        return msgspec.structs.replace(
            self,
            status=progress.status,
            order=progress.order,
            origin=progress.origin,
            goal=progress.goal,
            path=progress.path,
            step=progress.step,
            extent=progress.extent,
        )

    def failed(self, code: str) -> "Journal":
        """The same operation, with why its step failed."""
        return msgspec.structs.replace(self, error=code)

    @property
    def side(self) -> Side:
        """The side that is to take over."""
        return self.target if self.goal is Goal.TARGET else self.rollback

    @property
    def other_side(self) -> Side:
        """The side that it takes over from."""
        return self.rollback if self.goal is Goal.TARGET else self.target


_DECODER = msgspec.json.Decoder(Journal)


def parse_journal(data: bytes) -> Journal:
    """The journal that `data` holds. Raises CorruptJournal for anything else."""
    if len(data) > MAX_JOURNAL_BYTES:
        raise CorruptJournal
    try:
        journal = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError):
        raise CorruptJournal from None
    times = (journal.drain_timeout_s, journal.poll_interval_s)
    bounds = (journal.target.startup_timeout_s, journal.rollback.startup_timeout_s)
    if not is_possible(journal.progress) or not all(0 < s < math.inf for s in (*times, *bounds)):
        raise CorruptJournal
    return journal


def render_journal(journal: Journal) -> bytes:
    """The file that `parse_journal` reads as `journal`."""
    return msgspec.json.format(msgspec.json.encode(journal), indent=1) + b"\n"
