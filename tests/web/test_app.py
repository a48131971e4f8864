"""The application called directly: framing, identity, routes, views."""

import pytest
import trio

from anvil_trio.config.model import ServerSettings
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator
from tests.support.asgi import BEARER, TOKEN, Answer, Side, request
from tests.support.chunks import DONE, ROLE, good_reply, good_stream, seen_text, stream, text
from tests.support.fake_upstream import Fault
from tests.support.small_house import (
    SmallHouse,
    chat_body,
    config_of,
    direct_tier,
    open_small_house,
)

CHAT = "/v1/chat/completions"


def app_of(small: SmallHouse, token: str | None = TOKEN) -> App:
    """The application over a small house."""
    return App(small.house, lambda: small.generation, Authenticator(token))


@pytest.fixture
async def small():
    """A house of two ready replicas."""
    async with open_small_house() as small:
        yield small


async def test_liveness_is_open_and_says_draining(small, autojump_clock):
    """Decisions 25, 45: 200 ok without a key, 503 draining from the moment of a stop."""
    answer = await request(app_of(small), "GET", "/healthz", headers=[])
    assert (answer.status, answer.json) == (200, {"status": "ok"})
    small.house.is_draining = True
    answer = await request(app_of(small), "GET", "/healthz/", headers=[])
    assert (answer.status, answer.json) == (503, {"status": "draining"})


@pytest.mark.parametrize("path", ["/v1/models", CHAT, "/nowhere", "/health", "/v1/v1/models"])
async def test_a_stranger_learns_no_path(path, small, autojump_clock):
    """Without a key every path but `/` and liveness is the same 401, before routing."""
    answer = await request(app_of(small), "GET", path, headers=[])
    assert (answer.status, answer.code) == (401, "authentication_error")
    assert answer.headers[b"www-authenticate"] == b"Bearer"
    assert small.records == []


async def test_a_wrong_key_reads_no_body(small, autojump_clock):
    """A 401 comes before the body is read and takes no place."""
    answer = await request(app_of(small), "POST", CHAT, headers=[(b"x-api-key", b"no")], parts=[])
    assert answer.status == 401


@pytest.mark.parametrize("path", ["/nowhere", "/v1/route"])
async def test_an_unknown_path_is_a_404(path, small, autojump_clock):
    """There is nothing but the table."""
    answer = await request(app_of(small), "GET", path)
    assert (answer.status, answer.code) == (404, "not_found")


async def test_a_wrong_method_is_a_405_that_names_the_right_ones(small, autojump_clock):
    """GET on a POST route says what to do instead."""
    answer = await request(app_of(small), "GET", CHAT)
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert answer.headers[b"allow"] == b"POST"
    assert answer.json["error"]["message"] == "This path takes POST."


async def test_conflicting_framing_is_refused_before_the_body(small, autojump_clock):
    """Decisions 19, 53: both Content-Length and Transfer-Encoding: 400 and close."""
    headers = [BEARER, (b"content-length", b"5"), (b"transfer-encoding", b"chunked")]
    answer = await request(app_of(small), "POST", CHAT, headers=headers, parts=[])
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert answer.headers[b"connection"] == b"close"
    assert sum(engine.attempts for engine in small.engines.values()) == 0


async def test_the_models_page_lists_aliases(small, autojump_clock):
    """R001, R012: one entry per alias, with its replica members."""
    answer = await request(app_of(small), "GET", "/v1/models")
    assert answer.headers[b"cache-control"] == b"no-store"
    [entry] = answer.json["data"]
    assert entry["id"] == "llm.primary"
    assert [member["id"] for member in entry["members"]] == ["a", "b"]


async def test_a_query_names_one_model(small, autojump_clock):
    """Decision 27: `model` filters, an unknown one is a 404, anything else a 400."""
    app = app_of(small)
    assert (await request(app, "GET", "/v1/models", query=b"model=llm.primary")).status == 200
    assert (await request(app, "GET", "/v1/models", query=b"model=x")).status == 404
    assert (await request(app, "GET", "/v1/models/capacity", query=b"model=x")).status == 404
    assert (await request(app, "GET", "/v1/models/capacity", query=b"y=1")).status == 400
    assert (await request(app, "GET", "/v1/router/status", query=b"y=1")).status == 400


