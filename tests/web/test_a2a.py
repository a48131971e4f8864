"""`/a2a` and its streams through the whole application, in virtual time."""

from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from anvil_trio.operations.model import Refusal, RefusalCode, State
from tests.support.asgi import Answer, Side
from tests.support.fake_operations import PRINCIPAL, submission
from tests.support.media_house import (
    ORIGIN,
    a2a_call,
    entered,
    events_of,
    message,
    open_media_house,
    tool_call,
)

LIST = tool_call("media_workflow_list")
STREAM = "text/event-stream"


@pytest.fixture
async def media():
    """A house with a media service of all scopes."""
    async with open_media_house() as media:
        yield media


async def follow(media, document, answer, side=None):
    """Run one stream; it ends with its task, its caller or the router."""
    await media.a2a(document, accept=STREAM, answer=answer, side=side or Side())


async def test_the_card(media, autojump_clock):
    """Authenticated, kept by no cache, and about this origin."""
    answer = await media.get("/.well-known/agent-card.json")
    assert (answer.status, answer.headers[b"cache-control"]) == (200, b"no-store")
    assert answer.json["supportedInterfaces"][0]["url"] == f"{ORIGIN}/a2a"
    assert [one["id"] for one in answer.json["skills"]] == ["paint@1", "paint@2", "film@1"]
    assert (await media.get("/.well-known/agent-card.json", "HEAD")).body == b""


async def test_the_version_header_is_asked_for(media, autojump_clock):
    """Without it the request would be one of 0.3."""
    answer = await media.post("/a2a", a2a_call("GetTask", id="x"))
    assert (answer.status, answer.json["error"]["code"]) == (200, -32009)


async def test_a_message_waits_for_its_task(media, autojump_clock):
    """The answer is the task that has ended, however long it took."""
    answer = Answer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(media.a2a, a2a_call("SendMessage", **message()), answer=answer))
        await trio.testing.wait_all_tasks_blocked()
        [task_id] = media.service.stored
        for state in (State.PREPARING, State.SUBMITTING, State.QUEUED, State.RUNNING):
            await trio.sleep(30)
            media.service.move(task_id, state)
        assert not answer.status
        artifact = media.service.keep(b"png", task_id)
        media.service.move(task_id, State.COMPLETED)
    task = answer.json["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["artifactId"] == artifact.id


async def test_a_message_waits_for_no_human(media, autojump_clock):
    """A task that awaits approval is told as one that needs input."""
    answer = Answer()
    data: dict[str, Any] = {"workflowId": "film", "version": "1", "parameters": {}}
    async with trio.open_nursery() as nursery:
        document = a2a_call("SendMessage", **message(**data))
        nursery.start_soon(partial(media.a2a, document, answer=answer))
        await trio.testing.wait_all_tasks_blocked()
        [task_id] = media.service.stored
        media.service.move(task_id, State.AWAITING_APPROVAL)
    task = answer.json["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert trio.current_time() < 1


async def test_a_message_whose_task_has_ended(media, autojump_clock):
    """Sent again, it is answered at once."""
    await media.a2a(a2a_call("SendMessage", **message({"returnImmediately": True})))
    [task_id] = media.service.stored
    media.service.move(task_id, State.CANCELED)
    answer = await media.a2a(a2a_call("SendMessage", **message()))
    assert answer.json["result"]["task"]["status"]["state"] == "TASK_STATE_CANCELED"


async def test_a_wait_has_its_bound(autojump_clock):
    """Before the request's own deadline the task is told as it stands."""
    async with open_media_house(total_timeout_s=100) as media:
        began_at = trio.current_time()
        answer = await media.a2a(a2a_call("SendMessage", **message()))
        assert 98 <= trio.current_time() - began_at < 100
        assert answer.json["result"]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


async def test_a_wait_that_the_service_does_not_outlive(media, autojump_clock):
    """The task is told as it stands, or why it cannot be."""
    answer = Answer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(media.a2a, a2a_call("SendMessage", **message()), answer=answer))
        await trio.testing.wait_all_tasks_blocked()
        media.service.end()
    assert answer.json["result"]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


async def test_a_submission_that_is_refused_is_not_waited_for(media, autojump_clock):
    """In either manner of asking it is one plain error."""
    for method in ("SendMessage", "SendStreamingMessage"):
        document = a2a_call(method, **message(parameters={}))
        answer = await media.a2a(document, accept=STREAM)
        assert answer.headers[b"content-type"] == b"application/json"
        assert answer.json["error"]["code"] == -32602


async def test_a_task_is_followed_to_its_end(media, autojump_clock):
    """The task, each of its steps, what it made, and the last step; then the stream is over."""
    answer = Answer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow, media, a2a_call("SendStreamingMessage", **message()), answer)
        await trio.testing.wait_all_tasks_blocked()
        [task_id] = media.service.stored
        media.service.move(task_id, State.PREPARING, State.SUBMITTING)
        await trio.testing.wait_all_tasks_blocked()
        media.service.move(task_id, State.QUEUED, State.RUNNING)
        artifact = media.service.keep(b"png", task_id)
        media.service.move(task_id, State.COMPLETED)
    assert answer.is_over
    assert answer.headers[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert answer.headers[b"cache-control"] == b"no-store"
    events = events_of(answer.body)
    assert {one["id"] for one in events} == {"q"}
    results = [one["result"] for one in events]
    assert results[0]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert [one["statusUpdate"]["metadata"]["sequence"] for one in results[1:5]] == [2, 3, 4, 5]
    assert results[5]["artifactUpdate"]["artifact"]["artifactId"] == artifact.id
    assert results[6]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert len(results) == 7
    assert media.small.records[-1].workload_outcome == "success"
    assert await entered(media) == 0
    assert not media.small.house.followers


async def test_a_task_is_followed_from_where_it_is(media, autojump_clock):
    """What was before is in the task, and is not told as a step."""
    task_id = media.service.add(PRINCIPAL, submission()).id
    media.service.move(task_id, State.PREPARING)
    answer = Answer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow, media, a2a_call("SubscribeToTask", id=task_id), answer)
        await trio.testing.wait_all_tasks_blocked()
        media.service.move(task_id, State.FAILED)
    first, last = [one["result"] for one in events_of(answer.body)]
    assert first["task"]["metadata"]["sequence"] == 2
    assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_FAILED"


