"""Puts the house together: what counts once per process, what serves per configuration."""

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Protocol

import httpx
import trio

from anvil_trio.actors.bus import Bus
from anvil_trio.actors.supervise import Actors, open_actors
from anvil_trio.admission.actor import open_admission
from anvil_trio.bugs import where_raised
from anvil_trio.config.media import MediaSettings
from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.config.secrets import Secrets
from anvil_trio.decisions.events import Event, ReadinessChanged
from anvil_trio.decisions.export import Post, SpanExport
from anvil_trio.decisions.journal import Journal
from anvil_trio.decisions.log import DecisionLog
from anvil_trio.decisions.ring import Ring
from anvil_trio.exchange.deadlines import Limits
from anvil_trio.exchange.generation import Found, Generation, Route
from anvil_trio.exchange.house import House, Management
from anvil_trio.exchange.lifetime import Lifetime
from anvil_trio.exchange.metering import make_meters
from anvil_trio.facts import Verdict
from anvil_trio.intent.file import StateFile
from anvil_trio.intent.intents import Intents
from anvil_trio.intent.keeper import IntentKeeper
from anvil_trio.log_events import LogEvent, log_event
from anvil_trio.names import DIRECT_MEMBER, Alias, MemberId, OwnerId, TierId
from anvil_trio.operations.backends import make_backend
from anvil_trio.operations.opening import Books, open_books, start_operations
from anvil_trio.operations.service import OperationService
from anvil_trio.purpose.opening import open_services
from anvil_trio.readiness.prober import Prober
from anvil_trio.signals.ceilings import CeilingReader
from anvil_trio.signals.sampler import Sampler
from anvil_trio.tiers.registry import Tiers
from anvil_trio.upstream.build import chat_url
from anvil_trio.upstream.client import Upstream, open_probe_client
from anvil_trio.upstream.collector import open_collector
from anvil_trio.upstream.stream import UpstreamTransport
from anvil_trio.upstream.transport import MemberTransport
from anvil_trio.views.fingerprint import public_sha256

__all__ = ["MakeTransport", "open_generation", "open_house"]


class MakeTransport(Protocol):
    """Makes the way to the engine at one base URL."""

    def __call__(self, base_url: str, *, keepalive_s: float) -> UpstreamTransport:
        """No connection is made yet."""
        ...


_THIS_PROCESS = OwnerId(1)
_ORDERS_AT_ONCE = 4
_DRAINS_AT_ONCE = 2
_COUNTS_AT_ONCE = 8
_PROTOCOL_REQUESTS_AT_ONCE = 16
_COLLECTOR_KEEPALIVE_S = 4.0


Transports = Mapping[tuple[TierId, MemberId], UpstreamTransport]


@asynccontextmanager
async def open_house(
    config: RouterConfig,
    *,
    wall_clock: Callable[[], float] = time.time,
    make_transport: MakeTransport = MemberTransport,
    media: MediaSettings | None = None,
) -> AsyncIterator[House]:
    """The actors, the record and the bus. They end after everything opened inside the block.

    Raises ConfigError if the decision log cannot be written, or the file of intents or what the
    operation service needs not be used.
    Whatever was quiesced is so before anybody can ask for a lease.
    """
    bus: Bus[Event] = Bus()
    with ExitStack() as files:
        path = config.server.decision_log_path
        journal = None if path is None else files.enter_context(Journal(path))
        intents = _intents(config)
        books = None if media is None else files.enter_context(open_books(media))
        async with _collector(config, make_transport) as post, open_actors(_crashed) as actors:
            tiers = Tiers(actors, _THIS_PROCESS)
            for tier in config.tiers:
                tiers.open(tier)
                _restore(intents.current, tiers, TierId(tier.id))
            yield House(
                admission=open_admission(
                    actors,
                    config.server.max_concurrency,
                    _THIS_PROCESS,
                    config.server.budgets,
                ),
                counts=open_admission(actors, _COUNTS_AT_ONCE, _THIS_PROCESS, name="counts"),
                audio=open_admission(
                    actors, config.router.audio_max_concurrency, _THIS_PROCESS, name="audio"
                ),
                protocols=open_admission(
                    actors, _PROTOCOL_REQUESTS_AT_ONCE, _THIS_PROCESS, name="protocols"
                ),
                management=_management(actors, intents),
                tiers=tiers,
                log=DecisionLog(Ring(), journal, bus, _span_export(actors, post)),
                bus=bus,
                meters=make_meters(config),
                wall_clock=wall_clock,
                started_at=wall_clock(),
                operations=_operations(actors, books, media, make_transport, wall_clock),
            )


def _operations(
    actors: Actors,
    books: Books | None,
    media: MediaSettings | None,
    make_transport: MakeTransport,
    wall_clock: Callable[[], float],
) -> OperationService | None:
    """The operation service beside the actors, if there is one; it ends with them."""
    if books is None or media is None:
        return None
    backend = make_backend(media, make_transport)
    return start_operations(actors, books, media, backend, wall_clock)


def _collector(
    config: RouterConfig, make_transport: MakeTransport
) -> AbstractAsyncContextManager[Post | None]:
    """The way to the trace collector, if there is one."""
    url = config.server.trace_export_url
    if url is None:
        return nullcontext()
    return open_collector(make_transport(url, keepalive_s=_COLLECTOR_KEEPALIVE_S), url)


def _span_export(actors: Actors, post: Post | None) -> SpanExport | None:
    """The one worker of the export, beside the actors: it ends with them, after every request."""
    if post is None:
        return None
    spans = SpanExport(post)
    actors.start(spans)
    return spans


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


def _restore(intents: Intents, tiers: Tiers, tier_id: TierId) -> None:
    for intended, member_id in intents.reasons:
        if intended == tier_id:
            tiers[tier_id].set_quiesced(True, member_id=member_id)


