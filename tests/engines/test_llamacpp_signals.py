"""What two real llama.cpp servers say of their own load, as the router reads and shows it."""

from pathlib import Path
from typing import Any

import pytest
import trio

pytest.importorskip("xllamacpp", reason="needs the engines dependency group", exc_type=ImportError)
pytest.importorskip("gguf", reason="needs the engines dependency group")

from tests.engines.pair import Pair, llamacpp_pair
from tests.engines.scripted_model import COUNTING

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
