"""`/v1/responses` on a real socket: the WebSocket handshake that is told to post, and a stream."""

import json

import pytest

from tests.support.grammars import check_responses
from tests.support.running_router import TOKEN, open_engines, open_router, raw_client

pytestmark = pytest.mark.wire
AUTH = f"authorization: Bearer {TOKEN}\r\n"
HANDSHAKE = (
    "GET /v1/responses HTTP/1.1\r\nhost: r\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"
    "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    f"openai-beta: responses_websockets=2026-02-06\r\n{AUTH}\r\n"
)


async def test_a_handshake_is_answered_426_at_once(tmp_path):
    """As Codex sends it; whatever else asks for a WebSocket there, and a stranger's 401."""
    loose = HANDSHAKE.replace("connection: Upgrade\r\n", "")
    stranger = HANDSHAKE.replace(AUTH, "")
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        for handshake, status in ((HANDSHAKE, b"426"), (loose, b"426"), (stranger, b"401")):
            async with raw_client(router) as client:
                await client.stream.send_all(handshake.encode())
                said = await client.read_until(b'"code"')
            assert said.startswith(b"HTTP/1.1 " + status)
            assert (b"allow: POST" in said) == (status == b"426")
        async with raw_client(router) as client:
            await client.stream.send_all(loose.replace("upgrade: websocket\r\n", "").encode())
            assert (await client.read_until(b'"code"')).startswith(b"HTTP/1.1 405")
        assert router.records() == []


async def test_a_stream_arrives_whole(tmp_path):
    """Events, no `[DONE]`, and a record like any other."""
    body = json.dumps({"model": "chat", "input": "hi", "stream": True}).encode()
    head = (
        f"POST /v1/responses HTTP/1.1\r\nhost: r\r\n{AUTH}content-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    async with open_engines("direct") as urls, open_router(tmp_path, urls) as router:
        async with raw_client(router) as client:
            await client.stream.send_all(head.encode() + body)
            said = await client.read_until(b"\r\n0\r\n\r\n")
        await router.wait_for_rest()
        [record] = router.records()
    assert record["workload_outcome"] == "success"
    chunks = said.partition(b"\r\n\r\n")[2].split(b"\r\n")
    out = check_responses(b"".join(chunks[1::2]))
    assert out.response["status"] == "completed"
    assert out.output[0]["content"][0]["text"]
