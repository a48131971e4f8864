"""`GET /metrics` over a whole house: what traffic leaves there, and what a scrape costs others."""

import pytest
import trio
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families as plain_families

from anvil_trio.config.model import ServerSettings
from anvil_trio.config.policy import ClientCredential, ClientScope
from anvil_trio.meters.catalog import CATALOG
from anvil_trio.names import ClientId
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import BEARER, TOKEN, Answer, Side, request
from tests.support.chunks import DONE, ROLE, STOP, good_reply, good_stream, text, unary_body
from tests.support.fake_caller import FakeCaller
from tests.support.fake_upstream import REFUSED, reply, stream
from tests.support.small_house import (
    ALIAS,
    SmallHouse,
    chat_body,
    config_of,
    direct_tier,
    open_small_house,
    replica_tier,
)

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
WORDS = {"outcome", "reason", "kind", "freshness", "le"}


def app_of(small: SmallHouse) -> App:
    """The application over a small house."""
    return App(small.house, lambda: small.generation, Authenticator(TOKEN))


async def scraped(small: SmallHouse, query: bytes = b"") -> dict[tuple[str, ...], float]:
    """Every sample: its name and the values of its labels, sorted by label."""
    answer = await request(app_of(small), "GET", "/metrics", query=query)
    assert answer.status == 200
    return {
        (one.name, *(value for _, value in sorted(one.labels.items()))): one.value
        for family in plain_families(answer.body.decode())
        for one in family.samples
    }


def above_zero(samples: dict[tuple[str, ...], float], *stems: str) -> dict[tuple[str, ...], float]:
    """What is not zero of the metrics whose names begin so, without `anvil_router_` before it."""
    names = tuple(f"anvil_router_{stem}" for stem in stems)
    return {
        (key[0].removeprefix("anvil_router_"), *key[1:]): value
        for key, value in samples.items()
        if key[0].startswith(names) and value
    }


@pytest.fixture
async def small():
    """A house of two ready replicas."""
    async with open_small_house() as small:
        yield small


async def test_the_page_is_the_operators(autojump_clock):
    """No key is a 401, a client's a 403; the operator gets text 0.0.4 that no cache may keep."""
    async with open_small_house() as small:
        client = ClientCredential(
            ClientId("desktop"),
            frozenset({ClientScope.INFERENCE_USE, ClientScope.WORKLOADS_READ}),
            "desktop-key-0123456789",
        )
        app = App(small.house, lambda: small.generation, Authenticator(TOKEN, (client,)))
        assert (await request(app, "GET", "/metrics", headers=[])).status == 401
        headers = [(b"x-api-key", b"desktop-key-0123456789")]
        assert (await request(app, "GET", "/metrics", headers=headers)).status == 403
        answer = await request(app, "GET", "/metrics")
        assert answer.status == 200
        assert answer.headers[b"content-type"].decode() == PLAIN
        assert answer.headers[b"cache-control"] == b"no-store"
        assert answer.headers[b"content-length"] == b"%d" % len(answer.body)


async def test_head_is_the_same_without_a_body(small, autojump_clock):
    """HEAD has the head of GET, its length included."""
    got = await request(app_of(small), "GET", "/metrics")
    head = await request(app_of(small), "HEAD", "/metrics")
    assert (head.status, head.body) == (200, b"")
    assert head.headers == got.headers


async def test_openmetrics_is_given_to_whom_it_is_asked(small, autojump_clock):
    """The library's strict parser reads it; what else the header says is not echoed."""
    accept = (b"accept", b"application/openmetrics-text; version=7; canary=1, text/plain; q=0.1")
    answer = await request(app_of(small), "GET", "/metrics", headers=[BEARER, accept])
    kind = "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert answer.headers[b"content-type"].decode() == kind
    families = list(openmetrics_families(answer.body.decode()))
    assert len(families) == len(CATALOG)


@pytest.mark.parametrize("query", [b"model=canary", b"limit=0", b"canary=1"])
async def test_a_bad_query_is_refused_without_repeating_it(query, small, autojump_clock):
    """404 for an alias that is not there, 400 for anything else."""
    answer = await request(app_of(small), "GET", "/metrics", query=query)
    assert answer.status == (404 if b"model" in query else 400)
    assert b"canary" not in answer.body


async def test_every_metric_of_the_catalog_is_announced(small, autojump_clock):
    """The families of the page are those of the catalog."""
    answer = await request(app_of(small), "GET", "/metrics")
    names = [family.name for family in plain_families(answer.body.decode())]
    assert names == [one.name.removesuffix("_total") for one in CATALOG]


