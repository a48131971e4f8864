"""A whole house with a trace collector: whatever that does, no request is delayed by it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from anvil_trio.assembly import open_generation, open_house
from anvil_trio.config.model import ServerSettings
from anvil_trio.config.secrets import Secrets
from anvil_trio.decisions.builder import CallerIds
from anvil_trio.decisions.export import QUEUE
from anvil_trio.dialects.openai_chat import CHAT
from anvil_trio.exchange.call import Call
from anvil_trio.exchange.generation import Generation
from anvil_trio.exchange.house import House
from anvil_trio.exchange.run import run_chat
from anvil_trio.names import LEGACY_CLIENT, RequestId
from tests.support.chunks import good_reply
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import (
    REFUSED,
    STALLED_CONNECT,
    STALLED_WRITE,
    FakeUpstream,
    Fault,
    Head,
    Reply,
    Step,
    reply,
)
from tests.support.otlp import decode
from tests.support.small_house import chat_body, config_of, direct_tier

URL = "http://127.0.0.1:4318/v1/traces"
HANGS = Reply((Fault.STALL,))
DRIP: tuple[Step, ...] = (0.3, b" ")
TRICKLES = Reply((Head(200, ()), *DRIP * 99))
REDIRECTS = reply(b"", status=307, headers=((b"location", b"http://10.0.0.1:1/elsewhere"),))


class Network:
    """One collector, and an engine that answers at once; who was connected to what."""

    def __init__(self, *answers: Reply) -> None:
        left = list(answers)
        last = left[-1] if left else reply(b"{}")
        self.collector = FakeUpstream(
            pages={"/v1/traces": lambda _number: left.pop(0) if left else last}
        )
        self.urls: list[str] = []

    def __call__(self, base_url: str, *, keepalive_s: float) -> FakeUpstream:
        self.urls.append(base_url)
        if base_url == URL:
            return self.collector
        return FakeUpstream(chat_default=good_reply())


@asynccontextmanager
async def routing(network: Network) -> AsyncIterator[tuple[House, Generation]]:
    """A house of one direct tier that exports to the network's collector."""
    config = config_of(direct_tier(), server=ServerSettings(trace_export_url=URL))
    async with (
        open_house(config, make_transport=network) as house,
        open_generation(house, config, Secrets({}), network) as generation,
    ):
        yield house, generation


async def serve(house: House, generation: Generation, number: int = 1) -> None:
    """So many requests, one after another, each of them served."""
    for one in range(number):
        caller = FakeCaller(chat_body())
        ids = CallerIds(session_id="session-1")
        call = Call(CHAT, LEGACY_CLIENT, RequestId(f"req_{one:032x}"), ids)
        await run_chat(house, generation, call, caller)
        assert caller.status == 200


async def test_each_request_becomes_a_span(autojump_clock):
    """What the collector gets is OTLP, posted as JSON to the configured path, without a key."""
    network = Network()
    async with routing(network) as (house, generation):
        await serve(house, generation, 2)
        await trio.sleep(0.5)
        assert house.log.spans is not None
        assert house.log.spans.exported == 2
    posts = network.collector.calls
    spans = [span for call in posts for span in decode(call.body)]
    ids = [span.attributes["anvil.router.gateway_request_id"] for span in spans]
    assert sorted(ids) == [f"req_{one:032x}" for one in range(2)]
    assert {span.attributes["gen_ai.conversation.id"] for span in spans} == {"session-1"}
    assert {(call.request.method, str(call.request.url)) for call in posts} == {("POST", URL)}
    headers = posts[0].request.headers
    assert headers["content-type"] == "application/json"
    assert headers["content-length"] == str(len(posts[0].body))
    assert "authorization" not in headers
    assert network.collector.opened == network.collector.closed


@pytest.mark.parametrize(
    "answer",
    [HANGS, TRICKLES, STALLED_CONNECT, STALLED_WRITE, REFUSED, REDIRECTS, reply(status=503)],
    ids=["hangs", "trickles", "no connect", "no write", "refuses", "redirects", "busy"],
)
async def test_a_bad_collector_delays_no_request(answer, autojump_clock):
    """A hundred requests take no virtual time, and every span is dropped within its bounds."""
    network = Network(answer)
    async with routing(network) as (house, generation):
        began = trio.current_time()
        await serve(house, generation, 100)
        assert trio.current_time() == began
        await trio.sleep(30)
        spans = house.log.spans
        assert spans is not None
        assert spans.exported == 0
        assert sum(spans.dropped.values()) == 100
        assert len(house.log.ring) == 100
    assert network.collector.opened == network.collector.closed
    assert set(network.urls) == {URL, "http://primary.test/v1"}
    assert {str(call.request.url) for call in network.collector.calls} <= {URL}


async def test_one_export_takes_a_second_at_most(autojump_clock):
    """A collector that trickles is left after a second, however long it goes on."""
    network = Network(TRICKLES, reply(b"{}"))
    async with routing(network) as (house, generation):
        await serve(house, generation)
        await trio.sleep(0.999)
        await serve(house, generation)
        assert len(network.collector.calls) == 1
        assert not network.collector.calls[0].closed.is_set()
        await trio.sleep(0.002)
        assert network.collector.calls[0].closed.is_set()
        assert len(network.collector.calls) == 2
        assert house.log.spans is not None
        assert (house.log.spans.exported, house.log.spans.dropped["not_taken"]) == (1, 1)


async def test_more_than_the_queue_holds_is_dropped(autojump_clock):
    """While the collector hangs only so many records wait for it."""
    network = Network(HANGS)
    async with routing(network) as (house, generation):
        await serve(house, generation, 2 * QUEUE)
        spans = house.log.spans
        assert spans is not None
        assert spans.dropped["queue_full"] >= QUEUE - 16


async def test_the_end_of_the_house_sends_what_is_left(autojump_clock):
    """The last requests of a stop are exported too, and a hung collector costs a second."""
    network = Network()
    async with routing(network) as (house, generation):
        await serve(house, generation, 20)
    assert sum(len(decode(call.body)) for call in network.collector.calls) == 20
    stuck = Network(HANGS)
    async with routing(stuck) as (house, generation):
        await serve(house, generation, 20)
        before = trio.current_time()
    assert trio.current_time() - before == 1


async def test_without_a_url_nothing_is_exported(autojump_clock):
    """No queue, no worker, no connection."""
    async with open_house(config_of(direct_tier())) as house:
        assert house.log.spans is None


async def test_nothing_private_is_in_a_span(autojump_clock):
    """R012: no prompt, no answer, no served name, no engine's address."""
    network = Network()
    async with routing(network) as (house, generation):
        await serve(house, generation)
    body = json.dumps([call.body.decode() for call in network.collector.calls])
    for private in ("Hello", '"hi"', "served-model", "primary.test", "UPSTREAM_KEY"):
        assert private not in body
