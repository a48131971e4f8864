"""What every actor hears and answers. Plain data: a mailbox may one day be a socket."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from anvil_trio.names import OwnerId

__all__ = [
    "Common",
    "Inspect",
    "OwnerGone",
    "RefusalReason",
    "Refused",
    "Release",
    "Ticket",
    "Withdraw",
]


class Ticket(NamedTuple):
    """One question of one owner, and the key of whatever the answer gave it.

    An owner is one handle, in this process or another; it never uses a number twice.
    """

    owner: OwnerId
    number: int


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Whoever asked has gone. Ignored once the question was answered."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class Release:
    """What the ticket won is given back; one way, nobody waits for it."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class OwnerGone:
    """All that this owner holds or waits for is given back; whatever it still says is ignored."""

    owner: OwnerId


@dataclass(frozen=True, slots=True)
class Inspect:
    """What does the actor count at this moment?"""

    ticket: Ticket


Common = Withdraw | Release | OwnerGone | Inspect


class RefusalReason(StrEnum):
    """Every reason for which an actor says no."""

    QUIESCED = "quiesced"
    NOT_READY = "no_ready_member"
    TIER_FAILED = "tier_failed"
    NOT_QUIESCED = "not_quiesced"
    UNKNOWN_MEMBER = "unknown_member"
    CLIENT_BUSY = "client_concurrency_exhausted"
    SERVER_BUSY = "server_busy"
    ADMISSION_FAILED = "admission_failed"


@dataclass(frozen=True, slots=True)
class Refused:
    """No, and why; nothing was reserved."""

    reason: RefusalReason
