"""What becomes of operations whatever the backend, the clock and the disk do."""

import math
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from anvil_trio.operations.backend import Broken, Found, Job, Output, Running
from anvil_trio.operations.driver import Pace
from anvil_trio.operations.model import (
    Artifact,
    FailureCode,
    Operation,
    Refusal,
    RefusalCode,
    State,
)
from anvil_trio.operations.reconciler import SWEEP_S
from anvil_trio.operations.service import OperationService
from tests.operations.stage import ME, REGISTRY, Scripted, ask, open_service, seen, submitted

FOR_EVER = Pace(poll_s=60.0, max_age_s=math.inf)


async def looked_at(service: OperationService, operation: Operation) -> Operation:
    """The operation as it is now."""
    found = await service.operation(ME, operation.id)
    assert isinstance(found, Operation)
    return found


async def failure(service: OperationService, operation: Operation) -> FailureCode | None:
    """Why it failed, in the end."""
    assert (await seen(service, operation.id))[-1] == "failed"
    return (await looked_at(service, operation)).failure_code


async def test_a_backend_that_is_away_is_asked_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """For as long as an operation may last; nothing is lost and nothing handed over twice."""
    backend = Scripted(is_up=False)
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        await trio.sleep(3600)
        assert (await looked_at(service, operation)).state is State.SUBMITTING
        backend.is_up = True
        await trio.sleep(31)
        assert (await looked_at(service, operation)).state is State.QUEUED
        backend.is_up = False
        await trio.sleep(3600)
        backend.is_up = True
        backend.finish()
        assert (await seen(service, operation.id))[-1] == "completed"
    assert len(backend.submissions) == 1


