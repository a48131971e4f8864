"""The MCP library's own client against a running router: a whole job, also across a kill."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
import trio
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.support.media_router import free_port, open_media_router
from tests.support.running_router import TOKEN, RunningRouter, open_engines

pytestmark = pytest.mark.wire

RUN = {"workflowId": "picture", "version": "1", "idempotencyKey": "wire-1"}
PNG = b"\x89PNG\r\n\x1a\n"
CREDENTIAL = {"authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def open_client(router: RunningRouter, mode: str) -> AsyncIterator[Client]:
    """The library's client, which speaks over streamable HTTP."""
    async with httpx2.AsyncClient(headers=CREDENTIAL, trust_env=False) as http:
        transport = streamable_http_client(f"{router.base_url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def call(client: Client, name: str, **arguments: object) -> dict[str, Any]:
    """One tool that does what it is asked; the client itself checks the answer's schema."""
    result = await client.call_tool(name, dict(arguments))
    assert not result.is_error, result.structured_content
    return dict(result.structured_content)


async def until_ended(client: Client, job_id: str) -> dict[str, Any]:
    """The job when it has ended."""
    with trio.fail_after(50):
        while True:
            job = await call(client, "media_job_status", jobId=job_id)
            if job["isTerminal"]:
                return job
            await trio.sleep(0.1)


async def download(url: str, **headers: str) -> httpx.Response:
    """What is at an artifact's URL."""
    async with httpx.AsyncClient(trust_env=False, headers={**CREDENTIAL, **headers}) as http:
        return await http.get(url)


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_a_whole_job(mode, tmp_path):
    """List, show, check, run, ask, cancel another, inspect and download, in each manner."""
    port = free_port()
    async with open_engines("direct") as urls, open_media_router(tmp_path, urls, port) as router:
        async with open_client(router, mode) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            assert len((await client.list_tools()).tools) == 8
            listed = await call(client, "media_workflow_list")
            assert [one["id"] for one in listed["workflows"]] == ["picture"]
            shown = await call(client, "media_workflow_show", workflowId="picture")
            assert [one["name"] for one in shown["parameters"]] == ["prompt", "steps"]
            parameters = {"prompt": "two red discs"}
            checked = await call(client, "media_workflow_validate", **RUN, parameters=parameters)
            assert checked["isValid"]
            job = await call(client, "media_workflow_run", **RUN, parameters=parameters)
            again = await call(client, "media_workflow_run", **RUN, parameters=parameters)
            assert again["jobId"] == job["jobId"]
            ended = await until_ended(client, job["jobId"])
            assert ended["state"] == "completed"
            [artifact] = ended["artifacts"]
            inspected = await call(
                client, "media_artifact_inspect", artifactId=artifact["artifactId"]
            )
            assert inspected == artifact
            long = {**RUN, "idempotencyKey": "long"}
            other = await call(
                client, "media_workflow_run", **long, parameters={"prompt": "x", "steps": 2000}
            )
            canceled = await call(client, "media_job_cancel", jobId=other["jobId"])
            assert canceled["state"] == "canceled"
            refused = await client.call_tool("media_job_cancel", {"jobId": other["jobId"]})
            assert refused.is_error
            with pytest.raises(MCPError) as failure:
                await client.call_tool("other", {})
            assert failure.value.error.code == -32602
        reply = await download(artifact["url"])
        assert (reply.status_code, reply.headers["content-type"]) == (200, "image/png")
        assert reply.content.startswith(PNG)
        assert len(reply.content) == artifact["size"]
        part = await download(artifact["url"], range="bytes=1-3")
        assert (part.status_code, part.content) == (206, b"PNG")


async def test_a_job_outlives_a_kill(tmp_path):
    """The router is killed while the job runs: the next one goes on, and the client with it."""
    port = free_port()
    async with open_engines("direct") as urls:
        async with open_media_router(tmp_path, urls, port) as router:
            async with open_client(router, "auto") as client:
                parameters = {"prompt": "a green disc", "steps": 120}
                job = await call(client, "media_workflow_run", **RUN, parameters=parameters)
                await trio.sleep(0.5)
                found = await call(client, "media_job_status", jobId=job["jobId"])
                assert not found["isTerminal"]
            router.process.send_signal(signal.SIGKILL)
            await router.process.wait()
        async with open_media_router(tmp_path, urls, port) as router:
            async with open_client(router, "auto") as client:
                again = await call(client, "media_workflow_run", **RUN, parameters=parameters)
                assert again["jobId"] == job["jobId"]
                ended = await until_ended(client, job["jobId"])
                assert ended["state"] == "completed"
            reply = await download(ended["artifacts"][0]["url"])
            assert reply.content.startswith(PNG)
