"""A whole router without sockets: real actors, real exchange, fake engines, fake callers."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import httpx
import trio

from anvil_trio.actors.bus import Bus
from anvil_trio.actors.supervise import Actors, open_actors
from anvil_trio.admission.actor import open_admission
from anvil_trio.config.model import (
    AudioRoute,
    PurposeModel,
    ReplicaIdentity,
    ReplicaMember,
    RouterConfig,
    RouterSettings,
    ServerSettings,
    Tier,
)
from anvil_trio.config.secrets import Secrets
from anvil_trio.decisions.builder import CallerIds
from anvil_trio.decisions.events import Event
from anvil_trio.decisions.log import DecisionLog
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.ring import Ring
from anvil_trio.dialects.ir import ClientDialect
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.deadlines import Limits
from anvil_trio.exchange.generation import Generation, Route
from anvil_trio.exchange.house import House, Management
from anvil_trio.exchange.metering import make_meters
from anvil_trio.exchange.run import run_chat
from anvil_trio.exchange.services import Services
from anvil_trio.facts import Readiness, TierSnapshot, Verdict
from anvil_trio.intent.intents import Intents
from anvil_trio.intent.keeper import IntentKeeper
from anvil_trio.names import (
    DIRECT_MEMBER,
    LEGACY_CLIENT,
    Alias,
    ClientId,
    MemberId,
    OwnerId,
    RequestId,
    TierId,
)
from anvil_trio.purpose.opening import open_services
from anvil_trio.tiers.registry import Tiers
from anvil_trio.upstream.client import Upstream
from anvil_trio.views.fingerprint import public_sha256
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import FakeUpstream

ALIAS = "llm.primary"
TIER = TierId("primary")
IDENTITY = ReplicaIdentity(
    model_revision="rev-1",
    engine_version="1.0",
    image_digest="sha256:" + "0" * 64,
    config_fingerprint="sha256:" + "1" * 64,
)


def replica_tier(
    tier_id: str = "primary",
    members: Iterable[str] = ("a", "b"),
    ceiling: int | None = None,
    **more,
) -> Tier:
    """A replica tier whose members' URLs say who they are; `ceiling` is each member's."""
    return Tier(
        id=tier_id,
        auth_env="UPSTREAM_KEY",
        model="served-model",
        model_identity=True,
        health_path="/health",
        context_limit=100_000,
        replicas=tuple(
            ReplicaMember(
                id=member,
                base_url=f"http://{tier_id}-{member}.test/v1",
                host_id="host-a",
                resource_id=f"resource-{member}",
                qualification_ref=f"qual:{member}",
                max_concurrency=ceiling,
            )
            for member in members
        ),
        replica_identity=IDENTITY,
        **more,
    )


def direct_tier(tier_id: str = "primary", **more) -> Tier:
    """A tier of one unnamed member."""
    return Tier(
        id=tier_id,
        auth_env="UPSTREAM_KEY",
        model="served-model",
        context_limit=100_000,
        base_url=f"http://{tier_id}.test/v1",
        **more,
    )


def embedding_model(name: str = "embed.main", **more) -> PurposeModel:
    """A purpose model whose URL says who it is."""
    base_url = f"http://{name}.test/v1"
    return PurposeModel(**{
        "id": name,
        "kind": "embedding",
        "model": name,
        "base_url": base_url,
        "auth_env": "UPSTREAM_KEY",
        **more,
    })


def audio_route(name: str = "stt.main", purpose: str = "stt", **more) -> AudioRoute:
    """An audio route; callers name `name`, its engine `served-<purpose>`."""
    rate = 24_000 if purpose == "tts" else None
    return AudioRoute(**{
        "id": name,
        "purpose": purpose,
        "model": f"served-{purpose}",
        "base_url": f"http://10.0.0.{len(name)}:8000/v1",
        "auth_env": "UPSTREAM_KEY",
        "source_sample_rate": rate,
        **more,
    })


def with_services(config: RouterConfig) -> RouterConfig:
    """The same with one service of each kind."""
    return config.model_copy(
        update={
            "purpose_models": (
                embedding_model(),
                embedding_model("rank.main", kind="rerank"),
            ),
            "audio_routes": (audio_route(), audio_route("tts.main.one", "tts")),
        }
    )


def config_of(*tiers: Tier, server: ServerSettings | None = None, **router) -> RouterConfig:
    """A configuration with one alias per tier; the first tier's is `ALIAS`."""
    every = tiers or (replica_tier(),)
    aliases = [ALIAS, *(f"llm.{tier.id}" for tier in every[1:])]
    return RouterConfig(
        server=server or ServerSettings(),
        router=RouterSettings(**router),
        tiers=every,
        routes={alias: TierId(tier.id) for alias, tier in zip(aliases, every, strict=True)},
        sha256="c" * 64,
    )


