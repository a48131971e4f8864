"""What two real llama.cpp servers say of their own load, as the router reads and shows it."""

from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

pytest.importorskip("xllamacpp", reason="needs the engines dependency group", exc_type=ImportError)
pytest.importorskip("gguf", reason="needs the engines dependency group")

from tests.engines.gguf_file import write_model
from tests.engines.pair import Pair, llamacpp_pair, running
from tests.engines.scripted_model import COUNTING, GREETING

pytestmark = pytest.mark.engine

CAPACITY = """
engine = "llamacpp"
replica_strategy = "capacity"
"""


async def wait_for(pair: Pair, pressures: list[int | None]) -> list[dict[str, Any]]:
    """The members once both are fresh and their pressures are these."""
    with trio.fail_after(10):
        while True:
            members: list[dict[str, Any]] = (await pair.capacity())["members"]
            fresh = all(member["freshness"] == "fresh" for member in members)
            if fresh and [member["pressure_ppm"] for member in members] == pressures:
                return members
            await trio.sleep(0.05)


async def test_live_metrics_are_fresh_observations_while_streams_run(tmp_path: Path) -> None:
    """With one endless stream on each of two engines, each says that half its places are taken."""
    async with llamacpp_pair(tmp_path, CAPACITY) as pair:
        await wait_for(pair, [0, 0])
        body = pair.body(COUNTING.when, stream=True)

        async def count_for_ever(started: trio.Event) -> None:
            async with pair.client.stream("POST", "/v1/chat/completions", json=body) as reply:
                async for line in reply.aiter_lines():
                    if COUNTING.pieces[5] in line:
                        started.set()

        async with trio.open_nursery() as nursery:
            for _ in range(2):
                started = trio.Event()
                nursery.start_soon(count_for_ever, started)
                await started.wait()
            members = await wait_for(pair, [500_000, 500_000])
            assert [member["requests_state"] for member in members] == ["valid", "valid"]
            assert [member["kv_state"] for member in members] == ["missing", "missing"]
            row = await pair.capacity()
            assert row["admission"]["member_active_requests"] == {"a": 1, "b": 1}
            assert row["live"]["reason"] == "replica_metrics_not_aggregated"
            nursery.cancel_scope.cancel()
        await wait_for(pair, [0, 0])


OWNED = """
[router]
availability_probe_interval = 0.2

[router.model_routes]
"llm.tiny" = "tiny"

[[router.tiers]]
id = "tiny"
dialect = "openai"
privacy = "local"
tool_support = true
auth_env = "TINY_ENGINE_KEY"
base_url = "{engine}/v1"
health_path = "/health"
metadata_source = "upstream"
max_concurrency = "auto"
"""


async def places(client: httpx.AsyncClient) -> tuple[int, int]:
    """How many requests the tier holds, and how many wait for it."""
    tier = (await client.get("/v1/router/status")).json()["tiers"][0]
    return tier["active_requests"], tier["waiting_requests"]


async def test_a_real_engine_owns_its_model_context_and_ceiling(tmp_path: Path) -> None:
    """A tier that names none of them serves what llama.cpp's `/v1/models` and `/props` say."""
    model, config = tmp_path / "tiny.gguf", tmp_path / "router.toml"
    write_model(model)
    route = ("anvil_trio", "router", "run", "--config", str(config), "--port", "0")
    async with running(
        tmp_path / "engine.log", "tests.engines.serve_llamacpp", str(model), "0"
    ) as engine:
        config.write_text(OWNED.format(engine=engine))
        async with (
            running(tmp_path / "router.log", *route) as router,
            httpx.AsyncClient(base_url=router, trust_env=False, timeout=30) as client,
        ):
            pair = Pair(client, tmp_path / "no.log")
            with trio.fail_after(10):
                while not (row := await pair.capacity())["loaded"]:
                    await trio.sleep(0.05)
            assert row["model"] == "tiny"
            assert row["readiness"]["reason"] == "upstream_metadata_passed"
            entry = (await client.get("/v1/models")).json()["data"][0]
            assert entry["context_window"] == 131_072
            assert await pair.say("hello") == GREETING.text
            body = pair.body(COUNTING.when, stream=True)
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(partial(client.post, "/v1/chat/completions", json=body))
                with trio.fail_after(10):
                    while await places(client) != (2, 1):
                        await trio.sleep(0.05)
                nursery.cancel_scope.cancel()
