"""Two clients of an authorization policy against a router process, on real sockets."""

import json
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest
import trio

from anvil_trio.demo.slots import Pace
from tests.support.running_router import (
    TOKEN,
    RawClient,
    RunningRouter,
    eventually,
    open_engines,
    open_router,
    raw_client,
)
from tests.unit.config.policy_text import client, in_file, policy

pytestmark = pytest.mark.wire

CHAT = "/v1/chat/completions"
BODY = {"model": "chat", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
STREAM = {**BODY, "max_tokens": 4000, "stream": True}
SLOW = Pace(tokens_per_second=20.0)
KEYS = {"a": "key-of-a-0123456789", "b": "key-of-b-0123456789", "_legacy": TOKEN}
LIMITS = "client_limits = { a = 2, _legacy = 1 }\n"


def write_policy(folder: Path) -> Path:
    """A policy of two clients, and the file with the credential of one of them."""
    folder = folder.resolve()  # no link may be on their paths
    (folder / "b.key").write_text(f"{KEYS['b']}\n")
    path = folder / "policy.json"
    path.write_bytes(policy(client("a"), in_file(folder / "b.key", "b")))
    return path


@asynccontextmanager
async def router_for_two(folder: Path) -> AsyncIterator[RunningRouter]:
    """A router in which `a` may have two requests and `b` as many as the house takes."""
    path = json.dumps(str(write_policy(folder)))
    settings = f"authorization_policy_path = {path}\n{LIMITS}"
    async with (
        open_engines(pace=SLOW) as urls,
        open_router(folder, urls, settings=settings, A_KEY=KEYS["a"]) as router,
    ):
        yield router


def caller(router: RunningRouter, who: str) -> httpx.AsyncClient:
    """A client that shows the credential of `who`."""
    return httpx.AsyncClient(
        base_url=router.base_url, headers={"x-api-key": KEYS[who]}, trust_env=False, timeout=30
    )


async def begin_stream(running: AsyncExitStack, http: httpx.AsyncClient) -> None:
    """A stream whose first event has come; it goes on until `running` is left."""
    reply = await running.enter_async_context(http.stream("POST", CHAT, json=STREAM))
    assert reply.status_code == 200


async def assert_exhausted(http: httpx.AsyncClient) -> None:
    """One more is a 429 at once."""
    began = trio.current_time()
    reply = await http.post(CHAT, json=BODY)
    assert trio.current_time() - began < 1
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "1")
    assert reply.json()["error"]["code"] == "client_concurrency_exhausted"
    assert "x-anvil-request-id" in reply.headers


async def test_a_client_at_its_limit_is_refused_while_another_works(tmp_path):
    """Two of `a` run, its third is a 429 at once, and `b` and the operator are served."""
    async with router_for_two(tmp_path) as router, AsyncExitStack() as running:
        a = await running.enter_async_context(caller(router, "a"))
        for _ in range(2):
            await begin_stream(running, a)
        await assert_exhausted(a)
        for who in ("b", "_legacy"):
            async with caller(router, who) as other:
                assert (await other.post(CHAT, json=BODY)).status_code == 200
        async with caller(router, "a") as again:  # a connection of its own is no way round
            await assert_exhausted(again)
        assert await router.counts() == (2, 0)


async def test_a_place_is_free_as_soon_as_a_stream_ends(tmp_path):
    """Whoever has read its reply to the end may ask again: ten in a row, none refused."""
    async with router_for_two(tmp_path) as router, caller(router, "_legacy") as http:
        for turn in range(10):
            reply = await http.post(CHAT, json={**BODY, "stream": turn % 2 == 0, "max_tokens": 1})
            assert reply.status_code == 200
        await eventually(lambda: _recorded(router, 10))


async def test_a_place_is_free_for_whoever_has_seen_the_last_event(tmp_path):
    """At `[DONE]` another connection may ask at once, though the first reads on."""
    async with router_for_two(tmp_path) as router, caller(router, "_legacy") as http:
        for _ in range(10):
            async with raw_client(router) as first:
                await first.send_chat(max_tokens=1)
                await first.read_until(b"data: [DONE]")
                reply = await http.post(CHAT, json={**BODY, "max_tokens": 1})
                assert reply.status_code == 200


@pytest.mark.parametrize("is_reset", [False, True], ids=["FIN", "RST"])
async def test_a_place_is_free_when_its_client_vanishes(is_reset, tmp_path):
    """Decision 17: a connection that is closed or reset in mid-stream gives the budget back."""
    async with router_for_two(tmp_path) as router, caller(router, "_legacy") as http:
        async with raw_client(router) as gone:
            await gone.send_chat()
            await gone.read_until(b"data: ")
            await assert_exhausted(http)
            if is_reset:
                gone.stream.socket.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
        left_at = trio.current_time()

        async def is_served() -> bool:
            return (await http.post(CHAT, json={**BODY, "max_tokens": 1})).status_code == 200

        await eventually(is_served)
        assert trio.current_time() - left_at < 1


async def test_the_body_of_a_refused_request_is_not_waited_for(tmp_path):
    """The 429 comes with the head alone; the connection is of no more use and is closed."""
    async with router_for_two(tmp_path) as router, AsyncExitStack() as running:
        http = await running.enter_async_context(caller(router, "_legacy"))
        await begin_stream(running, http)
        raw: RawClient = await running.enter_async_context(raw_client(router))
        head = f"POST {CHAT} HTTP/1.1\r\nhost: r\r\nx-api-key: {TOKEN}\r\n"
        await raw.stream.send_all(f"{head}content-length: 9999\r\n\r\n".encode())
        answer = await raw.read_until(b"client_concurrency_exhausted")
        assert answer.startswith(b"HTTP/1.1 429 ")
        assert b"retry-after: 1\r\n" in answer.lower()


async def test_scopes_hold_on_the_wire(tmp_path):
    """A client may chat and discover, but not see the router; a wrong key is nobody."""
    async with router_for_two(tmp_path) as router, caller(router, "b") as http:
        for path in ("/v1/models", "/v1/models/capacity"):
            assert (await http.get(path)).status_code == 200
        denied = await http.get("/v1/router/status")
        assert (denied.status_code, denied.json()["error"]["code"]) == (
            403,
            "authorization_scope_denied",
        )
        both = {"authorization": f"Bearer {KEYS['a']}"}
        assert (await http.get("/v1/models", headers=both)).status_code == 401
        claim = {"x-client-id": "a", "x-forwarded-user": "_legacy"}
        assert (await http.post(CHAT, json=BODY, headers=claim)).status_code == 200
        await eventually(lambda: _recorded(router, 1))
        assert [record["client_id"] for record in router.records()] == ["b"]
        told = json.dumps(router.records()).encode() + bytes(router.stderr)
        assert not any(key.encode() in told for key in KEYS.values())


async def _recorded(router: RunningRouter, count: int) -> bool:
    return len(router.records()) >= count
