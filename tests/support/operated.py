"""A whole house under an operator: scripted engines, real probes, orders over the application."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import trio

from anvil_trio.assembly import open_generation, open_house
from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.config.secrets import Secrets
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.facts import TierSnapshot
from anvil_trio.intent.intents import Intents
from anvil_trio.intent.keeper import IntentKeeper
from anvil_trio.names import TierId
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import TOKEN, Answer, Side, request
from tests.support.chunks import good_stream
from tests.support.fake_upstream import FakeUpstream
from tests.support.small_house import TIER, chat_body, config_of

__all__ = ["CHAT", "PATH", "STREAM_S", "Disk", "Operated", "open_operated"]

PATH = "/v1/admin/transition"
CHAT = "/v1/chat/completions"
STREAM_S = 10.0


@dataclass(slots=True)
class Disk:
    """What is saved, without a thread; `is_full` makes saving fail, `delay_s` makes it slow."""

    saved: list[Intents] = field(default_factory=list)
    is_full: bool = False
    delay_s: float = 0.0

    async def save(self, intents: Intents) -> bool:
        await trio.sleep(self.delay_s)
        if not self.is_full:
            self.saved.append(intents)
        return not self.is_full


class _Engines:
    """Makes a healthy engine for each base URL and keeps it; its streams take `STREAM_S`."""

    def __init__(self) -> None:
        self.by_url: dict[str, FakeUpstream] = {}

    def __call__(self, base_url: str, *, keepalive_s: float) -> FakeUpstream:
        made = FakeUpstream(chat_default=good_stream("x", gap_s=STREAM_S))
        return self.by_url.setdefault(base_url, made)


@dataclass(slots=True)
class Operated:
    """The application, what it stands on, and an operator's ways to use it."""

    app: App
    house: House
    generation: Generation
    disk: Disk
    engines: _Engines

    def engine(self, member: str = "", tier: str = TIER) -> FakeUpstream:
        """The engine of one member; of a direct tier without a member."""
        host = f"{tier}-{member}" if member else tier
        return self.engines.by_url[f"http://{host}.test/v1"]

    async def order(self, action: str, member: str | None = None, **more: object) -> Answer:
        """One order, confirmed and not dry unless `more` says otherwise."""
        body: dict[str, object] = {
            "action": action,
            "tier_id": TIER,
            "member_id": member,
            "confirm": True,
            "dry_run": False,
            **more,
        }
        return await self.post(json.dumps(body).encode())

    async def post(self, body: bytes, side: Side | None = None) -> Answer:
        """One body, sent to the transition path."""
        return await request(self.app, "POST", PATH, parts=[body], side=side or Side())

    async def rows(self, query: bytes = b"") -> list[dict[str, object]]:
        """The rows of the status."""
        answer = await request(self.app, "GET", PATH, query=query, side=Side())
        assert answer.status == 200, answer.body
        rows: list[dict[str, object]] = answer.json["tiers"]
        return rows

    async def stream(self) -> Answer:
        """One chat stream, from its request to its end."""
        return await request(self.app, "POST", CHAT, parts=[chat_body(stream=True)], side=Side())

    async def snapshot(self, tier: str = TIER) -> TierSnapshot:
        """One tier's counters."""
        return await self.house.tiers[TierId(tier)].inspect()


@asynccontextmanager
async def open_operated(
    config: RouterConfig | None = None, *, disk: Disk | None = None
) -> AsyncIterator[Operated]:
    """A house whose members have been probed once; what is intended is saved on `disk`."""
    config = config or config_of(server=ServerSettings(auth_env="ROUTER_TOKEN"))
    disk, engines = disk or Disk(), _Engines()
    async with open_house(config) as house:
        keeper = IntentKeeper(house.management.intents.current, disk.save)
        house.management = replace(house.management, intents=keeper)
        async with open_generation(house, config, Secrets({}), engines) as generation:
            await trio.sleep(0.1)
            app = App(house, lambda: generation, Authenticator(TOKEN))
            yield Operated(app, house, generation, disk, engines)
