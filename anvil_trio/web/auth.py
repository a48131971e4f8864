"""Who is calling: credentials to a principal, by digest look-up.

A token's sha256 is looked up in a dict of digests: what timing could reveal is about the digest,
never about the token, and it does not depend on how many clients there are. Headers other than the
two credential headers cannot choose the identity.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from anvil_trio.config.policy import ClientCredential, ClientScope
from anvil_trio.errors import Code, Problem, problem
from anvil_trio.names import LEGACY_CLIENT, ClientId

__all__ = ["Authenticator", "Principal", "Scope"]


class Scope(StrEnum):
    """What a route asks for. The operator token may do everything, and only it what is OPERATOR."""

    OPERATOR = "operator"
    INFERENCE_USE = ClientScope.INFERENCE_USE.value
    WORKLOADS_READ = ClientScope.WORKLOADS_READ.value


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller."""

    client_id: ClientId
    scopes: frozenset[Scope]


_CREDENTIALS = frozenset({b"authorization", b"x-api-key"})
_OPERATOR = Principal(LEGACY_CLIENT, frozenset({Scope.OPERATOR}))
_ANYBODY = Principal(LEGACY_CLIENT, frozenset(Scope))
"""Whoever asks a router without authentication: the operator, and every scope there is."""

_STRANGER = problem(Code.AUTHENTICATION)


class Authenticator:
    """Turns a request's headers into a principal or a 401.

    `clients` are those of the authorization policy, whose credentials all differ from each other
    and from `token`. Without a token authentication is off: everyone is the operator.
    """

    def __init__(self, token: str | None, clients: Iterable[ClientCredential] = ()) -> None:
        self.is_on = token is not None
        self._known: Mapping[bytes, Principal] = (
            {} if token is None else _principals(token, clients)
        )

    def identify(self, headers: Iterable[tuple[bytes, bytes]]) -> Principal | Problem:
        """The principal behind `Authorization: Bearer` or `x-api-key`.

        The scheme's case and surrounding blanks do not matter; an Authorization of another scheme
        is ignored. Two credentials that differ in client, or one of which is wrong, are a 401.
        """
        if not self.is_on:
            return _ANYBODY
        found: Principal | None = None
        for name, value in headers:
            token = _token_in(name, value) if name in _CREDENTIALS else None
            if token is not None:
                known = self._known.get(sha256(token).digest())
                if known is None or (found is not None and known != found):
                    return _STRANGER
                found = known
        return _STRANGER if found is None else found


def _principals(token: str, clients: Iterable[ClientCredential]) -> Mapping[bytes, Principal]:
    known = {
        _digest(client.credential.encode()): Principal(
            client.client_id, frozenset(map(Scope, client.scopes))
        )
        for client in clients
    }
    digest = _digest(token.encode())
    assert digest not in known, "no client has the operator's token"
    return {**known, digest: _OPERATOR}


def _token_in(name: bytes, value: bytes) -> bytes | None:
    """The token in a credential header; None in an Authorization of another scheme."""
    if name == b"x-api-key":
        return value.strip()
    scheme, _, token = value.strip().partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else None


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()