async def test_status_and_capacity_count_what_runs(small, autojump_clock):
    """R011: the counters of a running request are seen, and gone after it."""
    small.engine("a").chat = [good_stream("x", gap_s=5.0)]
    app = app_of(small)
    async with trio.open_nursery() as nursery:
        body = [chat_body(stream=True)]
        nursery.start_soon(lambda: request(app, "POST", CHAT, parts=body, side=Side()))
        await trio.sleep(1)
        status = await request(app, "GET", "/v1/router/status")
        capacity = await request(app, "GET", "/v1/models/capacity")
    [tier] = status.json["tiers"]
    assert (tier["active_requests"], tier["waiting_requests"]) == (1, 0)
    [row] = capacity.json["data"]
    assert row["admission"]["member_active_requests"] == {"a": 1, "b": 0}
    after = await request(app, "GET", "/v1/router/status")
    assert after.json["tiers"][0]["active_requests"] == 0


async def test_a_unary_chat_through_the_application(small, autojump_clock):
    """A whole chat: status, ids, body."""
    small.engine("a").chat = [good_reply("Hi")]
    headers = [BEARER, (b"x-request-id", b"mine-1"), (b"x-session-affinity", b"s-1")]
    answer = await request(
        app_of(small), "POST", CHAT, headers=headers, parts=[chat_body()], side=Side()
    )
    assert answer.status == 200
    assert answer.json["choices"][0]["message"]["content"] == "Hi"
    assert answer.headers[b"x-request-id"] == b"mine-1"
    record = small.records[0]
    assert answer.headers[b"x-anvil-request-id"] == record.gateway_request_id.encode()
    assert (record.request_id, record.session_id) == ("mine-1", "s-1")
    assert record.request_bytes == len(chat_body())
    assert record.response_bytes == len(answer.body)


async def test_unsafe_ids_are_ignored(small, autojump_clock):
    """Decision 28: an id that is no safe token is neither kept nor echoed."""
    small.engine("a").chat = [good_reply()]
    headers = [BEARER, (b"request-id", b"a b"), (b"x-anvil-session-id", b"x" * 200)]
    answer = await request(
        app_of(small), "POST", CHAT, headers=headers, parts=[chat_body()], side=Side()
    )
    assert answer.headers[b"x-request-id"] == answer.headers[b"x-anvil-request-id"]
    assert (small.records[0].request_id, small.records[0].session_id) == (None, None)


async def test_ids_come_with_every_inference_error(small, autojump_clock):
    """X-Anvil-Request-Id is on refusals, too."""
    answer = await request(app_of(small), "POST", CHAT, parts=[b"{"], side=Side())
    assert answer.status == 400
    assert answer.headers[b"x-anvil-request-id"].startswith(b"req_")


async def test_a_body_in_parts_is_joined(small, autojump_clock):
    """A chunked body arrives whole."""
    small.engine("a").chat = [good_reply()]
    body = chat_body()
    parts = [body[:5], b"", body[5:9], body[9:]]
    answer = await request(app_of(small), "POST", CHAT, parts=parts, side=Side())
    assert answer.status == 200


async def test_a_body_past_the_cap_is_a_413(autojump_clock):
    """Decisions 19, 36: counted while reading; nothing is kept beyond the cap."""
    config = config_of(server=ServerSettings(max_body_bytes=1024))
    async with open_small_house(config) as small:
        parts = [b"x" * 600, b"x" * 600, b"x" * 10**6]
        answer = await request(app_of(small), "POST", CHAT, parts=parts, side=Side())
        assert (answer.status, answer.code) == (413, "payload_too_large")
        await small.assert_at_rest()


@pytest.mark.parametrize(("padding", "status"), [(0, 200), (1024, 413)])
async def test_a_body_that_has_come_already_is_not_waited_for(padding, status, autojump_clock):
    """`AsgiCaller.read_body`: what our server holds whole is taken as it is, the cap included."""
    config = config_of(server=ServerSettings(max_body_bytes=1024))
    async with open_small_house(config) as small:
        small.engine("a").chat = [good_reply()]
        side = Side(body=chat_body() + b" " * padding)
        answer = await request(app_of(small), "POST", CHAT, parts=[], side=side)
        assert answer.status == status
        await small.assert_at_rest()


async def test_a_body_that_is_said_to_be_past_the_cap_is_a_413_at_once(autojump_clock):
    """A client that announces too much is not asked for any of it (`100 Continue` least of all)."""
    config = config_of(server=ServerSettings(max_body_bytes=1024))
    async with open_small_house(config) as small:
        answer = Answer()
        scope: dict[str, object] = {
            "type": "http",
            "method": "POST",
            "path": CHAT,
            "headers": [BEARER, (b"content-length", b"1025")],
            "extensions": {"anvil.client": Side()},
        }
        await app_of(small)(scope, trio.sleep_forever, answer.take)
        assert (answer.status, answer.code) == (413, "payload_too_large")
        await small.assert_at_rest()


