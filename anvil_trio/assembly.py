"""Puts the house together: what counts once per process, what serves per configuration."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from types import MappingProxyType
from typing import Protocol

import httpx
import trio

from anvil_trio.actors.bus import Bus
from anvil_trio.actors.supervise import Actors, open_actors
from anvil_trio.admission.actor import open_admission
from anvil_trio.bugs import where_raised
from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.config.secrets import Secrets
from anvil_trio.decisions.events import Event, ReadinessChanged
from anvil_trio.decisions.journal import Journal
from anvil_trio.decisions.log import DecisionLog
from anvil_trio.decisions.ring import Ring
from anvil_trio.exchange.deadlines import Limits
from anvil_trio.exchange.generation import Generation, Route
from anvil_trio.exchange.house import House, Management
from anvil_trio.facts import Verdict
from anvil_trio.intent.file import StateFile
from anvil_trio.intent.intents import Intents
from anvil_trio.intent.keeper import IntentKeeper
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.names import DIRECT_MEMBER, LEGACY_CLIENT, Alias, MemberId, OwnerId, TierId
from anvil_trio.readiness.prober import Prober
from anvil_trio.signals.ceilings import CeilingReader
from anvil_trio.signals.sampler import Sampler
from anvil_trio.tiers.actor import TierHandle, open_tier
from anvil_trio.upstream.build import chat_url
from anvil_trio.upstream.client import Upstream, open_probe_client
from anvil_trio.upstream.stream import UpstreamTransport
from anvil_trio.upstream.transport import MemberTransport
from anvil_trio.views.fingerprint import public_sha256
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator

__all__ = ["MakeTransport", "open_app", "open_generation", "open_house"]


class MakeTransport(Protocol):
    """Makes the way to the engine at one base URL."""

    def __call__(self, base_url: str, *, keepalive_s: float) -> UpstreamTransport:
        """No connection is made yet."""
        ...


_THIS_PROCESS = OwnerId(1)
_ORDERS_AT_ONCE = 4


Transports = Mapping[tuple[TierId, MemberId], UpstreamTransport]


@asynccontextmanager
async def open_house(
    config: RouterConfig, *, wall_clock: Callable[[], float] = time.time
) -> AsyncIterator[House]:
    """The actors, the record and the bus. They end after everything opened inside the block.

    Raises ConfigError if the decision log cannot be written, or the file of intents not be used.
    Whatever was quiesced is so before anybody can ask for a lease.
    """
    bus: Bus[Event] = Bus()
    with ExitStack() as files:
        path = config.server.decision_log_path
        journal = None if path is None else files.enter_context(Journal(path))
        intents = _intents(config)
        async with open_actors(_crashed) as actors:
            tiers = {
                TierId(tier.id): open_tier(actors, tier, _THIS_PROCESS) for tier in config.tiers
            }
            _restore(intents.current, tiers)
            yield House(
                admission=open_admission(
                    actors,
                    config.server.max_concurrency,
                    _THIS_PROCESS,
                    config.server.budgets,
                ),
                management=_management(actors, intents),
                tiers=MappingProxyType(tiers),
                log=DecisionLog(Ring(), journal, bus),
                bus=bus,
                wall_clock=wall_clock,
                started_at=wall_clock(),
            )


def _intents(config: RouterConfig) -> IntentKeeper:
    """What the file remembers of the tiers there are; of others it says that they are ignored."""
    path = config.server.admission_state_path
    if path is None:
        return IntentKeeper(Intents())
    file = StateFile(path)
    lasting = file.found.lasting()
    known = lasting.known({TierId(tier.id): tier.named_members for tier in config.tiers})
    ignored = len(lasting.reasons) - len(known.reasons)
    if ignored:
        log_event(LogEvent.ADMISSION_STATE_IGNORED, entries=ignored)
    return IntentKeeper(known, file.save)


def _restore(intents: Intents, tiers: Mapping[TierId, TierHandle]) -> None:
    for tier_id, member_id in intents.reasons:
        tiers[tier_id].set_quiesced(True, member_id=member_id)


def _management(actors: Actors, intents: IntentKeeper) -> Management:
    return Management(
        places=open_admission(actors, _ORDERS_AT_ONCE, _THIS_PROCESS, name="management"),
        changes=open_admission(actors, 1, _THIS_PROCESS, name="changes"),
        intents=intents,
    )


@asynccontextmanager
async def open_app(config: RouterConfig, secrets: Secrets) -> AsyncIterator[App]:
    """The whole application over one house and one generation, for any ASGI server."""
    auth_env = config.server.auth_env
    token = None if auth_env is None else secrets.get(auth_env)
    assert (token is None) == (auth_env is None), "a named token was resolved at start"
    async with (
        open_house(config) as house,
        open_generation(house, config, secrets) as generation,
    ):
        _tell_of_idle_limits(config, secrets)
        yield App(house, lambda: generation, Authenticator(token, secrets.clients))


@asynccontextmanager
async def open_generation(
    house: House,
    config: RouterConfig,
    secrets: Secrets,
    make_transport: MakeTransport = MemberTransport,
) -> AsyncIterator[Generation]:
    """Routes, connections, probes and readings of one configuration, until the block is left.

    The house's actors are told readiness and load from here; they outlive this.
    """
    transports: Transports = {
        (TierId(tier.id), member_id): make_transport(
            tier.endpoint_of(member_id), keepalive_s=tier.upstream_keepalive_s
        )
        for tier in config.tiers
        for member_id in tier.member_ids
    }
    keys = {TierId(tier.id): secrets.get(tier.auth_env) or None for tier in config.tiers}
    prober, sampler, ceilings = _readers(house, config, transports, keys)
    try:
        async with trio.open_nursery() as nursery:
            for reader in (prober, sampler, ceilings):
                await nursery.start(reader.run)
            yield Generation(
                config=config,
                routes=MappingProxyType(_routes(house, config, transports, keys)),
                limits=_limits(config),
                verdict_of=prober.verdict,
                probe_anew=prober.probe_anew,
                public_sha256=public_sha256(config),
                signal_of=sampler.signal,
            )
            nursery.cancel_scope.cancel()
    finally:
        with trio.move_on_after(1, shield=True):
            for transport in transports.values():
                await transport.aclose()


def _readers(
    house: House, config: RouterConfig, transports: Transports, keys: Mapping[TierId, str | None]
) -> tuple[Prober, Sampler, CeilingReader]:
    """Those who ask the engines in the background, and tell the tiers what they found."""
    clients = {
        (tier_id, member_id): open_probe_client(
            transport, config.tier(tier_id).endpoint_of(member_id)
        )
        for (tier_id, member_id), transport in transports.items()
    }
    prober = Prober(
        config,
        clients,
        keys,
        publish=lambda tier_id, readiness: house.tiers[tier_id].set_readiness(readiness),
        notify=lambda tier_id, member_id, verdict: _notify(house, tier_id, member_id, verdict),
    )
    sampler = Sampler(
        config,
        clients,
        keys,
        publish=lambda tier_id, pressures: house.tiers[tier_id].set_signals(pressures),
    )
    ceilings = CeilingReader(
        config,
        clients,
        keys,
        publish=lambda tier_id, places: house.tiers[tier_id].reconfigure(
            {DIRECT_MEMBER: None}, places
        ),
    )
    return prober, sampler, ceilings


def _routes(
    house: House,
    config: RouterConfig,
    transports: Transports,
    keys: Mapping[TierId, str | None],
) -> dict[Alias, Route]:
    """One route per alias; aliases of one tier share everything but their name."""
    ways = {
        TierId(tier.id): _ways_to(tier, config, transports, keys[TierId(tier.id)])
        for tier in config.tiers
    }
    return {
        Alias(alias): Route(Alias(alias), config.tier(tier_id), house.tiers[tier_id], ways[tier_id])
        for alias, tier_id in config.routes.items()
    }


def _ways_to(
    tier: Tier, config: RouterConfig, transports: Transports, key: str | None
) -> Mapping[MemberId, Upstream]:
    return {
        member_id: Upstream(
            member_id=member_id,
            url=httpx.URL(chat_url(tier.endpoint_of(member_id), tier.dialect)),
            transport=transports[TierId(tier.id), member_id],
            key=key,
            connect_timeout_s=tier.timeout or config.router.relay_timeout,
            max_reply_bytes=config.server.max_event_bytes,
        )
        for member_id in tier.member_ids
    }


def _limits(config: RouterConfig) -> Limits:
    server = config.server
    return Limits(
        admission_s=server.admission_timeout_s,
        startup_s=server.startup_timeout_s,
        idle_s=server.idle_timeout_s,
        total_s=server.total_timeout_s,
        heartbeat_s=server.heartbeat_interval_s,
        stall_s=server.client_stall_timeout_s,
    )


def _tell_of_idle_limits(config: RouterConfig, secrets: Secrets) -> None:
    """A limit on a client that no credential makes bounds nobody: a typing error, or work to come.

    It does not refuse the start: taking a client out of the policy must be one edit.
    """
    known = {LEGACY_CLIENT, *(client.client_id for client in secrets.clients)}
    for client_id in sorted(config.server.budgets.keys() - known):
        log_event(LogEvent.CLIENT_LIMIT_IDLE, setting=f"server.client_limits.{client_id}")


def _notify(house: House, tier_id: TierId, member_id: MemberId, verdict: Verdict) -> None:
    house.bus.publish(ReadinessChanged(tier_id, member_id, verdict.is_ready, verdict.reason))
    log_event(
        LogEvent.READINESS_CHANGED,
        tier=tier_id,
        member=member_id or None,
        ready=verdict.is_ready,
        reason=verdict.reason,
    )


def _crashed(name: str, bug: Exception) -> None:
    """An actor's machine raised: it is fenced until an operator restarts the router."""
    log_event(LogEvent.ACTOR_FAILED, actor=name, **where_raised(bug))
