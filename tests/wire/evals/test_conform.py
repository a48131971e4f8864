"""The router as a child process keeps its word, and each bent gateway is found out."""

from contextlib import asynccontextmanager

import pytest

from anvil_trio.conform.verdict import Outcome
from anvil_trio.demo.slots import Pace
from tests.support.bent import GATEWAY_FAULTS, Bent, Forward, serve_app
from tests.support.running_router import TOKEN, open_engines, open_router
from tests.wire.evals.subjects import checked_gateway, failures

pytestmark = pytest.mark.wire


@asynccontextmanager
async def open_bent_gateway(router, *names):
    """A router behind a proxy with these faults; its URL."""
    faults = {name: GATEWAY_FAULTS[name] for name in names}
    async with serve_app(Bent(Forward(f"http://127.0.0.1:{router.port}"), faults)) as url:
        yield url


async def test_our_own_router_keeps_its_word(tmp_path):
    """In all three dialects; only heartbeats were not needed."""
    async with open_engines() as urls, open_router(tmp_path, urls) as router:
        results = await checked_gateway(f"http://127.0.0.1:{router.port}/v1", "chat", TOKEN)
    assert not failures(results)
    unseen = [one.name for one in results if one.verdict.outcome is Outcome.NOT_APPLICABLE]
    assert unseen == ["chat.heartbeats", "messages.heartbeats", "responses.heartbeats"]


async def test_our_own_heartbeats_are_ones_that_clients_survive(tmp_path):
    """In front of an engine that thinks for longer than a beat."""
    slow = Pace(tokens_per_second=200.0, prefill_tokens_per_second=20.0)
    async with (
        open_engines("direct", pace=slow) as urls,
        open_router(tmp_path, urls, settings="heartbeat_interval_s = 0.1\n") as router,
    ):
        results = await checked_gateway(f"http://127.0.0.1:{router.port}", "chat", TOKEN)
    outcomes = {one.name: one.verdict.outcome for one in results}
    assert not failures(results)
    assert outcomes["chat.heartbeats"] is Outcome.PASSED
    assert outcomes["responses.heartbeats"] is Outcome.PASSED


async def test_a_bent_gateway_fails_the_right_checks_and_no_other(tmp_path):
    """Through a proxy that bends nothing every check passes, so what is found was planted."""
    found = {}
    names = [(), *((name,) for name in GATEWAY_FAULTS if name != "keeps-places")]
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        for planted in names:
            async with open_bent_gateway(router, *planted) as url:
                found[planted] = set(failures(await checked_gateway(url, "chat", TOKEN)))
    assert found == {
        planted: {check for name in planted for check in GATEWAY_FAULTS[name].checks}
        for planted in names
    }


async def test_a_gateway_that_keeps_the_places_of_who_left_is_found_first_there(tmp_path):
    """Everything before it passes."""
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        async with open_bent_gateway(router, "keeps-places") as url:
            results = await checked_gateway(url, "chat", TOKEN)
    assert next(iter(failures(results))) == "chat.leaving"


async def test_an_engine_is_a_gateway_of_one_dialect(tmp_path):
    """What it does not speak is left out; what is no 405 there is a failure."""
    async with open_engines("direct") as urls:
        results = await checked_gateway(urls[0], "demo-model", None)
    assert failures(results).keys() == {"chat.method"}
    outcomes = {one.name: one.verdict.outcome for one in results}
    assert outcomes["messages.stream"] is outcomes["chat.key"] is Outcome.NOT_APPLICABLE


async def test_a_wrong_alias_fails_once(tmp_path):
    """No dialect answers; nothing else is made of it."""
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        results = await checked_gateway(f"http://127.0.0.1:{router.port}", "other", TOKEN)
    assert failures(results).keys() == {"gateway.serves"}