async def test_an_operation_does_not_last_for_ever(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """After a day it has failed, and the backend is told to stop."""
    backend = Scripted()
    async with open_service(tmp_path, backend, pace=Pace(poll_s=600.0)) as service:
        operation = await submitted(service)
        assert await failure(service, operation) is FailureCode.TIMED_OUT
        await wait_all_tasks_blocked()
        assert backend.canceled == backend.submissions
        assert 86_400 < trio.current_time() <= 87_000


async def test_what_the_backend_will_not_take_has_failed(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It is not asked again."""
    backend = Scripted(is_rejecting=True)
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        assert await failure(service, operation) is FailureCode.BACKEND_REJECTED


async def test_what_the_backend_could_not_do_has_failed(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """With the one word that is kept of it."""
    backend = Scripted(found=Broken())
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        assert await failure(service, operation) is FailureCode.BACKEND_FAILED


async def test_a_job_that_the_backend_forgot_is_handed_over_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Three times; a backend that always forgets is given up."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        for number in range(2, 5):
            await trio.sleep(10)
            backend.jobs.clear()
            await trio.sleep(10)
            assert len(backend.submissions) == number
        backend.jobs.clear()
        assert await failure(service, operation) is FailureCode.BACKEND_LOST
    assert len(backend.submissions) == 4
    assert len(set(backend.submissions)) == 1


@pytest.mark.parametrize(
    ("data", "names", "changes", "code"),
    [
        (b"<html>", ["a"], {}, FailureCode.OUTPUT_INVALID),
        (b"", [], {}, FailureCode.OUTPUT_INVALID),
        (b"", [f"f{n}" for n in range(17)], {}, FailureCode.OUTPUT_TOO_LARGE),
        (b"", ["a"], {"max_artifact_bytes": 100}, FailureCode.OUTPUT_TOO_LARGE),
        (b"", ["a", "b"], {"max_stored_bytes": 1500}, FailureCode.STORAGE_FULL),
    ],
)
async def test_what_may_not_be_kept_is_not(
    tmp_path: Path,
    autojump_clock: MockClock,
    data: bytes,
    names: list[str],
    changes: dict[str, object],
    code: FailureCode,
) -> None:
    """The operation has failed, and no file of it is left."""
    backend = Scripted(data=data)
    async with open_service(tmp_path, backend, **changes) as service:  # type: ignore[arg-type]
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        backend.finish(*names)
        if not names:
            backend.found = type(backend.found)(())  # type: ignore[call-arg]
        assert await failure(service, operation) is code
        await wait_all_tasks_blocked()
        assert list((tmp_path / "artifacts").iterdir()) == []


async def test_a_file_with_a_fault_takes_those_before_it_with_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """All files of an operation are kept, or none."""

    class Half(Scripted):
        async def fetch(self, output: Output, max_bytes: int) -> bytes:
            if output.words == ("bad",):
                return b"no picture"
            return await super().fetch(output, max_bytes)

    backend = Half()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        backend.finish("good", "bad")
        assert await failure(service, operation) is FailureCode.OUTPUT_INVALID
        assert list((tmp_path / "artifacts").iterdir()) == []


async def test_several_files_are_kept_in_their_order(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Each under an id of its own, its owner's alone."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        backend.finish("a", "b", "c")
        await seen(service, operation.id)
        done = await looked_at(service, operation)
        data = list[object]()
        for artifact_id in done.artifact_ids:
            artifact = await service.artifact(ME, artifact_id)
            assert isinstance(artifact, Artifact)
            data.append(await service.read_artifact(artifact, 0, artifact.size))
        assert data == [await backend.fetch(Output((name,)), 10_000) for name in "abc"]
        for path in (tmp_path / "artifacts").iterdir():
            assert path.stat().st_mode & 0o777 == 0o600


async def test_what_is_canceled_while_its_files_come_keeps_none(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The cancel was first, and stays."""

    class Slow(Scripted):
        async def fetch(self, output: Output, max_bytes: int) -> bytes:
            await trio.sleep(5)
            return await super().fetch(output, max_bytes)

    backend = Slow()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        backend.finish()
        await trio.sleep(1)
        assert isinstance(await service.cancel(ME, operation.id), Operation)
        await trio.sleep(60)
        done = await looked_at(service, operation)
        assert done.state is State.CANCELED
        assert done.artifact_ids == ()
        assert list((tmp_path / "artifacts").iterdir()) == []


async def test_what_is_canceled_while_it_is_handed_over_is_stopped(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The backend is told as soon as it has taken it."""

    class Slow(Scripted):
        async def submit(self, job: Job):
            await trio.sleep(5)
            return await super().submit(job)

    backend = Slow()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        await trio.sleep(1)
        assert isinstance(await service.cancel(ME, operation.id), Operation)
        await trio.sleep(60)
        assert backend.canceled == backend.submissions
        assert len(backend.canceled) == 1
        assert not backend.jobs


async def test_a_stop_that_is_owed_is_paid_when_the_backend_is_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Also by the next process."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        backend.is_up = False
        assert isinstance(await service.cancel(ME, operation.id), Operation)
        await trio.sleep(60)
    assert not backend.canceled
    backend.is_up = True
    async with open_service(tmp_path, backend):
        await trio.sleep(60)
    assert backend.canceled == backend.submissions


async def test_news_of_the_backend_save_the_wait(tmp_path: Path, autojump_clock: MockClock) -> None:
    """An operation is looked at when its job is told of, and without that at the next poll."""
    backend = Scripted()
    slow = Pace(poll_s=1000.0)
    async with open_service(tmp_path, backend, pace=slow) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        backend.run()
        await wait_all_tasks_blocked()
        assert (await looked_at(service, operation)).state is State.RUNNING
        assert trio.current_time() < 1
        backend.news.clear()
        backend.finish()
        await seen(service, operation.id)
        assert trio.current_time() >= 1000


async def test_whoever_comes_next_goes_on_where_the_last_one_ended(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Nothing is handed over again that the backend knows; new sequences follow the old ones."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
    backend.found = Running()
    async with open_service(tmp_path, backend) as service:
        await wait_all_tasks_blocked()
        assert (await looked_at(service, operation)).state is State.RUNNING
    backend.finish()
    async with open_service(tmp_path, backend) as service:
        states = await seen(service, operation.id)
    assert states == ["accepted", "preparing", "submitting", "queued", "running", "completed"]
    assert len(backend.submissions) == 1


async def test_a_workflow_that_is_taken_away_ends_what_waited_for_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Nothing is run that the registry does not name now."""
    async with open_service(tmp_path, Scripted()) as service:
        await submitted(service, ask("a"))
        operation = await submitted(service, ask(workflow_id="picture.checked", parameters={}))
        await wait_all_tasks_blocked()
    text = REGISTRY.replace("picture.checked", "picture.other")
    (tmp_path / "workflows.toml").write_text(text)
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        assert await failure(service, operation) is FailureCode.WORKFLOW_REMOVED


async def test_an_artifact_to_work_on_may_be_gone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """By its age, or because somebody took the file."""
    backend = Scripted()
    async with open_service(tmp_path, backend, retention_s=100) as service:
        first = await submitted(service)
        backend.finish()
        await seen(service, first.id)
        (made,) = (await looked_at(service, first)).artifact_ids
        backend.is_up = False
        values = {"prompt": "a", "picture": made}
        aged = await submitted(service, ask("aged", parameters=values))
        await trio.sleep(200)
        backend.is_up = True
        assert await failure(service, aged) is FailureCode.INPUT_GONE
        third = await submitted(service, ask("third"))
        await seen(service, third.id)
        (made,) = (await looked_at(service, third)).artifact_ids
        (tmp_path / "artifacts" / made).unlink()
        taken = await submitted(service, ask("taken", parameters={**values, "picture": made}))
        assert await failure(service, taken) is FailureCode.INPUT_GONE


async def test_what_is_too_old_is_forgotten_with_its_files(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """An expired artifact is not there at once, its file goes with the next sweep, and the key
    is free again.
    """  # noqa: D205 - two lines
    backend = Scripted()
    async with open_service(tmp_path, backend, retention_s=3600) as service:
        operation = await submitted(service)
        backend.finish()
        await seen(service, operation.id)
        (made,) = (await looked_at(service, operation)).artifact_ids
        artifact = await service.artifact(ME, made)
        assert isinstance(artifact, Artifact)
        await trio.sleep(3601)
        gone = Refusal(RefusalCode.ARTIFACT_NOT_FOUND)
        assert await service.artifact(ME, made) == gone
        assert await service.read_artifact(artifact, 0, 10) == gone
        await trio.sleep(2 * SWEEP_S)
        assert list((tmp_path / "artifacts").iterdir()) == []
        found = await service.operation(ME, operation.id)
        assert found == Refusal(RefusalCode.OPERATION_NOT_FOUND)
        assert (await submitted(service, ask(prompt="other"))).id != operation.id


async def test_what_has_not_ended_is_never_too_old(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Retention counts from the end."""
    backend = Scripted()
    async with open_service(tmp_path, backend, pace=FOR_EVER, retention_s=60) as service:
        operation = await submitted(service)
        await trio.sleep(10_000)
        assert (await looked_at(service, operation)).state is State.QUEUED


async def test_files_that_no_row_is_about_are_gone_at_the_next_start(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Half written ones too; whoever else has a file there keeps it."""
    folder = tmp_path / "artifacts"
    folder.mkdir()
    orphan = folder / ("art_" + "o" * 32)
    half = folder / ("art_" + "h" * 32 + ".part")
    foreign = folder / "notes.txt"
    for path in (orphan, half, foreign):
        path.write_bytes(b"x")
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        backend.finish()
        await seen(service, operation.id)
    async with open_service(tmp_path, backend) as service:
        (made,) = (await looked_at(service, operation)).artifact_ids
        assert {path.name for path in folder.iterdir()} == {made, "notes.txt"}


async def test_a_bug_in_one_operation_leaves_the_others_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It is told of once; the next process takes that one up again."""
    told = list[str]()

    class Buggy(Scripted):
        async def find(self, key: str, handle: str | None) -> Found:
            if self.submissions and key == self.submissions[0]:
                raise RuntimeError
            return await super().find(key, handle)

    backend = Buggy()
    async with open_service(tmp_path, backend, lambda name, _: told.append(name)) as service:
        first = await submitted(service, ask("first"))
        await wait_all_tasks_blocked()
        assert told == ["reconciler"]
        second = await submitted(service, ask("second"))
        await wait_all_tasks_blocked()
        backend.finish()
        assert (await seen(service, second.id))[-1] == "completed"
        assert (await looked_at(service, first)).state is State.QUEUED
    async with open_service(tmp_path, sound := Scripted(jobs=backend.jobs)) as service:
        sound.finish()
        assert (await seen(service, first.id))[-1] == "completed"