def chat_body(*, model: str = ALIAS, stream: bool = False, **more) -> bytes:
    """A plain chat request."""
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **more}
    if stream:
        body["stream"] = True
    return json.dumps(body).encode()


@dataclass(slots=True)
class SmallHouse:
    """A house, its one generation and its engines."""

    house: House
    generation: Generation
    engines: Mapping[tuple[TierId, MemberId], FakeUpstream]
    ring: Ring
    actors: Actors
    services: Mapping[str, FakeUpstream] = field(default_factory=dict)  # by base URL
    begun: int = 0
    _ready: int = field(default=0)

    def engine(self, member: str = "", tier: str = TIER) -> FakeUpstream:
        """The engine of one member."""
        return self.engines[TierId(tier), MemberId(member)]

    def service(self, name: str) -> FakeUpstream:
        """The engine of one service beside chat, by its id."""
        (found,) = [each for each in self.generation.config.services if each.id == name]
        return self.services[found.base_url]

    def machine(self, name: str) -> Any:
        """The state that one actor owns, for whoever may look at it without asking."""
        [actor] = [each for each in self.actors._running if each.name == name]  # type: ignore[attr-defined]
        return actor.machine  # type: ignore[attr-defined]

    def ready(self, *members: str, tier: str = TIER) -> None:
        """Publish which members are ready; nothing else is."""
        self._ready += 1
        eligible = frozenset(MemberId(member) for member in members)
        self.house.tiers[TierId(tier)].set_readiness(Readiness(self._ready, eligible))

    def limit_to(self, ceiling: int) -> None:
        """From now on the first tier takes so many requests at once."""
        members = self.generation.config.tier(TIER).member_ceilings
        self.house.tiers[TIER].reconfigure(members, ceiling)

    async def serve(
        self,
        caller: FakeCaller,
        client: str = LEGACY_CLIENT,
        dialect: ClientDialect = CHAT,
        *,
        ids: CallerIds | None = None,
    ) -> FakeCaller:
        """One exchange from its authenticated call to its record."""
        number = self.begun
        self.begun += 1
        known = CallerIds() if ids is None else ids
        call = Call(dialect, ClientId(client), RequestId(f"req_{number:032x}"), known)
        await run_chat(self.house, self.generation, call, caller)
        return caller

    async def chat(
        self, *, client: str = LEGACY_CLIENT, session: str | None = None, **body
    ) -> FakeCaller:
        """One plain exchange of a caller that stays and reads."""
        ids = CallerIds(session_id=session)
        return await self.serve(FakeCaller(chat_body(**body)), client, ids=ids)

    @property
    def records(self) -> list[DecisionRecord]:
        """All records, oldest first."""
        return list(self.ring)[::-1]

    async def snapshot(self, tier: str = TIER) -> TierSnapshot:
        """One tier's counters."""
        return await self.house.tiers[TierId(tier)].inspect()

    async def assert_at_rest(self) -> None:
        """Nothing is held anywhere: leases, permits, exchanges, upstream connections."""
        for handle in self.house.tiers.values():
            snapshot = await handle.inspect()
            assert (snapshot.active, snapshot.waiting) == (0, 0), snapshot
            assert all(member.active == 0 for member in snapshot.members), snapshot
        assert (await self.house.admission.inspect()).active == 0
        assert (await self.house.audio.inspect()).active == 0
        assert len(self.house.exchanges) == 0
        for engine in (*self.engines.values(), *self.services.values()):
            assert engine.opened == engine.closed


