"""`/mcp`, `/a2a` and the agent card through the whole application, in virtual time."""

import json
from contextlib import ExitStack

import pytest
import trio

from anvil_trio.admission.actor import AdmissionHandle
from anvil_trio.admission.permit import Permit
from anvil_trio.names import LEGACY_CLIENT
from anvil_trio.web.asgi import App
from anvil_trio.web.auth import Authenticator, Principal, Scope
from anvil_trio.web.router import MEDIA_PATHS
from tests.support.asgi import BEARER, TOKEN, Answer, Side, request
from tests.support.chunks import good_reply
from tests.support.fake_operations import PRINCIPAL
from tests.support.media_house import (
    RUN,
    a2a_call,
    entered,
    message,
    open_media_house,
    tool_call,
)
from tests.support.small_house import open_small_house

LIST = tool_call("media_workflow_list")
STREAM = "text/event-stream"
PATHS = [path.replace("{id}", "art_x") for path in sorted(MEDIA_PATHS)]


@pytest.fixture
async def media():
    """A house with a media service of all scopes."""
    async with open_media_house() as media:
        yield media


# who may, and where


async def test_where_there_is_no_service_there_is_nothing(autojump_clock):
    """404 for every path and method, and no hint."""
    async with open_small_house() as small:
        app = App(small.house, lambda: small.generation, Authenticator(TOKEN))
        for path in PATHS:
            for method in ("GET", "POST", "OPTIONS", "PUT", "HEAD"):
                answer = await request(app, method, path, side=Side())
                assert answer.status == 404, path
                assert b"allow" not in answer.headers
        shown = await request(app, "GET", "/openapi.json", side=Side())
        assert not MEDIA_PATHS & shown.json["paths"].keys()


async def test_where_there_is_one_it_is_described(media, autojump_clock):
    """All four paths are in the document."""
    shown = await media.get("/openapi.json")
    assert shown.json["paths"].keys() >= MEDIA_PATHS
    reply = shown.json["paths"]["/a2a"]["post"]["responses"]["200"]["content"]
    assert sorted(reply) == ["application/json", "text/event-stream"]


@pytest.mark.parametrize("path", PATHS)
async def test_only_the_operator_may(path, media, monkeypatch, autojump_clock):
    """A stranger is a 401, and no client's scope stands for it."""
    method = "POST" if path in {"/mcp", "/a2a"} else "GET"
    answer = await request(media.app, method, path, headers=[], side=Side())
    assert (answer.status, answer.code) == (401, "authentication_error")
    everything = frozenset(Scope) - {Scope.OPERATOR}
    who = Principal(LEGACY_CLIENT, everything)
    monkeypatch.setattr(Authenticator, "identify", lambda _self, _headers: who)
    answer = await request(media.app, method, path, side=Side())
    assert (answer.status, answer.code) == (403, "authorization_scope_denied")


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/mcp", b"POST"),
        ("/a2a", b"POST"),
        ("/.well-known/agent-card.json", b"GET, HEAD"),
        ("/artifacts/x", b"GET, HEAD"),
    ],
)
async def test_another_method_is_a_405(path, allow, media, autojump_clock):
    """It names those that there are, and so does OPTIONS; there is no stream by GET."""
    for method in ("DELETE", "PUT", "GET" if path in {"/mcp", "/a2a"} else "POST"):
        answer = await media.get(path, method)
        assert (answer.status, answer.headers[b"allow"]) == (405, allow)
    answer = await media.get(path, "OPTIONS")
    assert (answer.status, answer.headers[b"allow"]) == (204, allow)


async def test_a_slash_more_is_the_same_path(media, autojump_clock):
    """As with every other path."""
    assert (await media.post("/mcp/", LIST)).status == 200


# MCP


