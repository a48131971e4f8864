"""R012 for the media surfaces: what a caller says of a job, and where it is kept, shows nowhere."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trio

from anvil_trio.operations.service import OperationService
from tests.operations.stage import Scripted, open_service
from tests.redaction.planted import CANARY, OPERATOR
from tests.redaction.stage import LOUD_HEADERS, Planted, answer_leaks, bearer, open_planted
from tests.support.asgi import Answer, Side, request
from tests.support.media_house import META

PRINCIPAL = "kanarie-principal"
VALID = {
    "workflowId": "picture.discs",
    "version": "1",
    "parameters": {"prompt": "kanarie"},
    "idempotencyKey": "kanarie",
}
HOSTILE: list[object] = ["kanarie", ["kanarie"], {"kanarie": "kanarie"}, 1.5, None, ""]
TOOLS = [
    "media_capabilities",
    "media_workflow_list",
    "media_workflow_show",
    "media_workflow_validate",
    "media_workflow_run",
    "media_job_status",
    "media_job_cancel",
    "media_artifact_inspect",
    "kanarie",
]
METHODS = [
    "SendMessage",
    "SendStreamingMessage",
    "SubscribeToTask",
    "GetTask",
    "CancelTask",
    "kanarie",
]


@asynccontextmanager
async def open_planted_media(tmp_path) -> AsyncIterator[tuple[Planted, Scripted]]:
    """A planted router with a real service, whose database lies in a folder with a canary."""
    backend = Scripted(name="demo")
    folder = tmp_path / "kanarie-media"
    folder.mkdir()
    async with open_service(folder, backend, principal=PRINCIPAL) as service:
        assert isinstance(service, OperationService)
        async with open_planted(tmp_path) as planted:
            planted.house.operations = service
            generation = planted.app.current()
            server = generation.config.server.model_copy(
                update={
                    "media_principal": PRINCIPAL,
                    "media_scopes": ("media:read", "media:submit", "media:cancel"),
                    "media_public_origin": "https://media.test",
                }
            )
            with_media = replace(
                generation, config=generation.config.model_copy(update={"server": server})
            )
            planted.house.meters.cover(with_media.config)
            planted.app = replace(planted.app, current=lambda: with_media)
            yield planted, backend


async def ask(planted: Planted, path: str, document: object) -> Answer:
    """One request with loud headers."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    headers = [bearer(OPERATOR), (b"a2a-version", b"1.0"), *LOUD_HEADERS]
    with trio.move_on_after(30):
        return await request(planted.app, "POST", path, headers=headers, parts=[body], side=Side())
    raise AssertionError("not answered")


async def get(planted: Planted, path: str, **said: bytes) -> Answer:
    """One page or artifact."""
    headers = [bearer(OPERATOR), *((k.encode(), v) for k, v in said.items()), *LOUD_HEADERS]
    return await request(planted.app, "GET", path, headers=headers, side=Side())


