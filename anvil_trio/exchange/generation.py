"""The frozen value that one request hangs on from its first step to its last.

A request reads the current generation once. Nothing here counts anything: what counts is in the
`House` and outlives a change of configuration (decision 32).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.exchange.deadlines import Limits
from anvil_trio.exchange.lifetime import Lifetime
from anvil_trio.exchange.services import Services
from anvil_trio.facts import Readiness
from anvil_trio.names import DIRECT_MEMBER, Alias, MemberId, TierId, normalise_alias
from anvil_trio.tiers.actor import TierHandle
from anvil_trio.upstream.client import Upstream
from anvil_trio.views.readiness import VerdictOf
from anvil_trio.views.signals import SignalOf, unwatched

__all__ = ["Found", "Generation", "ProbeAnew", "Route"]

ProbeAnew = Callable[[TierId, MemberId | None], Awaitable[None]]
"""Forget what is known of a tier, or of one member, and wait for a new verdict on each of it."""


@dataclass(frozen=True, slots=True)
class Route:
    """What one alias stands for: one tier, its actor, and the way to each of its members.

    `upstreams` are the house's: a request may be given a member that came after its generation.
    """

    alias: Alias
    tier: Tier
    handle: TierHandle
    upstreams: Mapping[MemberId, Upstream]


@dataclass(frozen=True, slots=True)
class Found:
    """What a generation's readers have found so far, for the moment when it takes over.

    `until_known` waits until each probed member has a verdict; the caller's scope is the bound.
    `readiness_of` is a tier's, None while it is not known; `ceiling_of` the tier's own, also where
    its engine says it.
    """

    until_known: Callable[[], Awaitable[None]]
    readiness_of: Callable[[TierId], Readiness | None]
    ceiling_of: Callable[[TierId], int | None]


@dataclass(frozen=True, slots=True)
class Generation:
    """One configuration at work."""

    config: RouterConfig
    routes: Mapping[Alias, Route]
    limits: Limits
    verdict_of: VerdictOf
    probe_anew: ProbeAnew
    public_sha256: str  # of the secret-free, URL-free projection that may be shown
    signal_of: SignalOf = unwatched
    life: Lifetime = field(default_factory=Lifetime)
    found: Found | None = None
    services: Services = field(default_factory=Services)  # beside chat

    def resolve(self, model: str) -> Route | None:
        """R001: the one route of a caller's model name, or None.

        The tier of an upstream-owned route is as its engine serves it now; without a model while
        that is not known.
        """
        # Most callers spell the alias as it is kept.
        route = self.routes.get(Alias(model)) or self.routes.get(normalise_alias(model))
        if route is None or not route.tier.is_upstream_owned:
            return route
        verdict = self.verdict_of(TierId(route.tier.id), DIRECT_MEMBER)
        return replace(route, tier=route.tier.adopting(verdict.served))