async def test_a_tool_is_called(media, autojump_clock):
    """One JSON reply that no cache keeps, with the ids of the request."""
    answer = await media.mcp(LIST)
    assert answer.status == 200
    assert answer.headers[b"content-type"] == b"application/json"
    assert answer.headers[b"cache-control"] == b"no-store"
    assert answer.headers[b"x-anvil-request-id"].startswith(b"req_")
    result = answer.json["result"]
    assert [one["id"] for one in result["structuredContent"]["workflows"]] == [
        "paint",
        "paint",
        "film",
    ]


async def test_headers_reach_the_protocol(media, autojump_clock):
    """The version, the method, the name and the session of MCP."""
    answer = await media.mcp(LIST, said={"mcp-protocol-version": "2025-11-25"})
    assert (answer.status, answer.json["error"]["code"]) == (400, -32020)
    answer = await media.mcp(LIST, said={"mcp-method": "tools/list"})
    assert answer.json["error"]["code"] == -32020
    answer = await media.mcp(LIST, said={"mcp-name": "x"})
    assert answer.json["error"]["code"] == -32020
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert (await media.mcp(ping, said={"mcp-session-id": "x"})).json["result"] == {}
    assert (await media.mcp(ping)).json["error"]["code"] == -32602


async def test_a_handshake_gives_a_session(media, autojump_clock):
    """Where its version needs one; a notification is answered with nothing."""
    params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {}}
    shake = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    answer = await media.mcp(shake)
    assert len(answer.headers[b"mcp-session-id"]) == 32
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = await media.mcp(note)
    assert (answer.status, answer.body) == (202, b"")
    assert answer.headers[b"content-length"] == b"0"
    assert b"content-type" not in answer.headers


async def test_a_job_runs_for_the_configured_principal(media, autojump_clock):
    """Whoever holds the token: the job is the principal's."""
    answer = await media.mcp(tool_call("media_workflow_run", **RUN))
    job = answer.json["result"]["structuredContent"]
    assert media.service.stored[job["jobId"]].principal == PRINCIPAL


async def test_scopes_are_those_of_the_configuration(autojump_clock):
    """A router that may only read runs nothing."""
    async with open_media_house(media_scopes=("media:read",)) as media:
        answer = await media.mcp(tool_call("media_workflow_run", **RUN))
        assert answer.json["result"]["structuredContent"]["code"] == "authorization_scope_denied"
        answer = await media.a2a(a2a_call("SendMessage", **message()))
        assert answer.json["error"]["code"] == -32010
        assert not media.service.submissions


@pytest.mark.parametrize("path", ["/mcp", "/a2a"])
async def test_a_body_has_its_bound(path, media, autojump_clock):
    """64 KiB, and not a byte more, told in JSON-RPC."""
    at_most = json.dumps(LIST).encode().ljust(65_536)
    assert (await media.post(path, at_most)).status == 200
    answer = await media.post(path, at_most + b" ")
    assert (answer.status, answer.json["error"]["code"]) == (413, -32600)
    assert answer.json["error"]["data"] == {"code": "payload_too_large"}
    assert answer.headers[b"cache-control"] == b"no-store"
    assert answer.json["id"] is None


@pytest.mark.parametrize("path", ["/mcp", "/a2a"])
async def test_a_body_that_does_not_come(path, media, autojump_clock):
    """408 after the stall, and the place is free again."""
    answer = Answer()
    arrives = trio.Event()

    async def receive():
        await arrives.wait()
        return {"type": "http.disconnect"}

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "headers": [BEARER],
        "extensions": {"anvil.client": Side()},
    }
    await media.app(scope, receive, answer.take)
    assert (answer.status, answer.json["error"]["code"]) == (408, -32600)
    assert await entered(media) == 0