def _management(actors: Actors, intents: IntentKeeper) -> Management:
    return Management(
        places=open_admission(
            actors, _ORDERS_AT_ONCE, _THIS_PROCESS, name="management", is_hasty=False
        ),
        drains=open_admission(
            actors, _DRAINS_AT_ONCE, _THIS_PROCESS, name="drains", is_hasty=False
        ),
        changes=open_admission(actors, 1, _THIS_PROCESS, name="changes", is_hasty=False),
        intents=intents,
    )


@asynccontextmanager
async def open_generation(
    house: House,
    config: RouterConfig,
    secrets: Secrets,
    make_transport: MakeTransport = MemberTransport,
    life: Lifetime | None = None,
) -> AsyncIterator[Generation]:
    """Routes, connections, probes and readings of one configuration, until the block is left.

    The house's actors outlive this, and are told of it what `life` lets through; without one, this
    is the only generation and what it finds is published. Leaving ends the probes and the idle
    connections at once, and what is in use when it is used no more.
    """
    if life is None:
        life = Lifetime()
        life.take_over()
    if life.is_current:
        house.meters.cover(config)  # of one that may yet be given up, whoever lets it take over
    transports: Transports = {
        (TierId(tier.id), member_id): make_transport(
            tier.endpoint_of(member_id), keepalive_s=tier.upstream_keepalive_s
        )
        for tier in config.tiers
        for member_id in tier.member_ids
    }
    keys = {TierId(tier.id): secrets.get(tier.auth_env) or None for tier in config.tiers}
    services, service_transports = open_services(config, secrets, make_transport)
    prober, sampler, ceilings = _readers(house, config, transports, keys, life)
    routes = _routes(house, config, transports, keys, life, prober.hasten)
    try:
        try:
            async with trio.open_nursery() as nursery:
                for reader in (prober, sampler, ceilings):
                    await nursery.start(reader.run)
                yield Generation(
                    config=config,
                    routes=MappingProxyType(routes),
                    limits=_limits(config),
                    verdict_of=prober.verdict,
                    probe_anew=prober.probe_anew,
                    public_sha256=public_sha256(config),
                    signal_of=sampler.signal,
                    life=life,
                    services=services,
                    found=_found(config, prober, ceilings),
                )
                nursery.cancel_scope.cancel()
        finally:
            with trio.move_on_after(1, shield=True):
                await _keep_none((*transports.values(), *service_transports))
        await life.until_unused()
    finally:
        life.close()


async def _keep_none(transports: Iterable[UpstreamTransport]) -> None:
    """Close what is idle; what is in use ends with its stream, and whoever still asks gets its own.

    Nobody probes any more, so nothing would close by its age what a retired generation had kept.
    """
    for transport in transports:
        await transport.aclose()


def _found(config: RouterConfig, prober: Prober, ceilings: CeilingReader) -> Found:
    return Found(
        until_known=prober.until_known,
        readiness_of=prober.readiness,
        ceiling_of=lambda tier_id: ceilings.known(tier_id) or config.tier(tier_id).ceiling,
    )


def _readers(
    house: House,
    config: RouterConfig,
    transports: Transports,
    keys: Mapping[TierId, str | None],
    life: Lifetime,
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
        publish=life.heard(
            lambda tier_id, found: house.tiers[tier_id].set_readiness(life.dated(found))
        ),
        notify=life.heard(partial(_notify, house)),
        observe=life.heard(lambda key, is_ready: house.meters.probed(*key, is_ready=is_ready)),
    )
    sampler = Sampler(
        config,
        clients,
        keys,
        publish=life.heard(lambda tier_id, load: house.tiers[tier_id].set_signals(load)),
    )
    ceilings = CeilingReader(
        config,
        clients,
        keys,
        publish=life.heard(
            lambda tier_id, places: house.tiers[tier_id].reconfigure({DIRECT_MEMBER: None}, places)
        ),
    )
    return prober, sampler, ceilings


def _routes(
    house: House,
    config: RouterConfig,
    transports: Transports,
    keys: Mapping[TierId, str | None],
    life: Lifetime,
    hasten: Callable[[TierId, MemberId], None],
) -> dict[Alias, Route]:
    """One route per alias; aliases of one tier share everything but their name."""

    def take_ways(tier_id: TierId, ways: Mapping[MemberId, Upstream]) -> None:
        house.ways[tier_id].update(ways)

    lead = life.heard(take_ways)
    for tier in config.tiers:
        tier_id = TierId(tier.id)
        house.ways.setdefault(tier_id, {})
        lead(tier_id, _ways_to(tier, config, transports, keys[tier_id], hasten))
    return {
        Alias(alias): Route(
            Alias(alias),
            config.tier(tier_id),
            house.tiers[tier_id],
            MappingProxyType(house.ways[tier_id]),
        )
        for alias, tier_id in config.routes.items()
    }


def _ways_to(
    tier: Tier,
    config: RouterConfig,
    transports: Transports,
    key: str | None,
    hasten: Callable[[TierId, MemberId], None],
) -> Mapping[MemberId, Upstream]:
    return {
        member_id: Upstream(
            member_id=member_id,
            url=httpx.URL(chat_url(tier.endpoint_of(member_id), tier.dialect)),
            transport=transports[TierId(tier.id), member_id],
            key=key,
            connect_timeout_s=tier.timeout or config.router.relay_timeout,
            max_reply_bytes=config.server.max_event_bytes,
            on_unreachable=partial(hasten, TierId(tier.id), member_id),
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


def _notify(house: House, member: tuple[TierId, MemberId], verdict: Verdict) -> None:
    tier_id, member_id = member
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
