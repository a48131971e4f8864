"""Hostile bodies on real sockets: an answer in JSON-RPC each, nothing kept, nothing repeated."""

import json
import random

import httpx
import pytest

from tests.redaction.planted import leaks
from tests.support.media_house import META
from tests.support.media_router import free_port, open_media_router
from tests.support.running_router import TOKEN, open_engines

pytestmark = pytest.mark.wire

SEED = 20261130
RUN = {
    "workflowId": "picture",
    "version": "1",
    "parameters": {"prompt": "kanarie"},
    "idempotencyKey": "kanarie",
}
MESSAGE = {"role": "ROLE_USER", "parts": [{"data": RUN}]}
GOOD = [
    ("tools/call", {"_meta": META, "name": "media_workflow_run", "arguments": RUN}),
    ("tools/list", {"_meta": META}),
    ("SendMessage", {"message": MESSAGE, "configuration": {"returnImmediately": True}}),
    ("GetTask", {"id": "kanarie"}),
]


def broken(chance: random.Random) -> bytes:
    """A good body with a few bytes that are not."""
    method, params = chance.choice(GOOD)
    document = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    body = bytearray(json.dumps(document).encode())
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(body))
        match chance.randrange(3):
            case 0:
                body[at] = chance.randrange(256)
            case 1:
                del body[at : at + chance.randrange(20)]
            case _:
                body[at:at] = chance.choice([b"null", b"[[", b'"', b"\xff", b'{"id":1,', b"1e999"])
    return bytes(body)


async def test_hostile_bodies(tmp_path):
    """Hundreds on both paths: never a 500, and neither output nor log shows a word of it."""
    folder = tmp_path / "kanarie"
    folder.mkdir()
    chance = random.Random(SEED)
    headers = {"authorization": f"Bearer {TOKEN}", "a2a-version": "1.0"}
    async with (
        open_engines("direct") as urls,
        open_media_router(folder, urls, free_port()) as router,
        httpx.AsyncClient(base_url=router.base_url, headers=headers, trust_env=False) as http,
    ):
        shown, statuses = b"", set()
        for _ in range(300):
            reply = await http.post(chance.choice(["/mcp", "/a2a"]), content=broken(chance))
            statuses.add(reply.status_code)
            shown += reply.content
            if reply.content:
                assert reply.json()["jsonrpc"] == "2.0"
        assert statuses <= {200, 202, 400, 404}
        assert {200, 400} <= statuses
        for path in ("/metrics", "/v1/decisions", "/v1/stats", "/openapi.json"):
            shown += (await http.get(path)).content
        logged = router.log_path.read_bytes()
        assert len(router.records()) == 300
    assert not leaks("replies", shown) + leaks("log", logged)
    assert not leaks("stderr", bytes(router.stderr))
