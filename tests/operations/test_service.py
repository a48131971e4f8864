"""The service from a submission to an artifact, against a backend that does as it is told."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from anvil_trio.operations.aside import Threads
from anvil_trio.operations.demo_backend import DemoBackend
from anvil_trio.operations.model import (
    Artifact,
    Event,
    Operation,
    Refusal,
    RefusalCode,
    State,
    Workflow,
)
from tests.operations.stage import ME, Scripted, ask, here, open_service, seen, submitted

WHOLE_LIFE = ["accepted", "preparing", "submitting", "queued", "running", "completed"]
NOT_FOUND = Refusal(RefusalCode.OPERATION_NOT_FOUND)


async def test_an_operation_comes_from_acceptance_to_a_kept_picture(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The embedded backend's picture is kept, whole, under an opaque id."""
    async with open_service(tmp_path, DemoBackend(here)) as service:
        operation = await submitted(service)
        assert await seen(service, operation.id) == WHOLE_LIFE
        done = await service.operation(ME, operation.id)
        assert isinstance(done, Operation)
        assert done.state is State.COMPLETED
        assert done.sequence == len(WHOLE_LIFE)
        artifact = await service.artifact(ME, done.artifact_ids[0])
        assert isinstance(artifact, Artifact)
        data = await service.read_artifact(artifact, 0, artifact.size)
        assert isinstance(data, bytes)
        assert data.startswith(b"\x89PNG")
        assert len(data) == artifact.size
        assert await service.read_artifact(artifact, 3, 4) == data[3:7]
        latency = done.latency
        marks = [latency.submitted_s, latency.started_s, latency.ended_s]
        assert None not in marks
        assert marks == sorted(marks)  # type: ignore[type-var]


async def test_real_threads_do_the_same(tmp_path: Path) -> None:
    """Without virtual time: the writer's one thread, and those that read files."""
    backend = Scripted()
    async with open_service(tmp_path, backend, threads=True) as service:
        operation = await submitted(service)
        backend.finish()
        assert (await seen(service, operation.id))[-1] == "completed"