@asynccontextmanager
async def open_small_house(
    config: RouterConfig | None = None,
    *,
    is_ready: bool = True,
    make_engine: Callable[[], FakeUpstream] = FakeUpstream,
    intents: IntentKeeper | None = None,
) -> AsyncIterator[SmallHouse]:
    """A house at work on virtual time; every member is ready unless told otherwise."""
    config = config or config_of()
    bus: Bus[Event] = Bus()
    ring = Ring(10_000)
    engines = {
        (TierId(tier.id), member_id): make_engine()
        for tier in config.tiers
        for member_id in tier.member_ids
    }
    async with open_actors(lambda _name, _bug: None) as actors:
        owner = OwnerId(1)
        house = House(
            admission=open_admission(
                actors, config.server.max_concurrency, owner, config.server.budgets
            ),
            counts=open_admission(actors, 8, owner, name="counts"),
            audio=open_admission(actors, config.router.audio_max_concurrency, owner, name="audio"),
            protocols=open_admission(actors, 16, owner, name="protocols"),
            management=Management(
                places=open_admission(actors, 4, owner, name="management", is_hasty=False),
                drains=open_admission(actors, 2, owner, name="drains", is_hasty=False),
                changes=open_admission(actors, 1, owner, name="changes", is_hasty=False),
                intents=intents or IntentKeeper(Intents()),
            ),
            tiers=_tiers(actors, config, owner),
            log=DecisionLog(ring, None, bus),
            bus=bus,
            meters=make_meters(config),
            wall_clock=trio.current_time,
            started_at=0.0,
        )
        services = {each.base_url: make_engine() for each in config.services}
        generation = _generation(house, config, engines, services)
        small = SmallHouse(house, generation, engines, ring, actors, services)
        if is_ready:
            for tier in config.tiers:
                small.ready(*tier.member_ids, tier=tier.id)
        yield small


def _tiers(actors: Actors, config: RouterConfig, owner: OwnerId) -> Tiers:
    tiers = Tiers(actors, owner)
    for tier in config.tiers:
        tiers.open(tier)
    return tiers


async def _found_ready(_tier_id: TierId, _member_id: MemberId | None) -> None:
    await trio.lowlevel.checkpoint()


def _services(config: RouterConfig, engines: Mapping[str, FakeUpstream]) -> Services:
    secrets = Secrets({"UPSTREAM_KEY": "upstream-key"})
    return open_services(config, secrets, lambda base_url, keepalive_s: engines[base_url])[0]


def _generation(
    house: House,
    config: RouterConfig,
    engines: Mapping[tuple[TierId, MemberId], FakeUpstream],
    services: Mapping[str, FakeUpstream],
) -> Generation:
    server = config.server
    routes = {}
    for alias, tier_id in config.routes.items():
        tier = config.tier(tier_id)
        upstreams = {
            member_id: Upstream(
                member_id=member_id,
                url=httpx.URL(f"{tier.endpoint_of(member_id)}/chat/completions"),
                transport=engines[tier_id, member_id],
                key="upstream-key",
                connect_timeout_s=tier.timeout or config.router.relay_timeout,
                max_reply_bytes=server.max_event_bytes,
            )
            for member_id in tier.member_ids
        }
        routes[Alias(alias)] = Route(Alias(alias), tier, house.tiers[tier_id], upstreams)
    return Generation(
        config=config,
        routes=MappingProxyType(routes),
        limits=Limits(
            admission_s=server.admission_timeout_s,
            startup_s=server.startup_timeout_s,
            idle_s=server.idle_timeout_s,
            total_s=server.total_timeout_s,
            heartbeat_s=server.heartbeat_interval_s,
            stall_s=server.client_stall_timeout_s,
        ),
        probe_anew=_found_ready,
        verdict_of=lambda _tier, _member: Verdict(
            is_ready=True, reason="identity_passed", observed_model="served-model"
        ),
        public_sha256=public_sha256(config),
        services=_services(config, services),
    )


__all__ = ["ALIAS", "DIRECT_MEMBER", "SmallHouse", "chat_body", "config_of", "open_small_house"]
