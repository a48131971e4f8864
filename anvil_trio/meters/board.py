"""Every number that a request adds to, made ahead of it: one set per alias, tier and member. Pure.

The keys come from the configuration and from closed words, so that no caller can make a series
(R012): whatever a client, an engine or an exception said is no key. A set stays once it is made:
a number that begins anew with each configuration would be no counter.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from anvil_trio.config.model import RouterConfig
from anvil_trio.decisions.record import UNKNOWN_MODEL_ROUTE, UNPARSED_ROUTE
from anvil_trio.decisions.words import AttemptReason, RequestKind, WorkloadOutcome
from anvil_trio.meters.numbers import Spread, Tally
from anvil_trio.names import DIRECT_MEMBER, MemberId, TierId

__all__ = [
    "ATTEMPT_WORDS",
    "DISCONNECTED",
    "MEDIA_ROUTES",
    "NO_TIER",
    "STALLED",
    "MemberKey",
    "MemberMeters",
    "Meters",
    "RouteKey",
    "RouteMeters",
]

DISCONNECTED = "disconnected"
"""The client left."""

STALLED = "stalled"
"""The client stopped reading."""

NO_TIER = ""
"""The tier of a request that ended before its model was known, or that is for no model."""

MEDIA_ROUTES = (RequestKind.MCP, RequestKind.A2A, RequestKind.ARTIFACT)
"""The routes of requests that are for no model."""

ATTEMPT_WORDS = (
    AttemptReason.SERVED,
    AttemptReason.SERVED_OUTPUT_CLAMPED,
    AttemptReason.CLIENT_DISCONNECTED,
    AttemptReason.BACKEND_ERROR,
    AttemptReason.COMPLETION_ERROR,
)
"""How an attempt on a member can end."""

_WAIT_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_REPLY_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0)
_GAP_S = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.25, 5.0, 15.0, 60.0)

RouteKey = tuple[str, str]
"""The alias, or a fixed word in its place, and the tier it led to when the request came."""

MemberKey = tuple[str, str]
"""Tier and member, in the plain text of a record."""


@dataclass(frozen=True, slots=True)
class RouteMeters:
    """What is counted of the requests of one alias."""

    requests: Mapping[str, Tally]  # by how they ended for their caller
    refusals: Mapping[str, Tally]  # by the gate that refused
    left: Mapping[str, Tally]  # by how the client left


@dataclass(frozen=True, slots=True)
class MemberMeters:
    """What is counted of one member; a direct tier has one, without a name."""

    attempts: Mapping[str, Tally]  # by how they ended
    first_content: Spread
    upstream: Spread
    gap: Spread  # one observation per stream
    probe_failures: Tally


class Meters:
    """The numbers of one process. `refusals` are the words for which a request may be refused."""

    def __init__(self, refusals: Iterable[str]) -> None:
        self._refusals = tuple(refusals)
        self._routes: dict[RouteKey, RouteMeters] = {}
        self._waits: dict[str, Spread] = {}
        self._members: dict[MemberKey, MemberMeters] = {}
        self.routes: Mapping[RouteKey, RouteMeters] = MappingProxyType(self._routes)
        self.waits: Mapping[str, Spread] = MappingProxyType(self._waits)
        self.members: Mapping[MemberKey, MemberMeters] = MappingProxyType(self._members)
        for word in (UNKNOWN_MODEL_ROUTE, UNPARSED_ROUTE):
            self._routes[word, NO_TIER] = self._new_route()

    def cover(self, config: RouterConfig) -> None:
        """Make what this configuration needs and is not there yet; what is there goes on."""
        for alias, tier_id in config.routes.items():
            self._cover_route(alias, tier_id)
        for tier in config.tiers:
            self._waits.setdefault(tier.id, Spread(_WAIT_S))
            for member_id in tier.member_ids:
                self._cover_member(tier.id, member_id)
        for service in config.services:
            self._cover_route(service.word, service.id)
            self._cover_member(service.id, DIRECT_MEMBER)
        for word in MEDIA_ROUTES if config.server.media_principal is not None else ():
            self._cover_route(word, NO_TIER)

    def _cover_route(self, word: str, tier_id: str) -> None:
        if (word, tier_id) not in self._routes:
            self._routes[word, tier_id] = self._new_route()

    def _cover_member(self, tier_id: str, member_id: str) -> None:
        if (tier_id, member_id) not in self._members:
            self._members[tier_id, member_id] = _new_member()

    def probed(self, tier_id: TierId, member_id: MemberId, *, is_ready: bool) -> None:
        """A probe has ended; a timeout that changes no verdict yet is a failure too."""
        if not is_ready:
            self._members[tier_id, member_id].probe_failures.value += 1

    def _new_route(self) -> RouteMeters:
        return RouteMeters(
            requests=_tallies(WorkloadOutcome),
            refusals=_tallies(self._refusals),
            left=_tallies((DISCONNECTED, STALLED)),
        )


def _new_member() -> MemberMeters:
    return MemberMeters(
        attempts=_tallies(ATTEMPT_WORDS),
        first_content=Spread(_REPLY_S),
        upstream=Spread(_REPLY_S),
        gap=Spread(_GAP_S),
        probe_failures=Tally(),
    )


def _tallies(words: Iterable[str]) -> Mapping[str, Tally]:
    return MappingProxyType({str(word): Tally() for word in words})
