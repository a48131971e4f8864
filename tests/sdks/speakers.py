"""Clients of both SDKs for all three dialects, over any transport."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import anthropic
import httpx2
import openai
import trio

from tests.sdks import chat, messages, responses
from tests.sdks.asks import Answer, Ask

__all__ = ["DIALECTS", "MODES", "WAYS", "Asking", "Speaker", "answering", "reaching"]

WAYS = ("whole", "streamed", "helped")
MODES = ("sync", "async")
Handler = Callable[[httpx2.Request], Coroutine[None, None, httpx2.Response]]
Asking = Callable[[str, Ask], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Speaker:
    """One dialect: its two clients, where they find it, and its SDK's errors."""

    sync_client: Callable[..., Any]
    async_client: Callable[..., Any]
    sync_api: Callable[[Any], Any]
    async_api: Callable[[Any], Any]
    path: str
    errors: Any

    def sync(self, url: str, key: str, transport: httpx2.BaseTransport | None = None) -> Any:
        """The sync client's API; close its `client`."""
        http = None if transport is None else httpx2.Client(transport=transport)
        made = self.sync_client(
            base_url=url + self.path, api_key=key, http_client=http, max_retries=0
        )
        return self.sync_api(made)

    def asynchronous(
        self, url: str, key: str, transport: httpx2.AsyncBaseTransport | None = None
    ) -> Any:
        """The async client's API; close its `client`."""
        http = None if transport is None else httpx2.AsyncClient(transport=transport)
        made = self.async_client(
            base_url=url + self.path, api_key=key, http_client=http, max_retries=0
        )
        return self.async_api(made)


DIALECTS: Mapping[str, Speaker] = MappingProxyType({
    "chat": Speaker(openai.OpenAI, openai.AsyncOpenAI, chat.Chat, chat.AsyncChat, "/v1", openai),
    "messages": Speaker(
        anthropic.Anthropic,
        anthropic.AsyncAnthropic,
        messages.Messages,
        messages.AsyncMessages,
        "",
        anthropic,
    ),
    "responses": Speaker(
        openai.OpenAI,
        openai.AsyncOpenAI,
        responses.Responses,
        responses.AsyncResponses,
        "/v1",
        openai,
    ),
})


@asynccontextmanager
async def reaching(speaker: Speaker, mode: str, url: str, key: str) -> AsyncIterator[Asking]:
    """A client of that mode over the network; `ask(way, question)` is awaited, sync or not."""
    if mode == "async":
        api = speaker.asynchronous(url, key)
        async with api.client:
            yield lambda way, ask: getattr(api, way)(ask)
        return
    api = speaker.sync(url, key)
    with api.client:
        yield lambda way, ask: trio.to_thread.run_sync(partial(getattr(api, way), ask))


@asynccontextmanager
async def answering(
    speaker: Speaker, mode: str, key: str, answer: Handler
) -> AsyncIterator[Asking]:
    """The same for a client whose requests `answer` answers in this process."""
    if mode == "async":
        api = speaker.asynchronous("http://router.test", key, httpx2.MockTransport(answer))
        async with api.client:
            yield lambda way, ask: getattr(api, way)(ask)
        return

    def from_thread(request: httpx2.Request) -> httpx2.Response:
        request.read()
        return trio.from_thread.run(answer, request)

    api = speaker.sync("http://router.test", key, httpx2.MockTransport(from_thread))
    with api.client:
        yield lambda way, ask: trio.to_thread.run_sync(partial(getattr(api, way), ask))
