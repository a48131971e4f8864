"""The demo engine's answers from a fake engine, and the whole application over it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import httpx2

from anvil_trio.demo.beside import PATHS, answer_beside
from anvil_trio.demo.chat import (
    ChatOrder,
    Refusal,
    parse_chat,
    render_end,
    render_piece,
    render_refusal,
    render_reply,
    render_start,
)
from anvil_trio.upstream.stream import Request
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import TOKEN, Side, request
from tests.support.fake_upstream import END, FakeCall, FakeUpstream, Head, Reply, reply, stream
from tests.support.small_house import config_of, direct_tier, open_small_house

__all__ = ["DemoUpstream", "answer_from", "open_app"]


def demo_reply(body: bytes) -> Reply:
    """What the demo engine answers to a request."""
    order = parse_chat(body, "served-model", 100_000)
    if not isinstance(order, ChatOrder):
        return reply(render_refusal(order), status=order.status)
    if not order.is_stream:
        return reply(render_reply(order))
    pieces = [render_piece(order, piece) for piece in order.reply]
    return stream(render_start(order), *pieces, render_end(order))


def beside_reply(request: Request | httpx.Request, body: bytes, model: str) -> Reply:
    """What the demo engine, serving `model`, answers to a request that is no chat."""
    content_type = request.headers["content-type"].encode()
    answer = answer_beside(request.url.path, content_type, body, model)
    if isinstance(answer, Refusal):
        return reply(render_refusal(answer), status=answer.status)
    head = Head(200, ((b"content-type", answer.content_type),))
    return Reply((head, *answer.pieces, END))


class DemoUpstream(FakeUpstream):
    """Answers each request as the demo engine would, without waiting; scripts go before.

    Beside chat it serves whichever model its one purpose is (`beside`).
    """

    beside: str = "served-model"

    async def send(self, request: Request | httpx.Request, body: bytes) -> FakeCall:
        """Take one request."""
        if not self.chat and request.url.path.endswith("/chat/completions"):
            self.chat = [demo_reply(body)]
        elif not self.chat and request.url.path in PATHS:
            self.chat = [beside_reply(request, body, self.beside)]
        return await super().send(request, body)


@asynccontextmanager
async def open_app() -> AsyncIterator[tuple[App, FakeUpstream]]:
    """The application over one demo engine, and that engine."""
    config = config_of(direct_tier())
    async with open_small_house(config, make_engine=DemoUpstream) as small:
        yield App(small.house, lambda: small.generation, Authenticator(TOKEN)), small.engine()
        await small.assert_at_rest()


async def answer_from(app: App, asked: httpx2.Request) -> httpx2.Response:
    """The application's answer to a request of an SDK."""
    if isinstance(asked.stream, httpx2.AsyncByteStream):
        await asked.aread()
    answer = await request(
        app,
        asked.method,
        asked.url.path,
        headers=[(name.lower(), value) for name, value in asked.headers.raw],
        parts=[asked.content],
        query=asked.url.query,
        side=Side(),
    )
    headers = [(name.decode(), value.decode()) for name, value in answer.headers.items()]
    return httpx2.Response(answer.status, headers=headers, content=answer.body)