async def test_a_stream_of_a_task_that_has_ended(media, autojump_clock):
    """A message sent again is told of the task, and there is nothing else to tell."""
    await media.a2a(a2a_call("SendMessage", **message({"returnImmediately": True})))
    [task_id] = media.service.stored
    media.service.move(task_id, State.CANCELED)
    answer = Answer()
    await follow(media, a2a_call("SendStreamingMessage", **message()), answer)
    [only] = events_of(answer.body)
    assert only["result"]["task"]["status"]["state"] == "TASK_STATE_CANCELED"


async def test_heartbeats_come_between_events(media, autojump_clock):
    """A comment of one line end where nothing happens, and no step is lost to it."""
    answer = Answer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow, media, a2a_call("SendStreamingMessage", **message()), answer)
        await trio.sleep(100)
        assert answer.body.count(b": keepalive\n") == 6
        assert b": keepalive\n\n" not in answer.body
        [task_id] = media.service.stored
        media.service.move(task_id, State.PREPARING)
        await trio.sleep(20)
        media.service.move(task_id, State.CANCELED)
    assert answer.body.count(b": keepalive\n") == 7
    assert len(events_of(answer.body)) == 3


async def test_a_task_outlives_the_total_deadline(autojump_clock):
    """A stream goes on as long as its task does."""
    async with open_media_house(total_timeout_s=50) as media:
        answer = Answer()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow, media, a2a_call("SendStreamingMessage", **message()), answer)
            await trio.sleep(10_000)
            [task_id] = media.service.stored
            media.service.move(task_id, State.CANCELED)
        assert "error" not in events_of(answer.body)[-1]


async def test_whoever_leaves_gives_back_the_seat(media, autojump_clock):
    """In the step in which the server learns of it; the task goes on."""
    for method in ("SendMessage", "SendStreamingMessage"):
        side, answer = Side(), Answer()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow, media, a2a_call(method, **message()), answer, side)
            await trio.testing.wait_all_tasks_blocked()
            assert len(media.small.house.followers) == 1
            side.leave()
        assert not media.small.house.followers
        assert await entered(media) == 0
        assert media.small.records[-1].workload_outcome == "disconnected"
    [operation] = media.service.stored.values()
    assert operation.state is State.ACCEPTED