async def test_a_repeated_submission_is_the_same_operation(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Also when it has ended; the backend is handed one job."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        first = await submitted(service)
        assert (await submitted(service)).id == first.id
        backend.finish()
        await seen(service, first.id)
        again = await submitted(service)
        assert again.id == first.id
        assert again.state is State.COMPLETED
    assert len(backend.submissions) == 1


@pytest.mark.parametrize(
    "changes",
    [{"prompt": "another"}, {"quality_profile": "draft"}],
)
async def test_a_key_is_bound_to_what_it_was_first_used_for(
    tmp_path: Path, autojump_clock: MockClock, changes: dict[str, str]
) -> None:
    """Another input under the same key is refused; the first operation goes on."""
    async with open_service(tmp_path, Scripted()) as service:
        await submitted(service)
        found = await service.submit(ME, ask(**changes))
        assert found == Refusal(RefusalCode.IDEMPOTENCY_CONFLICT)


async def test_a_key_is_each_principals_own(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Two principals with one key have two operations, whatever their input."""
    async with open_service(tmp_path, Scripted()) as service:
        first = await submitted(service)
        second = await submitted(service, ask(prompt="another"), principal="other")
        assert first.id != second.id


async def test_a_thousand_submissions_at_once_make_each_operation_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Of 1,000 with 100 keys between them: 100 operations, ten answers for each, 100 jobs."""
    backend, found = Scripted(), dict[str, list[str]]()

    async def submit(number: int) -> None:
        key = f"key-{number % 100}"
        operation = await submitted(service, ask(key, prompt=key))
        found.setdefault(key, []).append(operation.id)

    async with open_service(tmp_path, backend) as service:
        async with trio.open_nursery() as nursery:
            for number in range(1000):
                nursery.start_soon(submit, number)
        await wait_all_tasks_blocked()
        assert len(found) == 100
        assert all(len(ids) == 10 and len(set(ids)) == 1 for ids in found.values())
        assert len({ids[0] for ids in found.values()}) == 100
        backend.finish()
        for ids in found.values():
            assert (await seen(service, ids[0]))[-1] == "completed"
    assert len(backend.submissions) == len(set(backend.submissions)) == 100


async def test_what_is_anothers_is_not_there(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Neither to be looked at, canceled, approved, listened to, nor downloaded."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        backend.finish()
        await seen(service, operation.id)
        done = await service.operation(ME, operation.id)
        assert isinstance(done, Operation)
        assert await service.operation("other", operation.id) == NOT_FOUND
        assert await service.cancel("other", operation.id) == NOT_FOUND
        assert await service.approve("other", operation.id) == NOT_FOUND
        async with service.events("other", operation.id) as feed:
            assert feed == NOT_FOUND
        found = await service.artifact("other", done.artifact_ids[0])
        assert found == Refusal(RefusalCode.ARTIFACT_NOT_FOUND)
        for unknown in ("op_unknown", "op_" + "x" * 32, "", "\ud800", "\0"):
            assert await service.operation(ME, unknown) == NOT_FOUND
            assert await service.cancel(ME, unknown) == NOT_FOUND
            assert await service.artifact(ME, unknown) == found


async def test_events_are_told_as_they_come_and_from_where_one_left_off(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Sequences begin at 1 and have no gap; who comes back hears only what is new."""
    backend, heard = Scripted(), list[Event]()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)

        async def listen() -> None:
            async with service.events(ME, operation.id) as feed:
                assert isinstance(feed, AsyncIterator)
                async for event in feed:
                    heard.append(event)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            await wait_all_tasks_blocked()
            assert [event.state for event in heard] == WHOLE_LIFE[:4]
            backend.run()
            await wait_all_tasks_blocked()
            assert heard[-1].state is State.RUNNING
            backend.finish()
        assert [event.sequence for event in heard] == [1, 2, 3, 4, 5, 6]
        async with service.events(ME, operation.id, after_sequence=4) as feed:
            assert isinstance(feed, AsyncIterator)
            assert [event.sequence async for event in feed] == [5, 6]
        for seen_up_to in (6, 7, 10**30):
            async with service.events(ME, operation.id, after_sequence=seen_up_to) as feed:
                assert isinstance(feed, AsyncIterator)
                assert [event async for event in feed] == []
        async with service.events(ME, operation.id, after_sequence=-1) as feed:
            assert isinstance(feed, AsyncIterator)
            assert len([event async for event in feed]) == 6


async def test_a_cancel_is_final_at_once_and_the_backend_hears_of_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """What has ended in any way is not canceled again."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        canceled = await service.cancel(ME, operation.id)
        assert isinstance(canceled, Operation)
        assert canceled.state is State.CANCELED
        await wait_all_tasks_blocked()
        assert backend.canceled == backend.submissions
        refused = Refusal(RefusalCode.OPERATION_NOT_CANCELABLE)
        assert await service.cancel(ME, operation.id) == refused
        assert await seen(service, operation.id) == [*WHOLE_LIFE[:4], "canceled"]


async def test_what_awaits_approval_goes_on_when_it_is_approved(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Not before, however long; and only once."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        submission = ask(workflow_id="picture.checked", parameters={})
        operation = await submitted(service, submission)
        await trio.sleep(3600)
        waiting = await service.operation(ME, operation.id)
        assert isinstance(waiting, Operation)
        assert waiting.state is State.AWAITING_APPROVAL
        assert not backend.submissions
        approved = await service.approve(ME, operation.id)
        assert isinstance(approved, Operation)
        assert approved.state is State.PREPARING
        refused = Refusal(RefusalCode.OPERATION_NOT_AWAITING_APPROVAL)
        assert await service.approve(ME, operation.id) == refused
        backend.finish()
        assert await seen(service, operation.id) == [
            "accepted",
            "awaiting_approval",
            "preparing",
            "submitting",
            "queued",
            "completed",
        ]


async def test_what_was_made_can_be_worked_on(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The backend gets the bytes; another's artifact, or none, is refused by its parameter."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        backend.finish()
        await seen(service, operation.id)
        done = await service.operation(ME, operation.id)
        assert isinstance(done, Operation)
        (made,) = done.artifact_ids
        submission = ask("k2", parameters={"prompt": "a", "picture": made})
        second = await submitted(service, submission)
        await seen(service, second.id)
        job = backend.jobs[backend.submissions[1]]
        assert job.artifacts["picture"].startswith(b"\x89PNG")
        refused = Refusal(RefusalCode.PARAMETER_INVALID, "picture")
        assert await service.submit("other", submission) == refused
        unknown = ask("k3", parameters={"prompt": "a", "picture": "art_" + "x" * 32})
        assert service.validate(unknown) is None
        assert await service.submit(ME, unknown) == refused


async def test_no_more_than_the_limit_is_under_way(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """One more is refused as busy; one that is known already is answered all the same."""
    backend = Scripted()
    async with open_service(tmp_path, backend, max_active=2) as service:
        first = await submitted(service, ask("a"))
        await submitted(service, ask("b"))
        assert await service.submit(ME, ask("c")) == Refusal(RefusalCode.BUSY)
        assert (await submitted(service, ask("a"))).id == first.id
        await service.cancel(ME, first.id)
        assert isinstance(await service.submit(ME, ask("c")), Operation)


async def test_only_named_workflows_are_run(tmp_path: Path, autojump_clock: MockClock) -> None:
    """By id and version; whoever asks for none gets the last."""
    async with open_service(tmp_path, Scripted()) as service:
        assert [each.id for each in service.workflows()] == ["picture.discs", "picture.checked"]
        found = service.workflow("picture.discs")
        assert isinstance(found, Workflow)
        assert found.version == "1"
        assert service.workflow("picture.discs", "1") == found
        unknown = Refusal(RefusalCode.UNKNOWN_WORKFLOW)
        assert service.workflow("picture.other") == unknown
        assert service.workflow("picture.discs", "2") == Refusal(RefusalCode.UNKNOWN_VERSION)
        assert service.validate(ask(workflow_id="x")) == unknown
        assert await service.submit(ME, ask(workflow_id="x")) == unknown
        shown = service.capabilities()
        assert (shown.backend, shown.workflows, shown.media_types) == (
            "scripted",
            2,
            ("image/png",),
        )


async def test_a_caller_who_leaves_has_changed_all_or_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Canceled before the writer's turn, there is no operation; the key is free."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        with trio.CancelScope() as scope:
            scope.cancel()
            await service.submit(ME, ask())
        assert scope.cancelled_caught
        await wait_all_tasks_blocked()
        assert not backend.submissions
        assert isinstance(await service.submit(ME, ask(prompt="another")), Operation)


async def test_what_is_asked_at_once_shares_a_thread(tmp_path: Path) -> None:
    """One call at a time is what makes the writer the only one."""
    running, most = 0, 0
    aside = Threads(1)

    def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        running -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(aside, work)
    assert most == 1