async def test_a_stream_leaves_its_numbers(small, autojump_clock):
    """One request, one attempt, one wait, its first content, its gaps and its duration."""
    small.engine("a").chat = [stream(ROLE, 2.0, text("a"), 1.0, text("b"), 3.0, STOP, DONE)]
    await small.chat(stream=True)
    counts = above_zero(await scraped(small), "requests", "refusals", "attempts", "client")
    assert counts == {
        ("requests_total", ALIAS, "success", "primary"): 1,
        ("attempts_total", "a", "served", "primary"): 1,
    }
    found = await scraped(small)
    for stem, seconds in (
        ("time_to_first_content", 2.0),
        ("stream_gap", 2.0),
        ("upstream_duration", 6.0),
    ):
        name = f"anvil_router_{stem}_seconds"
        assert found[f"{name}_count", "a", "primary"] == 1, stem
        assert found[f"{name}_sum", "a", "primary"] == seconds, stem
        assert found[f"{name}_count", "b", "primary"] == 0, stem
    assert found["anvil_router_admission_wait_seconds_count", "primary"] == 1
    assert found["anvil_router_stream_gap_seconds_bucket", "1.25", "a", "primary"] == 0
    assert found["anvil_router_stream_gap_seconds_bucket", "5.0", "a", "primary"] == 1


async def test_a_unary_reply_has_no_gap(small, autojump_clock):
    """Only streams are observed for their gaps."""
    small.engine("a").chat = [good_reply()]
    await small.chat()
    found = await scraped(small)
    assert found["anvil_router_upstream_duration_seconds_count", "a", "primary"] == 1
    assert found["anvil_router_stream_gap_seconds_count", "a", "primary"] == 0


async def test_refusals_are_told_apart(autojump_clock):
    """By their gate: an unknown model, a bad body, a full house, no ready member, a long wait."""
    server = ServerSettings(max_concurrency=1, admission_timeout_s=5)
    config = config_of(replica_tier(max_concurrency=1), server=server)
    async with open_small_house(config) as small:
        await small.chat(model="canary")
        await small.serve(FakeCaller(b"{"))
        small.engine("a").chat = [good_stream("x", gap_s=5.0)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: small.chat(stream=True))
            await trio.sleep(1)
            await small.chat()
        small.ready()
        await small.chat()
        found = await scraped(small)
    assert above_zero(found, "refusals") == {
        ("refusals_total", "unknown_model", "model_not_found", ""): 1,
        ("refusals_total", "unparsed", "request_rejected", ""): 1,
        ("refusals_total", "unparsed", "server_busy", ""): 1,
        ("refusals_total", ALIAS, "not_admitted", "primary"): 1,
    }
    assert above_zero(found, "requests_total") == {
        ("requests_total", ALIAS, "success", "primary"): 1,
        ("requests_total", ALIAS, "rejected", "primary"): 1,
        ("requests_total", "unknown_model", "rejected", ""): 1,
        ("requests_total", "unparsed", "rejected", ""): 2,
    }
    assert "canary" not in str(found)


async def test_a_wait_in_line_is_observed(autojump_clock):
    """A caller that waits for the one place is counted with the time that it waited."""
    async with open_small_house(config_of(replica_tier(max_concurrency=1))) as small:
        small.engine("a").chat = [good_stream("x", gap_s=3.0)]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: small.chat(stream=True))
            await trio.sleep(1)
            nursery.start_soon(lambda: small.chat(stream=True))
            await trio.sleep(1)
            during = await scraped(small)
        found = await scraped(small)
    assert during["anvil_router_tier_active_requests", "primary"] == 1
    assert during["anvil_router_tier_waiting_requests", "primary"] == 1
    assert during["anvil_router_admission_active_requests",] == 2
    assert found["anvil_router_admission_wait_seconds_count", "primary"] == 2
    assert found["anvil_router_admission_wait_seconds_sum", "primary"] == 2.0
    assert found["anvil_router_tier_active_requests", "primary"] == 0


async def test_clients_that_leave_are_counted(small, autojump_clock):
    """One that goes away is one disconnect, one attempt and no success."""
    small.engine("a").chat = [good_stream("x", gap_s=50.0)]
    caller = FakeCaller(chat_body(stream=True))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(small.serve, caller)
        await trio.sleep(1)
        caller.leave()
    assert above_zero(await scraped(small), "client", "attempts", "requests") == {
        ("client_disconnects_total", ALIAS, "disconnected", "primary"): 1,
        ("attempts_total", "a", "client_disconnected", "primary"): 1,
        ("requests_total", ALIAS, "disconnected", "primary"): 1,
    }


async def test_failures_are_counted_by_member(small, autojump_clock):
    """A refused connection and an error answer are backend errors of the member that had them."""
    small.engine("a").chat = [REFUSED]
    small.engine("b").chat = [reply(b"no", status=500)]
    await small.chat()
    await small.chat()
    assert above_zero(await scraped(small), "attempts") == {
        ("attempts_total", "a", "backend_error", "primary"): 1,
        ("attempts_total", "b", "backend_error", "primary"): 1,
    }


