"""The transition path as a caller meets it: identity, framing, bounds, leaving."""

import json

import pytest
import trio

from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.tiers.lease import Lease
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator, Principal, Scope
from tests.support.asgi import BEARER, Answer, Side, request
from tests.support.operated import PATH, Operated, open_operated
from tests.support.small_house import TIER

DRAIN = json.dumps({"action": "drain", "tier_id": TIER, "timeout": 600}).encode()


@pytest.fixture
async def operated():
    """A house of two ready replicas."""
    async with open_operated() as operated:
        yield operated


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
async def test_without_authentication_there_is_nothing(method, operated, autojump_clock):
    """Nobody is the operator then: a 404 like any other, whatever the method."""
    app = App(operated.house, lambda: operated.generation, Authenticator(None))
    answer = await request(app, method, PATH, parts=[DRAIN], side=Side())
    assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize("path", [PATH, PATH.removeprefix("/v1"), "/v1" + PATH])
async def test_without_authentication_nothing_hints_at_the_path(path, operated, autojump_clock):
    """Neither `Allow` nor the hint for a path joined wrongly tells of what is not there."""
    app = App(operated.house, lambda: operated.generation, Authenticator(None))
    for method in ("OPTIONS", "PUT", "GET"):
        answer = await request(app, method, path, side=Side())
        assert (answer.status, answer.code) == (404, "not_found")
        assert b"allow" not in dict(answer.headers)
        assert b"transition" not in answer.body


async def test_only_the_operator_may(operated, monkeypatch, autojump_clock):
    """No scope stands for it; a stranger is a 401."""
    answer = await request(operated.app, "GET", PATH, headers=[], side=Side())
    assert answer.status == 401
    who = Principal(LEGACY_CLIENT, frozenset({Scope.INFERENCE_USE}))
    monkeypatch.setattr(Authenticator, "identify", lambda _self, _headers: who)
    for method in ("GET", "POST"):
        answer = await request(operated.app, method, PATH, parts=[DRAIN], side=Side())
        assert (answer.status, answer.code) == (403, "authorization_scope_denied")


async def test_another_method_is_a_405(operated, autojump_clock):
    """The reply names those that there are; HEAD goes with GET."""
    answer = await request(operated.app, "DELETE", PATH, side=Side())
    assert (answer.status, answer.headers[b"allow"]) == (405, b"GET, HEAD, POST")


async def test_a_head_orders_nothing(operated, autojump_clock):
    """A HEAD with an order in its body is answered like a GET, and nobody obeys it."""
    before = await request(operated.app, "GET", PATH, side=Side())
    answer = await request(operated.app, "HEAD", PATH, parts=[DRAIN], side=Side())
    assert (answer.status, answer.body) == (200, b"")
    after = await request(operated.app, "GET", PATH, side=Side())
    assert after.body == before.body


async def test_a_status_that_no_cache_keeps(operated, autojump_clock):
    """GET and POST give the same rows."""
    got = await request(operated.app, "GET", PATH, side=Side())
    assert (got.status, got.headers[b"cache-control"]) == (200, b"no-store")
    posted = await operated.post(b'{"action": "status"}')
    assert got.json == posted.json
    assert [row["tier_id"] for row in got.json["tiers"]] == [TIER]


@pytest.mark.parametrize("query", [b"tier_id=canary", b"tier_id=primary&member_id=canary", b"a=1"])
async def test_a_status_of_nothing_is_refused(query, operated, autojump_clock):
    """Unknown tiers, members and parameters are a 400 in fixed words."""
    answer = await request(operated.app, "GET", PATH, query=query, side=Side())
    assert (answer.status, answer.code) == (400, "invalid_transition")
    assert b"canary" not in answer.body


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ((b"content-length", b"0"), 200),
        ((b"content-length", b"2"), 400),
        ((b"transfer-encoding", b"chunked"), 400),
    ],
)
async def test_a_get_takes_no_body(header, status, operated, autojump_clock):
    """A declared one is a 400."""
    answer = await request(operated.app, "GET", PATH, headers=[BEARER, header], side=Side())
    assert answer.status == status


async def test_a_body_is_bounded(operated, autojump_clock):
    """16 KiB are more than any order has; more is a 413."""
    fitting = b'{"action": "status"}'
    assert (await operated.post(fitting + b" " * (16_384 - len(fitting)))).status == 200
    answer = await operated.post(b" " * 16_385)
    assert (answer.status, answer.code) == (413, "payload_too_large")


async def test_a_body_that_does_not_come_is_given_up(operated, autojump_clock):
    """A place is held for client_stall_timeout_s and no longer."""

    async def receive():
        await trio.sleep_forever()

    answer = Answer()
    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "headers": [BEARER],
        "extensions": {"anvil.client": Side()},
    }
    began = trio.current_time()
    await operated.app(scope, receive, answer.take)
    assert answer.status == 408
    assert trio.current_time() == pytest.approx(began + 60)
    assert (await operated.house.management.places.inspect()).active == 0


@pytest.mark.parametrize("is_ours", [True, False])
async def test_whoever_leaves_withdraws_its_drain(is_ours, operated, autojump_clock):
    """The drain ends in that step, the tier stays quiesced, and nothing is sent any more."""
    await operated.order("quiesce")
    async with trio.open_nursery() as nursery:
        answer, leave = Answer(), trio.Event()
        side = Side() if is_ours else None
        await _run_for_ever(operated, nursery)
        nursery.start_soon(
            lambda: request(
                operated.app, "POST", PATH, parts=[DRAIN], side=side, leave=leave, answer=answer
            )
        )
        await trio.sleep(1)
        assert (await operated.snapshot()).is_draining
        leave.set()
        if side is not None:
            side.leave()
        await trio.testing.wait_all_tasks_blocked()
        snapshot = await operated.snapshot()
        assert (snapshot.is_draining, snapshot.phase) == (False, "quiesced")
        assert (await operated.house.management.places.inspect()).active == 0
        assert answer.status == 0


async def test_drains_leave_room_for_other_orders(operated, autojump_clock):
    """However many wait for a drain, status and readmission are answered: two at a time wait."""
    await operated.order("quiesce")
    answers = []

    async def drain():
        answers.append((await operated.order("drain", timeout=30)).status)

    async with trio.open_nursery() as nursery:
        await _run_for_ever(operated, nursery)
        for _ in range(4):
            nursery.start_soon(drain)
        await trio.sleep(1)
        assert answers == [503, 503]
        assert len(await operated.rows()) == 1
        assert (await operated.order("readmit")).status == 200
        await trio.sleep(1)
        assert sorted(answers) == [400, 400, 503, 503]
        nursery.cancel_scope.cancel()


async def _run_for_ever(operated: Operated, nursery: trio.Nursery) -> None:
    """A lease that outlasts the test's patience."""
    handle = operated.house.tiers[TIER]
    handle.set_quiesced(False)
    got = await handle.acquire(LEGACY_CLIENT)
    assert isinstance(got, Lease)
    handle.set_quiesced(True)

    async def hold() -> None:
        with got:
            await trio.sleep(100)

    nursery.start_soon(hold)


async def test_whoever_left_before_is_not_served(operated, autojump_clock):
    """A connection that is lost already changes nothing."""
    body = json.dumps({
        "action": "quiesce",
        "tier_id": TIER,
        "confirm": True,
        "dry_run": False,
    }).encode()
    answer = await operated.post(body, Side(gone=True))
    assert answer.status == 0
    assert (await operated.snapshot()).phase == "admitting"
