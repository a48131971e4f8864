"""What is known of a request before its body is read, and the headers of its reply."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from anvil_trio.config.model import Tier
from anvil_trio.decisions.builder import CallerIds
from anvil_trio.dialects.ir import ClientDialect, OutputLimit
from anvil_trio.exchange.caller import Header
from anvil_trio.names import ClientId, RequestId, SessionId

__all__ = ["Call"]

_FAMILY_HEADERS: Mapping[str, bytes] = MappingProxyType({"messages": b"request-id"})


class Call(msgspec.Struct, frozen=True):
    """One authenticated request for one dialect. The ids are safe tokens or None.

    `said_headers` are those of the caller's dialect that may travel, their values checked.
    """

    dialect: ClientDialect
    client_id: ClientId
    gateway_request_id: RequestId
    ids: CallerIds
    said_headers: tuple[Header, ...] = ()

    def session_for(self, tier: Tier) -> SessionId | None:
        """The caller's session, where the tier lets one choose among equal members."""
        session_id = self.ids.session_id
        if session_id is None or tier.replica_affinity == "none":
            return None
        return SessionId(session_id)

    def id_headers(self) -> list[Header]:
        """The two ids that every inference reply carries, whatever its status.

        The caller's own, or ours in its place, also stands where the family's clients look for it.
        """
        known_as = (self.ids.request_id or self.gateway_request_id).encode()
        headers = [
            (b"x-anvil-request-id", self.gateway_request_id.encode()),
            (b"x-request-id", known_as),
        ]
        if self.dialect.name in _FAMILY_HEADERS:
            headers.append((_FAMILY_HEADERS[self.dialect.name], known_as))
        return headers

    def reply_headers(self, limit: OutputLimit, *, is_stream: bool) -> list[Header]:
        """The head of a successful reply; a clamped output limit is said aloud."""
        kind = b"text/event-stream; charset=utf-8" if is_stream else b"application/json"
        headers = [(b"content-type", kind), (b"cache-control", b"no-store"), *self.id_headers()]
        if limit.is_clamped:
            headers += [
                (b"warning", b'299 anvil-serving "output limit lowered to the tier\'s"'),
                (b"x-anvil-warning", b"max_tokens_clamped"),
                (b"x-anvil-max-tokens-requested", b"%d" % (limit.requested or 0)),
                (b"x-anvil-max-tokens-applied", b"%d" % (limit.applied or 0)),
            ]
        return headers