def tool(name: object, arguments: object) -> dict[str, object]:
    """A call of a tool."""
    params = {"_meta": META, "name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def method(name: str, params: object) -> dict[str, object]:
    """A call of A2A."""
    return {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}


def hostile_arguments() -> Iterator[object]:
    """What is nearly right, and what is not at all."""
    yield {}
    yield VALID
    yield from HOSTILE
    for key in ("workflowId", "version", "parameters", "idempotencyKey", "qualityProfile"):
        for value in HOSTILE:
            yield {**VALID, key: value}
    for parameters in ({"kanarie": 1}, {"prompt": 5}, {"prompt": "kanarie", "steps": "kanarie"}):
        yield {**VALID, "parameters": parameters}
    for key in ("jobId", "artifactId", "kanarie"):
        yield {key: "kanarie"}


@pytest.mark.parametrize("name", TOOLS)
async def test_what_a_tool_is_told_is_not_repeated(name, tmp_path, autojump_clock):
    """R012: no argument shows in an answer, a record, an event line, a metric or on a page."""
    async with open_planted_media(tmp_path) as (planted, _backend):
        found = []
        for arguments in hostile_arguments():
            found += answer_leaks(str(arguments), await ask(planted, "/mcp", tool(name, arguments)))
        assert not found + await planted.leaks()


@pytest.mark.parametrize("name", METHODS)
async def test_what_a_task_is_told_is_not_repeated(name, tmp_path, autojump_clock):
    """R012: no part of a message shows anywhere."""
    async with open_planted_media(tmp_path) as (planted, backend):
        backend.finish()
        found = []
        for data in hostile_arguments():
            message = {"role": "ROLE_USER", "parts": [{"data": data}], "messageId": "kanarie"}
            for params in ({"message": message}, {"id": "kanarie"}, {"message": data}, data):
                answer = await ask(planted, "/a2a", method(name, params))
                found += answer_leaks(str(params), answer)
        assert not found + await planted.leaks()


@pytest.mark.parametrize(
    "body",
    [
        b"kanarie",
        b'{"kanarie": 1, "kanarie": 2}',
        b'{"jsonrpc": "kanarie", "id": 1, "method": "kanarie"}',
        b'{"jsonrpc": "2.0", "id": {"kanarie": 1}, "method": "kanarie"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "kanarie", "params": ["kanarie"]}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}',
        json.dumps({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": "kanarie", "clientInfo": {"name": "kanarie"}},
        }).encode(),
        b"kanarie" * 10_000,
    ],
)
async def test_a_broken_message_is_not_repeated(body, tmp_path, autojump_clock):
    """R012: neither its text nor what a parser says of it."""
    async with open_planted_media(tmp_path) as (planted, _backend):
        found = []
        for path in ("/mcp", "/a2a"):
            found += answer_leaks(path, await ask(planted, path, body))
        assert not found + await planted.leaks()


async def test_an_artifact_says_nothing_of_where_it_is_kept(tmp_path, autojump_clock):
    """R012: neither its bytes' head, its job, nor a refusal shows a path, the words or the key."""
    async with open_planted_media(tmp_path) as (planted, backend):
        backend.finish()
        answer = await ask(planted, "/mcp", tool("media_workflow_run", VALID))
        job_id = answer.json["result"]["structuredContent"]["jobId"]
        await trio.sleep(10)
        answer = await ask(planted, "/mcp", tool("media_job_status", {"jobId": job_id}))
        job = answer.json["result"]["structuredContent"]
        assert job["state"] == "completed"
        path = job["artifacts"][0]["url"].removeprefix("https://media.test")
        found = answer_leaks("job", answer)
        for said in ({}, {"range": b"bytes=0-3"}, {"range": b"kanarie"}, {"accept": b"kanarie"}):
            found += answer_leaks(str(said), await get(planted, path, **said))
        for bad in ("kanarie", "art_kanarie" + "0" * 25, "..%2fkanarie", "kanarie/kanarie"):
            found += answer_leaks(bad, await get(planted, f"/artifacts/{bad}"))
        for name in ("/.well-known/agent-card.json", "/openapi.json", "/metrics"):
            found += answer_leaks(name, await get(planted, name))
        for file in (tmp_path / "kanarie-media" / "artifacts").rglob("art_*"):
            file.unlink()
        lost = await get(planted, path)
        assert lost.status == 404
        assert not found + answer_leaks("lost", lost) + await planted.leaks()


async def test_a_failing_service_says_nothing(tmp_path, autojump_clock):
    """R012: a bug of the service is an internal error, whatever its exception says."""
    async with open_planted_media(tmp_path) as (planted, _backend):

        async def fail(*_asked: object) -> None:
            raise RuntimeError(CANARY)

        for name in ("submit", "operation", "cancel", "artifact"):
            setattr(planted.house.operations, name, fail)
        found = []
        for document in (
            tool("media_workflow_run", VALID),
            tool("media_job_status", {"jobId": "x"}),
        ):
            answer = await ask(planted, "/mcp", document)
            assert answer.status == 500
            found += answer_leaks("mcp", answer)
        answer = await ask(planted, "/a2a", method("CancelTask", {"id": "x"}))
        assert answer.status == 500
        answer_of_artifact = await get(planted, "/artifacts/art_" + "0" * 32)
        assert answer_of_artifact.status == 500
        found += answer_leaks("a2a", answer) + answer_leaks("artifact", answer_of_artifact)
        assert not found + await planted.leaks()


async def test_the_plant_is_real(tmp_path, autojump_clock):
    """The canaries reach the backend and the disk."""
    async with open_planted_media(tmp_path) as (planted, backend):
        await ask(planted, "/mcp", tool("media_workflow_run", VALID))
        await trio.sleep(5)
        [job] = backend.jobs.values()
        assert job.values["prompt"] == CANARY
