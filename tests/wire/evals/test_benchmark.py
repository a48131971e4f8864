"""A load on a real engine gives the numbers that the engine has."""

import pytest

from anvil_trio.conform.asking import Asker, Target
from anvil_trio.demo.engine import Engine, EngineOptions
from anvil_trio.demo.slots import Pace
from anvil_trio.evals.load import Load, render_prompt, run_load, try_once
from tests.support.bent import serve_app

pytestmark = pytest.mark.wire


def engine(slots=4):
    """One that writes a token each 10 ms and reads a hundred in 100 ms."""
    pace = Pace(tokens_per_second=100.0, prefill_tokens_per_second=1000.0)
    return Engine(EngineOptions(slots=slots, pace=pace))


async def test_a_round_measures_what_the_engine_does():
    """First token, gap, total and tokens: never less than the engine takes, whatever else runs."""
    steps = []
    async with serve_app(engine()) as url:
        asker = Asker(Target(url, "demo-model"), timeout_s=10, keepalive_s=4)
        load = Load(concurrency=2, requests=4, prompt_tokens=100, output_tokens=20)
        assert (await try_once(asker, load, "first")).status == 200
        found = await run_load(asker, load, "a", lambda: steps.append(1))
        await asker.aclose()
    assert (found.requests, found.errors, len(steps)) == (4, {}, 4)
    assert found.first_token_ms is not None
    assert found.gap_ms is not None
    assert found.total_ms is not None
    assert 100 <= found.first_token_ms.p50 < found.total_ms.p50
    assert 5 <= found.gap_ms.most < found.total_ms.most
    assert found.total_ms.p50 >= 300
    assert 0 < found.tokens_per_second <= 134


async def test_more_at_once_than_slots_wait_for_their_first_token():
    """The line shows in the first token and in nothing else."""
    async with serve_app(engine(slots=1)) as url:
        asker = Asker(Target(url, "demo-model"), timeout_s=10, keepalive_s=4)
        found = await run_load(asker, Load(3, 3, 10, 20), "a", lambda: None)
        await asker.aclose()
    assert found.first_token_ms is not None
    assert found.first_token_ms.most >= found.first_token_ms.p50 + 150


async def test_failures_are_counted_by_kind():
    """A model that is not there is a 404 each time."""
    async with serve_app(engine()) as url:
        asker = Asker(Target(url, "other"), timeout_s=10)
        found = await run_load(asker, Load(4, 5, 10, 4), "a", lambda: None)
    assert (found.errors, found.first_token_ms) == ({"http_404": 5}, None)


def test_no_two_prompts_begin_alike_and_each_is_as_long_as_was_asked():
    """Which leaves a prefix cache nothing to do."""
    prompts = [render_prompt(f"a-{n}", 100) for n in range(3)]
    assert len({prompt[:14] for prompt in prompts}) == 3
    assert all(95 <= len(prompt.split()) <= 105 for prompt in prompts)
    assert render_prompt("x", 8)