@pytest.mark.parametrize("path", ["/mcp", "/a2a"])
async def test_a_bug_is_an_internal_error(path, media, autojump_clock):
    """500 in JSON-RPC; what the exception said is nowhere."""
    media.service.is_broken = True
    document = tool_call("media_job_status", jobId="x")
    if path == "/a2a":
        document = a2a_call("GetTask", id="x")
    answer = await media.post(path, document, said={"a2a-version": "1.0"})
    assert (answer.status, answer.json["error"]["code"]) == (500, -32603)
    assert b"kanarie" not in answer.body
    assert await entered(media) == 0


@pytest.mark.parametrize("path", ["/mcp", "/a2a", "/artifacts/art_" + "0" * 32])
async def test_a_service_that_does_not_answer(path, media, autojump_clock):
    """504 after `total_timeout_s`, and the place is free again."""

    async def hang(*_asked):
        await trio.sleep_forever()

    media.service.operation = media.service.artifact = hang
    began_at = trio.current_time()
    if path == "/mcp":
        answer = await media.mcp(tool_call("media_job_status", jobId="x"))
    elif path == "/a2a":
        answer = await media.a2a(a2a_call("GetTask", id="x"))
    else:
        answer = await media.get(path)
    assert answer.status == 504
    assert trio.current_time() - began_at == pytest.approx(900)
    assert b"request_timeout" in answer.body
    assert media.small.records[-1].workload_outcome == "timeout"
    assert await entered(media) == 0


async def test_a_caller_that_does_not_read(media, autojump_clock):
    """It is given up after `client_stall_timeout_s`, when its place is long free."""

    class Stuck(Answer):
        async def take(self, what):
            await super().take(what)
            await trio.sleep_forever()

    await media.mcp(LIST, answer=Stuck())
    assert trio.current_time() == pytest.approx(60)
    assert media.small.records[-1].workload_outcome == "disconnected"


async def test_one_record_each(media, autojump_clock):
    """Served, refused and broken alike, by what was asked for and nothing else."""
    await media.mcp(LIST)
    await media.mcp(b"{")
    await media.a2a(a2a_call("GetTask", id="kanarie"))
    await media.get("/artifacts/kanarie")
    media.service.is_broken = True
    await media.mcp(tool_call("media_job_status", jobId="kanarie"))
    records = media.small.records
    assert [(one.kind, one.route, one.workload_outcome) for one in records] == [
        ("mcp", "mcp", "success"),
        ("mcp", "mcp", "rejected"),
        ("a2a", "a2a", "rejected"),
        ("artifact", "artifact", "rejected"),
        ("mcp", "mcp", "error"),
    ]
    assert all(one.requested_tier is None and one.attempts == () for one in records)
    assert records[0].request_bytes == len(json.dumps(LIST))
    assert records[0].response_bytes > 0
    text = (await media.get("/metrics")).body.decode()
    assert 'anvil_requests_total{alias="mcp"' in text or 'alias="mcp"' in text
    assert "kanarie" not in text


# places


async def place_of(door: AdmissionHandle) -> Permit:
    """One place, to be entered at once."""
    got = await door.enter(LEGACY_CLIENT)
    assert isinstance(got, Permit)
    return got


async def test_chat_and_media_do_not_take_each_others_places(media, autojump_clock):
    """However many requests of the protocols there are, chat goes on, and the other way round."""
    house = media.small.house
    with ExitStack() as places:
        for _ in range(16):
            places.enter_context(await place_of(house.protocols))
        for document in (LIST, b"{"):
            answer = await media.mcp(document)
            assert (answer.status, answer.json["error"]["code"]) == (503, -32010)
            assert answer.json["error"]["data"] == {"code": "server_busy"}
            assert answer.headers[b"retry-after"] == b"1"
        assert (await media.get("/artifacts/art_x")).status == 503
        media.small.engine("a").chat_default = good_reply()
        assert (await media.small.chat()).status == 200
    assert (await media.mcp(LIST)).status == 200
    async with open_media_house(max_concurrency=1) as full:
        with ExitStack() as places:
            places.enter_context(await place_of(full.small.house.admission))
            assert (await full.mcp(LIST)).status == 200