async def test_a_body_that_never_ends_is_a_408(small, autojump_clock):
    """A half-sent body is given client_stall_timeout_s, and holds no lease meanwhile."""
    messages = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive():
        while not messages:
            await trio.sleep_forever()
        return messages.pop()

    answer = Answer()
    scope: dict[str, object] = {
        "type": "http",
        "method": "POST",
        "path": CHAT,
        "headers": [BEARER],
        "extensions": {"anvil.client": Side()},
    }
    await app_of(small)(scope, receive, answer.take)
    assert trio.current_time() == 60
    assert (answer.status, answer.code) == (408, "body_timeout")
    await small.assert_at_rest()


async def test_a_dripping_body_is_bounded_in_all(autojump_clock):
    """A byte now and then does not keep a place for ever: total_timeout_s bounds the body."""
    config = config_of(server=ServerSettings(total_timeout_s=100))
    async with open_small_house(config) as small:

        async def receive():
            await trio.sleep(7)
            return {"type": "http.request", "body": b" ", "more_body": True}

        answer = Answer()

        scope: dict[str, object] = {
            "type": "http",
            "method": "POST",
            "path": CHAT,
            "headers": [BEARER],
            "extensions": {"anvil.client": Side()},
        }
        await app_of(small)(scope, receive, answer.take)
        assert trio.current_time() == 100
        assert answer.status == 408


async def test_our_server_tells_of_leaving_in_the_same_step(small, autojump_clock):
    """Decision 39: `on_gone` closes the engine's stream without any task that watches."""
    small.engine("a").chat = [stream(ROLE, Fault.STALL)]
    side = Side()
    async with trio.open_nursery() as nursery:
        body = [chat_body(stream=True)]
        nursery.start_soon(lambda: request(app_of(small), "POST", CHAT, parts=body, side=side))
        await trio.sleep(1)
        side.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert small.engine("a").closed == 1
    assert small.records[0].workload_outcome == "disconnected"


async def test_a_client_that_had_already_gone(small, autojump_clock):
    """A connection that was lost before the exchange began is seen at once."""
    await request(app_of(small), "POST", CHAT, parts=[chat_body()], side=Side(gone=True))
    assert small.records[0].workload_outcome == "disconnected"
    assert small.engine("a").attempts == 0


@pytest.mark.parametrize("is_early", [True, False])
async def test_under_another_server_a_watcher_stands_in(is_early, small, autojump_clock):
    """Decision 39: without our extension a task awaiting `receive()` sees the client leave."""
    small.engine("a").chat = [stream(ROLE, text("x"), Fault.STALL)]
    leave = trio.Event()
    async with trio.open_nursery() as nursery:
        parts = [chat_body(stream=True)] if not is_early else []
        nursery.start_soon(lambda: request(app_of(small), "POST", CHAT, parts=parts, leave=leave))
        await trio.sleep(1)
        leave.set()
        await trio.testing.wait_all_tasks_blocked()
        assert small.records[0].workload_outcome == "disconnected"
    await small.assert_at_rest()


async def test_a_whole_stream_under_another_server(small, autojump_clock):
    """The main job works without our own server's extension."""
    small.engine("a").chat = [good_stream("Hel", "lo")]
    answer = await request(app_of(small), "POST", CHAT, parts=[chat_body(stream=True)])
    assert seen_text(answer.body) == "Hello"
    assert answer.body.endswith(DONE)
    assert answer.is_over
    await small.assert_at_rest()


async def test_websockets_are_refused(small, autojump_clock):
    """Where nothing is, no WebSocket is either."""
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message["type"])

    await app_of(small)({"type": "websocket", "path": "/v1/nowhere"}, receive, send)
    assert sent == ["websocket.close"]


async def test_lifespan_is_answered(small, autojump_clock):
    """The application says yes to startup and shutdown; the house is its maker's."""
    kinds = ["lifespan.startup", "lifespan.shutdown"]
    sent = []

    async def receive():
        return {"type": kinds.pop(0)}

    async def send(message):
        sent.append(message["type"])

    await app_of(small)({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_a_direct_tier_shows_no_member(autojump_clock):
    """Decision 3: a direct tier's pages and records have no member fields."""
    async with open_small_house(config_of(direct_tier())) as small:
        small.engine().chat = [good_reply()]
        app = app_of(small)
        assert (await request(app, "POST", CHAT, parts=[chat_body()], side=Side())).status == 200
        [entry] = (await request(app, "GET", "/v1/models")).json["data"]
        assert "members" not in entry
        [row] = (await request(app, "GET", "/v1/models/capacity")).json["data"]
        assert "member_active_requests" not in row["admission"]
        record = small.records[0]
        assert (record.replica_member_id, record.replica_selection) == (None, None)
