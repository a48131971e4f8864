"""The A2A SDK's own client against a running router: a whole task, also across a kill."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import trio
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientCallContext
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError
from google.protobuf import json_format

from tests.support.media_router import free_port, open_media_router
from tests.support.running_router import TOKEN, RunningRouter, open_engines

pytestmark = pytest.mark.wire

PNG = b"\x89PNG\r\n\x1a\n"
HEADERS = {"authorization": f"Bearer {TOKEN}", "a2a-version": "1.0"}
CALL = ClientCallContext()
DONE = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
}


@asynccontextmanager
async def open_client(router: RunningRouter) -> AsyncIterator[JsonRpcTransport]:
    """The SDK's transport for JSON-RPC, at the address that the agent's card gives."""
    async with httpx.AsyncClient(headers=HEADERS, trust_env=False, timeout=60) as http:
        card = await A2ACardResolver(http, router.base_url).get_agent_card()
        [interface] = card.supported_interfaces
        yield JsonRpcTransport(http, card, interface.url)


def request(key: str, *, at_once: bool = False, steps: int = 2) -> SendMessageRequest:
    """A message that asks for a picture."""
    data = {
        "workflowId": "picture",
        "version": "1",
        "parameters": {"prompt": "two red discs", "steps": steps},
        "idempotencyKey": key,
    }
    document = {
        "message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"data": data}]},
        "configuration": {
            "acceptedOutputModes": ["image/png"],
            "returnImmediately": at_once,
        },
    }
    message = SendMessageRequest()
    json_format.ParseDict(document, message)
    return message


async def until_ended(client: JsonRpcTransport, task_id: str) -> Task:
    """The task when it has ended."""
    with trio.fail_after(50):
        while True:
            task = await client.get_task(GetTaskRequest(id=task_id), context=CALL)
            if task.status.state in DONE:
                return task
            await trio.sleep(0.1)


async def check_picture(task: Task) -> None:
    """What the task has made can be downloaded, and is a picture."""
    [artifact] = task.artifacts
    [part] = artifact.parts
    async with httpx.AsyncClient(headers=HEADERS, trust_env=False) as http:
        reply = await http.get(part.url)
    assert (reply.status_code, reply.headers["content-type"]) == (200, part.media_type)
    assert reply.content.startswith(PNG)


async def test_a_whole_task(tmp_path):
    """The card, a message that waits, one that does not, a stream, a cancel, and no such task."""
    port = free_port()
    async with (
        open_engines("direct") as urls,
        open_media_router(tmp_path, urls, port) as router,
        open_client(router) as client,
    ):
        assert [one.id for one in client.agent_card.skills] == ["picture@1"]
        waited = (await client.send_message(request("a2a-1"), context=CALL)).task
        assert waited.status.state == TaskState.TASK_STATE_COMPLETED
        await check_picture(waited)
        sent = await client.send_message(request("a2a-2", at_once=True), context=CALL)
        assert sent.task.id != waited.id
        assert (await until_ended(client, sent.task.id)).artifacts

        events = [
            event async for event in client.send_message_streaming(request("a2a-3"), context=CALL)
        ]
        kinds = [event.WhichOneof("payload") for event in events]
        assert kinds[0] == "task"
        assert kinds[-2:] == ["artifact_update", "status_update"]
        assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED

        long = (
            await client.send_message(request("long", at_once=True, steps=2000), context=CALL)
        ).task
        canceled = await client.cancel_task(CancelTaskRequest(id=long.id), context=CALL)
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=long.id), context=CALL)
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id="other"), context=CALL)
        body = await follow_and(router, long.id)
        assert b'"code":-32004' in body


async def followed(client: JsonRpcTransport, task_id: str) -> list[StreamResponse]:
    """All that is told of a task to somebody who subscribes to it."""
    request = SubscribeToTaskRequest(id=task_id)
    return [event async for event in client.subscribe(request, context=CALL)]


async def follow_and(
    router: RunningRouter, task_id: str, then: signal.Signals | None = None
) -> bytes:
    """All that is told of a task; when its stream beats first, this happens to the router."""
    document = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task_id}}
    body = b""
    async with (
        httpx.AsyncClient(headers=HEADERS, trust_env=False) as http,
        http.stream("POST", f"{router.base_url}/a2a", json=document) as reply,
    ):
        async for piece in reply.aiter_bytes():
            body += piece
            if then is not None and body.count(b"keepalive") == 1:
                router.process.send_signal(then)
    return body


async def test_a_task_outlives_a_kill(tmp_path):
    """The router is killed while the task is followed: the next one goes on, and it is followed."""
    port = free_port()
    async with open_engines("direct") as urls:
        async with open_media_router(tmp_path, urls, port) as router:
            async with open_client(router) as client:
                sent = await client.send_message(
                    request("kill", at_once=True, steps=120), context=CALL
                )
            with pytest.raises(httpx.RemoteProtocolError):
                await follow_and(router, sent.task.id, signal.SIGKILL)
            await router.process.wait()
        async with open_media_router(tmp_path, urls, port) as router, open_client(router) as client:
            events = await followed(client, sent.task.id)
            assert events[0].task.id == sent.task.id
            assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
            await check_picture(await until_ended(client, sent.task.id))


async def test_a_stop_ends_the_streams_at_once(tmp_path):
    """Whoever follows a task does not keep the router from stopping, and is told why."""
    port = free_port()
    async with open_engines("direct") as urls:
        async with open_media_router(tmp_path, urls, port) as router:
            async with open_client(router) as client:
                sent = await client.send_message(
                    request("stop", at_once=True, steps=2000), context=CALL
                )
            body = await follow_and(router, sent.task.id, signal.SIGTERM)
            assert body.endswith(b'"data":{"code":"shutting_down"}}}\n\n')
            with trio.fail_after(50):
                assert await router.process.wait() == 0
