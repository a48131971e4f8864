"""What every actor hears and answers. Plain data: a mailbox may one day be a socket."""

from enum import StrEnum

import msgspec

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


class Ticket(msgspec.Struct, frozen=True):
    """One question of one owner, and the key of whatever the answer gave it.

    An owner is one handle, in this process or another; it never uses a number twice.
    """

    owner: OwnerId
    number: int


class Withdraw(msgspec.Struct, frozen=True):
    """Whoever asked has gone. Ignored once the question was answered."""

    ticket: Ticket


class Release(msgspec.Struct, frozen=True):
    """What the ticket won is given back; one way, nobody waits for it."""

    ticket: Ticket


class OwnerGone(msgspec.Struct, frozen=True):
    """All that this owner holds or waits for is given back; whatever it still says is ignored."""

    owner: OwnerId


class Inspect(msgspec.Struct, frozen=True):
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


class Refused(msgspec.Struct, frozen=True):
    """No, and why; nothing was reserved."""

    reason: RefusalReason
