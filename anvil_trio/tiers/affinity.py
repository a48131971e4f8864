"""Which member a session belongs to: the same one for as long as the members are the same. Pure."""

from collections.abc import Iterable
from hashlib import blake2b

from anvil_trio.names import MemberId, SessionId

__all__ = ["home_of"]


def home_of(session_id: SessionId, members: Iterable[MemberId]) -> MemberId:
    """Rendezvous hashing: the member whose digest with the session is the largest.

    When a member goes, only its own sessions move; when one comes, only those that it takes. Each
    subset agrees with the whole: if the home is in it, it is chosen. There must be a member.
    """
    return max(members, key=lambda member_id: _weight(session_id, member_id))


def _weight(session_id: SessionId, member_id: MemberId) -> tuple[bytes, MemberId]:
    # Neither name can hold a space, so no two pairs are written alike.
    digest = blake2b(f"{session_id} {member_id}".encode(), digest_size=8).digest()
    return digest, member_id