async def test_the_buffers_gauges_follow_the_limit(small, autojump_clock):
    """All records, or the newest of them; the alias's row and the row of all agree here."""
    for seconds in (1.0, 3.0):
        small.engine("a").chat = [reply(unary_body(), after_s=seconds)]
        small.engine("b").chat = list(small.engine("a").chat)
        await small.chat()
    stem = "anvil_router_decision_buffer_latency_ms"
    everything = await scraped(small)
    assert everything[f"{stem}_average", ""] == everything[f"{stem}_average", ALIAS] == 2000
    assert everything[f"{stem}_p95", ALIAS] == 3000
    newest = await scraped(small, b"limit=1")
    assert newest[f"{stem}_average", ""] == 3000
    assert (f"{stem}_average", "unknown_model") not in newest


async def test_no_caller_can_make_a_series(autojump_clock):
    """R012: after 10,000 requests with names of their own the series are the same ones."""
    config = config_of(replica_tier(), direct_tier("second"))
    async with open_small_house(config) as small:
        await small.chat(model="first-unknown")
        before = set(await scraped(small))
        for number in range(10_000):
            await small.chat(model=f"canary-{number}")
        found = await scraped(small)
    assert set(found) == before
    assert found["anvil_router_requests_total", "unknown_model", "rejected", ""] == 10_001


async def test_label_values_come_from_the_configuration(autojump_clock):
    """Every alias, model, tier and member that is shown is configured, or a fixed word."""
    config = config_of(replica_tier(replica_strategy="capacity", ceiling=2), direct_tier("second"))
    async with open_small_house(config) as small:
        small.engine("a").chat = [good_stream()]
        await small.chat(stream=True, session="canary-session")
        await small.chat(model="canary-model", client="_legacy")
        answer = await request(app_of(small), "GET", "/metrics")
    seen: dict[str, set[str]] = {}
    for family in plain_families(answer.body.decode()):
        for one in family.samples:
            for label, value in one.labels.items():
                seen.setdefault(label, set()).add(value)
    fixed = {"unknown_model", "unparsed"}
    assert seen["alias"] == fixed | {ALIAS, "llm.second"}
    assert seen["model"] == fixed | {ALIAS, "llm.second", ""}
    assert seen["tier"] == {"primary", "second", ""}
    assert seen["member"] == {"a", "b", ""}
    assert seen.keys() - WORDS == {"alias", "model", "tier", "member"}
    assert b"canary" not in answer.body


async def test_a_scrape_takes_no_time_with_every_place_taken(autojump_clock):
    """It waits for its actors' answers only: zero virtual time with all slots busy."""
    config = config_of(replica_tier(max_concurrency=1), server=ServerSettings(max_concurrency=1))
    async with open_small_house(config) as small:
        small.engine("a").chat = [good_stream("x", gap_s=5.0)]
        async with trio.open_nursery() as nursery:
            body = [chat_body(stream=True)]
            app = app_of(small)
            path = "/v1/chat/completions"
            nursery.start_soon(lambda: request(app, "POST", path, parts=body, side=Side()))
            await trio.sleep(1)
            found = await scraped(small)
            assert trio.current_time() == 1
    assert found["anvil_router_admission_active_requests",] == 1
    assert found["anvil_router_replica_member_active_requests", "a", "primary"] == 1


async def test_a_scrape_asks_no_engine_and_each_actor_once(small, autojump_clock, monkeypatch):
    """T005.1: no probe and no reading is started, and a tier is asked once per page."""
    asked = []
    handle = small.house.tiers["primary"]
    inspect = handle.inspect

    async def counted():
        asked.append("primary")
        return await inspect()

    monkeypatch.setattr(handle, "inspect", counted)
    await scraped(small)
    assert asked == ["primary"]
    assert sum(engine.attempts for engine in small.engines.values()) == 0


async def test_others_run_during_a_scrape(small, autojump_clock):
    """With a full buffer another task has its turn more than a hundred times."""
    await small.chat(model="unknown")
    [record] = small.records
    for _ in range(10_000):
        small.ring.append(record)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count_turns)
        await scraped(small)
        nursery.cancel_scope.cancel()
    assert turns > 100


async def test_a_scrape_during_traffic_is_consistent(small, autojump_clock):
    """Records that come while it runs do not disturb it: it reads the buffer as it was."""
    await small.chat(model="unknown")
    small.ring.append(small.records[0])
    answer = Answer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: request(app_of(small), "GET", "/metrics", answer=answer))
        for _ in range(200):
            small.ring.append(small.records[0])
            await trio.lowlevel.checkpoint()
    assert answer.is_over
    found = {
        one.name: one.value
        for family in plain_families(answer.body.decode())
        for one in family.samples
        if one.labels == {"model": "", "outcome": "failed"}
    }
    assert 2 <= found["anvil_router_decision_buffer_requests"] <= 202
