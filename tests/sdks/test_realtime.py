"""OpenAI's realtime client, over sockets: a router process and demo engines."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
import trio
from websockets.exceptions import InvalidStatus

from anvil_trio.demo.text import compose
from tests.support.running_router import TOKEN, RunningRouter, open_engines, open_router

pytestmark = pytest.mark.wire

Talk = Callable[[openai.AsyncOpenAI], Awaitable[None]]
PROMPT = "say something"
ITEM: Any = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": PROMPT}],
}


@asynccontextmanager
async def routed(folder: Path) -> AsyncIterator[RunningRouter]:
    """A router with one tier of two members that have sessions."""
    async with open_engines() as urls:
        async with open_router(folder, urls, tier_settings="realtime = true\n") as router:
            yield router
            await router.wait_for_rest()


async def with_sdk(router: RunningRouter, talk: Talk) -> None:
    """The SDK's WebSockets want asyncio, which gets a thread of its own."""

    async def main() -> None:
        async with openai.AsyncOpenAI(
            base_url=f"{router.base_url}/v1", api_key=TOKEN, max_retries=0
        ) as client:
            await talk(client)

    await trio.to_thread.run_sync(lambda: asyncio.run(main()))


def model_of(session: object) -> str | None:
    """The model that a session's description names."""
    return getattr(session, "model", None)


async def converse(client: openai.AsyncOpenAI) -> None:
    """A session is updated, told something, and answers in pieces."""
    async with client.realtime.connect(model="chat") as connection:
        created = await connection.recv()
        assert created.type == "session.created"
        assert model_of(created.session) == "chat"
        await connection.session.update(session={"type": "realtime", "model": "chat"})
        updated = await connection.recv()
        assert updated.type == "session.updated"
        assert model_of(updated.session) == "chat"
        await connection.conversation.item.create(item=ITEM)
        await connection.response.create()
        pieces = []
        async for event in connection:
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
            if event.type == "response.done":
                assert event.response.status == "completed"
                break
        assert "".join(pieces) == "".join(compose(PROMPT))


async def ask_for_nothing(client: openai.AsyncOpenAI) -> None:
    """A model that is not there is a 404 on the handshake."""
    with pytest.raises(InvalidStatus) as refused:
        async with client.realtime.connect(model="nobody"):
            pass
    assert refused.value.response.status_code == 404
    assert json.loads(refused.value.response.body)["error"]["code"] == "model_not_found"


async def test_a_conversation(tmp_path):
    """`client.realtime.connect` talks to an engine under its alias, and leaves one record."""
    async with routed(tmp_path) as router:
        await with_sdk(router, converse)
        await router.wait_for_rest()
        (record,) = router.records()
        assert (record["kind"], record["route"], record["workload_outcome"]) == (
            "realtime",
            "chat",
            "success",
        )


async def test_an_unknown_model(tmp_path):
    """What chat would answer with a status is a status here too."""
    async with routed(tmp_path) as router:
        await with_sdk(router, ask_for_nothing)
