"""A router whose tier has sessions, on virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import trio

from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.decisions.builder import CallerIds
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.errors import Problem
from anvil_trio.exchange.call import Call
from anvil_trio.names import LEGACY_CLIENT, ClientId, RequestId
from anvil_trio.realtime.handshake import Wanted
from anvil_trio.realtime.run import run_session
from tests.realtime.fakes import EngineEnd, FakeClient
from tests.support.fake_upstream import FakeUpstream
from tests.support.small_house import ALIAS, SmallHouse, config_of, direct_tier, open_small_house

__all__ = ["Stage", "open_stage", "realtime_config"]


@dataclass(slots=True)
class Stage:
    """A small house, and a nursery in which engines and sessions live."""

    small: SmallHouse
    nursery: trio.Nursery
    ended: list[FakeClient] = field(default_factory=list)
    news: trio.Event = field(default_factory=trio.Event)

    def engine(self, end: EngineEnd, member: str = "") -> FakeUpstream:
        """From now on connections to that member reach `end`."""
        engine = self.small.engine(member)
        engine.serve_stream = end
        return engine

    async def serve(
        self,
        client: FakeClient,
        wanted: Wanted | Problem | None = None,
        *,
        name: str = LEGACY_CLIENT,
        is_beta: bool = False,
    ) -> None:
        """One session, from its authenticated handshake to its record."""
        self.small.begun += 1
        request_id = RequestId(f"req_{uuid4().hex}")
        call = Call(CHAT, ClientId(name), request_id, CallerIds())
        asked = Wanted(ALIAS) if wanted is None else wanted
        await run_session(
            self.small.house, self.small.generation, call, client, asked, is_beta=is_beta
        )
        self.ended.append(client)
        self.news.set()
        self.news = trio.Event()

    async def begin(self, client: FakeClient, wanted: Wanted | None = None) -> FakeClient:
        """Start a session and wait until its client is accepted."""
        self.nursery.start_soon(self.serve, client, wanted)
        await client.accepted.wait()
        return client

    async def over(self, client: FakeClient) -> None:
        """Wait until its session has ended."""
        while client not in self.ended:
            await self.news.wait()


def realtime_config(server: ServerSettings | None = None) -> RouterConfig:
    """One direct tier that has sessions."""
    return config_of(direct_tier(realtime=True), server=server)


@asynccontextmanager
async def open_stage(config: RouterConfig | None = None) -> AsyncIterator[Stage]:
    """In the end nothing is held, whatever happened."""
    async with open_small_house(config or realtime_config()) as small:
        async with trio.open_nursery() as nursery:
            yield Stage(small, nursery)
            nursery.cancel_scope.cancel()
        await small.assert_at_rest()
