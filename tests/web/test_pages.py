"""What holds for every read-only page, over the whole application."""

import json
import re

import msgspec
import pytest
import trio

from anvil_trio.config.model import ServerSettings
from anvil_trio.tiers.actor import TierHandle
from anvil_trio.web.observe import VIEWS
from anvil_trio.web.replies import REPLIES
from anvil_trio.web.router import ADMIN_PATHS, MEDIA_PATHS, ROUTES, WORKLOADS
from tests.support.asgi import BEARER, Side, request
from tests.support.chunks import good_reply, good_stream
from tests.support.small_house import (
    TIER,
    chat_body,
    config_of,
    direct_tier,
    open_small_house,
    replica_tier,
)
from tests.web.test_app import CHAT, app_of

PAGES = [route for route in ROUTES.values() if route.name in VIEWS]


@pytest.fixture
async def small():
    """A house of two ready replicas."""
    async with open_small_house() as small:
        yield small


async def test_the_views_answer_with_every_place_taken(autojump_clock):
    """No read-only page waits for anything but its actor: zero virtual time with all slots busy."""
    server = ServerSettings(max_concurrency=1, workload_host="node-1")
    config = config_of(replica_tier(max_concurrency=1), server=server)
    async with open_small_house(config) as small:
        small.engine("a").chat = [good_reply()]
        small.engine("b").chat = [good_stream("x", gap_s=5.0)]
        await small.chat()
        app = app_of(small, token=None)
        async with trio.open_nursery() as nursery:
            body = [chat_body(stream=True)]
            nursery.start_soon(lambda: request(app, "POST", CHAT, parts=body, side=Side()))
            await trio.sleep(1)
            assert (await request(app, "POST", CHAT, parts=body)).code == "server_busy"
            named = {"id": small.records[0].gateway_request_id, "model": "llm.primary"}
            for route in PAGES:
                query = b"active=1" if route.name == "requests" else b""
                answer = await request(app, "GET", route.path.format(**named), query=query)
                assert (route.path, answer.status) == (route.path, 200)
                assert answer.headers[b"cache-control"] == b"no-store"
            assert trio.current_time() == 1


async def test_each_owner_is_asked_once_a_payload(monkeypatch, autojump_clock):
    """T005.1: one question to each tier for the pages that show counters, none for the others."""
    asked: list[str] = []
    real = TierHandle.inspect

    async def inspect(handle):
        snapshot = await real(handle)
        asked.append(snapshot.tier_id)
        return snapshot

    monkeypatch.setattr(TierHandle, "inspect", inspect)
    config = config_of(replica_tier(), direct_tier("second"))
    config = config.model_copy(update={"routes": {**config.routes, "llm.again": TIER}})
    async with open_small_house(config) as small:
        for route in PAGES:
            asked.clear()
            path = route.path.format(id="call-1", model="llm.primary")
            await request(app_of(small), "GET", path)
            counted = route.name in {"capacity", "status"}
            assert sorted(asked) == (["primary", "second"] if counted else [])


async def test_each_page_answers_in_one_of_its_shapes(small, autojump_clock):
    """What goes over the wire is what `/openapi.json` says, for callers of either kind."""
    small.house.is_draining = False
    await small.chat()
    app = app_of(small)
    named = {"id": small.records[0].gateway_request_id, "model": "llm.primary"}
    for route in PAGES:
        if route.name in {"openapi", "workloads"}:
            continue
        for kind, headers in enumerate(([BEARER], [BEARER, (b"anthropic-version", b"1")])):
            query = b"active=1" if route.name == "requests" else b""
            answer = await request(
                app, "GET", route.path.format(**named), query=query, headers=headers
            )
            shapes = REPLIES[route.name]
            expected = shapes[-1] if kind or route.name == "requests" else shapes[0]
            page = msgspec.json.decode(answer.body, type=expected)
            assert msgspec.json.encode(page) == answer.body


async def test_the_document_shows_what_there_is(small, autojump_clock):
    """What this configuration does not have is not in `/openapi.json`; the rest of the table is."""
    found = (await request(app_of(small), "GET", "/openapi.json")).json
    absent = {WORKLOADS} | MEDIA_PATHS
    assert set(found["paths"]) == {route.path for route in ROUTES.values()} - absent
    open_ = (await request(app_of(small, token=None), "GET", "/openapi.json")).json
    assert set(found["paths"]) - set(open_["paths"]) == ADMIN_PATHS
    capacity = found["paths"]["/v1/models/capacity"]["get"]
    assert [one["name"] for one in capacity["parameters"]][:2] == ["model", "gpu_role"]
    assert capacity["security"][0] == {"bearer": ["inference:use", "operator"]}
    text = json.dumps(found)
    names = set(re.findall(r"#/components/schemas/(\w+)", text))
    assert names == set(found["components"]["schemas"])
