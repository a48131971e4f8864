"""A router with one service of each kind, on virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

from anvil_trio.config.model import RouterConfig, ServerSettings
from anvil_trio.decisions.builder import CallerIds
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.exchange.call import Call
from anvil_trio.names import LEGACY_CLIENT, ClientId, RequestId
from anvil_trio.purpose.reading import reading_of
from anvil_trio.purpose.run import run_service
from anvil_trio.purpose.sizes import sizes_of
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.purpose.bodies import PATHS, Asked, ask_of
from tests.support.asgi import BEARER, TOKEN, Answer, Side, request
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import FakeCall, FakeUpstream, Reply
from tests.support.small_house import (
    SmallHouse,
    config_of,
    direct_tier,
    open_small_house,
    with_services,
)

__all__ = ["SERVICE", "Stage", "open_stage", "service_config"]

SERVICE = {
    "embeddings": "embed.main",
    "rerank": "rank.main",
    **dict.fromkeys(("transcriptions", "translations", "named_transcriptions"), "stt.main"),
    "transcription_events": "stt.main",
    **dict.fromkeys(("speech", "named_speech", "speech_events"), "tts.main.one"),
}
"""Which service each kind of request leads to."""


@dataclass(slots=True)
class Stage:
    """The application over a small house."""

    small: SmallHouse
    app: App

    def engine(self, kind: str) -> FakeUpstream:
        """The engine that requests of that kind go to."""
        return self.small.service(SERVICE[kind])

    def answers(self, kind: str, *answers: Reply) -> None:
        """What that engine says next."""
        self.engine(kind).chat.extend(answers)

    async def ask(self, kind: str, asked: Asked | None = None, side: Side | None = None) -> Answer:
        """One request over ASGI."""
        content_type, body = asked or ask_of(kind)
        headers = [BEARER, (b"content-type", content_type)]
        return await request(
            self.app, "POST", PATHS[kind], headers=headers, parts=[body], side=side or Side()
        )

    async def serve(self, kind: str, caller: FakeCaller, client: str = LEGACY_CLIENT) -> FakeCaller:
        """One exchange of a caller in memory, who sends a good request."""
        content_type, caller._body = ask_of(kind)
        route = PATHS[kind].rpartition("/")[2]
        reading = reading_of(route, content_type, sizes_of(self.small.generation.config))
        call = Call(CHAT, ClientId(client), RequestId(f"req_{uuid4().hex}"), CallerIds())
        await run_service(self.small.house, self.small.generation, call, caller, reading)
        return caller

    def call(self, kind: str) -> FakeCall:
        """The only request that the engine was sent."""
        (call,) = self.engine(kind).calls
        return call


def service_config(server: ServerSettings | None = None, /, **router: int) -> RouterConfig:
    """One direct tier and one service of each kind."""
    return with_services(config_of(direct_tier(), server=server, **router))


@asynccontextmanager
async def open_stage(config: RouterConfig | None = None) -> AsyncIterator[Stage]:
    """In the end nothing is held, whatever was asked."""
    async with open_small_house(config or service_config()) as small:
        yield Stage(small, App(small.house, lambda: small.generation, Authenticator(TOKEN)))
        await small.assert_at_rest()