async def test_under_a_server_that_does_not_tell(media, autojump_clock):
    """A watcher stands in."""
    left, answer = trio.Event(), Answer()
    async with trio.open_nursery() as nursery:
        document = a2a_call("SendStreamingMessage", **message())
        work = partial(media.a2a, document, accept=STREAM, answer=answer, side=None, leave=left)
        nursery.start_soon(work)
        await trio.testing.wait_all_tasks_blocked()
        left.set()
    assert not media.small.house.followers


@pytest.mark.parametrize("mark", [b"", b"data: ", b": keepalive"])
async def test_a_caller_that_stops_reading_is_given_up(mark, media, autojump_clock):
    """At the head, the first event or later: after `client_stall_timeout_s` its seat is free."""

    class Stuck(Answer):
        async def take(self, what):
            await super().take(what)
            if mark in self.body:
                await trio.sleep_forever()

    await follow(media, a2a_call("SendStreamingMessage", **message()), Stuck())
    assert media.small.records[-1].workload_outcome == "disconnected"
    assert not media.small.house.followers


async def test_seats_are_few(media, autojump_clock):
    """Eight follow or wait; the next is refused before anything is run, and others are served."""
    answers = [Answer() for _ in range(8)]
    async with trio.open_nursery() as nursery:
        for number, answer in enumerate(answers):
            document = a2a_call("SendStreamingMessage", **message(idempotencyKey=f"k{number}"))
            nursery.start_soon(follow, media, document, answer)
        await trio.testing.wait_all_tasks_blocked()
        for method in ("SendMessage", "SendStreamingMessage"):
            document = a2a_call(method, **message(idempotencyKey="one-more"))
            refused = await media.a2a(document, accept=STREAM)
            assert (refused.status, refused.json["error"]["code"]) == (503, -32010)
            assert (refused.json["id"], refused.headers[b"retry-after"]) == ("q", b"1")
        assert len(media.service.stored) == 8
        assert (await media.mcp(LIST)).status == 200
        for task_id in media.service.stored:
            media.service.move(task_id, State.CANCELED)


async def test_a_stop_sends_everybody_away(media, autojump_clock):
    """Streams say so, a wait is answered as things stand, and nobody new is let in."""
    stream, wait = Answer(), Answer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow, media, a2a_call("SendStreamingMessage", **message()), stream)
        document = a2a_call("SendMessage", **message(idempotencyKey="other"))
        nursery.start_soon(partial(media.a2a, document, answer=wait))
        await trio.testing.wait_all_tasks_blocked()
        media.small.house.drain()
        await trio.testing.wait_all_tasks_blocked()
        assert wait.is_over
        assert stream.is_over
    error = events_of(stream.body)[-1]["error"]
    assert (error["code"], error["data"]) == (-32010, {"code": "shutting_down"})
    assert wait.json["result"]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    answer = await media.a2a(a2a_call("SendStreamingMessage", **message()), accept=STREAM)
    assert (answer.status, answer.json["error"]["data"]["code"]) == (503, "shutting_down")
    assert (await media.mcp(LIST)).status == 200


async def test_a_service_that_ends_before_the_task(media, autojump_clock):
    """The stream says that it is not whole."""
    answer = Answer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow, media, a2a_call("SendStreamingMessage", **message()), answer)
        await trio.testing.wait_all_tasks_blocked()
        media.service.end()
    assert events_of(answer.body)[-1]["error"]["code"] == -32010


async def test_events_that_cannot_be_had(media, autojump_clock):
    """The stream ends with the refusal; a wait with how the task stood, or the refusal."""
    task_id = media.service.add(PRINCIPAL, submission()).id
    refuse = media.service.events
    media.service.events = lambda *_: refuse("somebody", task_id)
    answer = Answer()
    await follow(media, a2a_call("SubscribeToTask", id=task_id), answer)
    assert events_of(answer.body)[-1]["error"]["code"] == -32001
    found = await media.a2a(a2a_call("SendMessage", **message()))
    assert found.json["result"]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


async def test_a_task_whose_end_cannot_be_looked_up(media, autojump_clock):
    """Its end is told all the same, without what it made."""
    answer = Answer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow, media, a2a_call("SendStreamingMessage", **message()), answer)
        await trio.testing.wait_all_tasks_blocked()
        [task_id] = media.service.stored
        media.service.keep(b"png", task_id)
        media.service.refusal = Refusal(RefusalCode.UNAVAILABLE)
        media.service.move(task_id, State.COMPLETED)
    events = events_of(answer.body)
    assert len(events) == 2
    assert events[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
