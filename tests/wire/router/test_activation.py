"""Another configuration under load, on real sockets."""

from hashlib import sha256

import httpx
import pytest
import trio

from anvil_trio.demo.router_toml import render_router_toml
from anvil_trio.demo.slots import Pace
from tests.support.running_router import TOKEN, RunningRouter, open_engines, open_router

pytestmark = pytest.mark.wire
HEADERS = {"authorization": f"Bearer {TOKEN}"}
SLOW = Pace(tokens_per_second=8.0, prefill_tokens_per_second=100_000.0)
STREAMS = 200
TOKENS = 24


async def stream(client: httpx.AsyncClient, ends: list[bytes]) -> None:
    """One stream from its request to its end, of which the last event is kept."""
    body = {
        "model": "chat",
        "stream": True,
        "max_tokens": TOKENS,
        "messages": [{"role": "user", "content": "hi"}],
    }
    async with client.stream("POST", "/v1/chat/completions", json=body) as reply:
        assert reply.status_code == 200
        received = b"".join([piece async for piece in reply.aiter_raw()])
    ends.append(received.rstrip().rpartition(b"\n")[2])


async def begun(router: RunningRouter, count: int) -> None:
    """Wait until so many requests hold a lease."""
    with trio.fail_after(30):
        while (await router.counts())[0] < count:
            await trio.sleep(0.05)


async def test_no_stream_is_cut_and_no_lease_is_lost(tmp_path):
    """Under 200 streams a member is added and an alias re-pointed; all end whole, counts are 0."""
    ends: list[bytes] = []
    limits = httpx.Limits(max_connections=STREAMS + 10)
    async with (
        open_engines(pace=SLOW) as urls,
        open_engines("direct") as more,
        open_router(tmp_path, urls) as router,
        httpx.AsyncClient(
            base_url=router.base_url, headers=HEADERS, timeout=60, limits=limits, trust_env=False
        ) as client,
    ):
        path = tmp_path / "router.toml"
        routes = {"chat": [*urls, *more], "other": more}
        new = render_router_toml(
            routes,
            model="demo-model",
            context_limit=8192,
            log_path=str(router.log_path),
        )
        new = new.replace('"other" = "other"', '"other" = "chat"\n"third" = "other"')
        async with trio.open_nursery() as nursery:
            for _ in range(STREAMS // 2):
                nursery.start_soon(stream, client, ends)
            await begun(router, STREAMS // 2)
            path.write_text(new)
            order = {"sha256": sha256(new.encode()).hexdigest(), "confirm": True}
            for _ in range(STREAMS // 2):
                nursery.start_soon(stream, client, ends)
            answer = await client.post("/v1/admin/activate", json=order)
            assert answer.json()["applied"] is True, answer.text
            status = await router.get("/v1/router/status")
            assert status["installed_config_sha256"] == order["sha256"]
            assert (await router.counts())[0] >= STREAMS // 2
        assert ends == [b"data: [DONE]"] * STREAMS
        await router.wait_for_rest()
        for model in ("chat", "other", "third"):
            body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
            served = await client.post("/v1/chat/completions", json=body)
            assert served.status_code == 200, served.text
        assert router.stderr.count(b"config_activated") == 1
        assert b"_failed" not in router.stderr
