"""A direct tier that its engine owns, from the probe to the request and the pages."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from anvil_trio.assembly import open_generation, open_house
from anvil_trio.config.model import RouterConfig, Tier
from anvil_trio.config.secrets import Secrets
from anvil_trio.decisions.builder import CallerIds
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.run import run_chat
from anvil_trio.names import LEGACY_CLIENT, RequestId
from anvil_trio.views.anthropic_models import list_models
from anvil_trio.views.capacity import project_capacity
from anvil_trio.views.models import project_models
from anvil_trio.views.signals import unwatched
from tests.support.chunks import good_reply
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import FakeUpstream, Reply, models, reply
from tests.support.small_house import TIER, chat_body, config_of
from tests.unit.views.samples import read

LISTING = reply(b'{"data":[{"id":"served-here","max_model_len":512}]}')


def owned(**more) -> Tier:
    """A direct tier that names no model and no context."""
    return Tier(
        id="primary",
        auth_env="KEY",
        base_url="http://engine.test",
        health_path="/health",
        metadata_source="upstream",
        **more,
    )


class World:
    """The house, its generation and the one engine."""

    def __init__(self, house: House, generation: Generation, engine: FakeUpstream) -> None:
        self.house, self.generation, self.engine = house, generation, engine

    async def chat(self, **body) -> FakeCaller:
        """One exchange."""
        caller = FakeCaller(chat_body(**body))
        call = Call(CHAT, LEGACY_CLIENT, RequestId(f"req_{0:032x}"), CallerIds())
        await run_chat(self.house, self.generation, call, caller)
        return caller


@asynccontextmanager
async def opened(tier: Tier, listing: Reply, **pages: Reply) -> AsyncIterator[World]:
    """A whole generation over one engine, just after it was opened."""
    config: RouterConfig = config_of(tier)
    engine = FakeUpstream(models=listing, chat_default=good_reply())
    engine.pages.update({f"/{name}": page for name, page in pages.items()})

    def make(base_url: str, *, keepalive_s: float) -> FakeUpstream:
        return engine

    async with (
        open_house(config) as house,
        open_generation(house, config, Secrets({}), make) as generation,
    ):
        yield World(house, generation, engine)


async def test_what_the_engine_serves_goes_into_requests_and_pages(autojump_clock):
    """The served name goes upstream, the context is judged by, and both are shown."""
    async with opened(owned(), LISTING) as world:
        await trio.sleep(0.1)
        assert (await world.chat()).status == 200
        [sent] = world.engine.chats
        assert json.loads(sent.body)["model"] == "served-here"
        long = await world.chat(messages=[{"role": "user", "content": "word " * 600}])
        assert long.status == 400
        assert json.loads(long.received)["error"]["code"] == "context_length_exceeded"
        config, verdict_of = world.generation.config, world.generation.verdict_of
        entry = read(project_models(config, verdict_of))["data"][0]
        theirs = read(list_models(config, verdict_of))["data"][0]
        assert theirs["max_input_tokens"] == entry["context_window"]
        assert entry["context_window"] == 512
        row = read(project_capacity(config, verdict_of, {}, unwatched))["data"][0]
        assert (row["model"], row["readiness"]["reason"]) == (
            "served-here",
            "upstream_metadata_passed",
        )


async def test_before_the_first_answer_requests_are_refused(autojump_clock):
    """A request that would name no model is never sent, and does not wait."""
    async with opened(owned(), LISTING) as world:
        caller = await world.chat()
        assert (caller.status, caller.headers[b"retry-after"]) == (503, b"1")
        assert world.engine.chats == []


async def test_an_ambiguous_engine_is_never_asked(autojump_clock):
    """Two models: the tier is not ready, the pages show none, and no request is sent."""
    async with opened(owned(), models("one", "two")) as world:
        await trio.sleep(0.1)
        assert (await world.chat()).status == 503
        assert world.engine.chats == []
        generation = world.generation
        page = json.dumps(read(project_models(generation.config, generation.verdict_of)))
        assert json.loads(page)["data"][0]["context_window"] is None
        assert "one" not in page.replace("none", "")


async def test_the_engine_says_how_much_it_takes(autojump_clock):
    """With an auto ceiling the tier takes as many requests at a time as the engine runs."""
    info = reply(b'{"max_running_requests":3}')
    async with opened(owned(max_concurrency="auto"), LISTING, server_info=info) as world:
        assert (await world.house.tiers[TIER].inspect()).max_concurrency is None
        await trio.sleep(0.1)
        assert (await world.house.tiers[TIER].inspect()).max_concurrency == 3
        assert (await world.chat()).status == 200
