"""What is kept of an operation, for how long, and what is not."""

import math
import os
import sqlite3
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from anvil_trio.operations.backend import BackendUnavailable, Done, Output
from anvil_trio.operations.driver import Pace
from anvil_trio.operations.files import ArtifactFiles
from anvil_trio.operations.model import (
    Artifact,
    FailureCode,
    Operation,
    Refusal,
    RefusalCode,
    State,
)
from anvil_trio.operations.reconciler import SWEEP_S
from anvil_trio.operations.store import Change, Store
from tests.operations.stage import (
    ME,
    Scripted,
    ask,
    failure,
    looked_at,
    open_service,
    seen,
    submitted,
)

FOR_EVER = Pace(poll_s=60.0, max_age_s=math.inf)


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
            backend.found = Done(())
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
    """An expired artifact is gone at once, its file with the next sweep, and the key is free."""
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


async def test_a_file_that_is_lost_is_told_apart_from_a_disk_that_fails(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The one is not there any more, the other may be again."""
    backend = Scripted()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        backend.finish()
        await seen(service, operation.id)
        (made,) = (await looked_at(service, operation)).artifact_ids
        artifact = await service.artifact(ME, made)
        assert isinstance(artifact, Artifact)
        path = tmp_path / "artifacts" / made
        path.unlink()
        found = await service.read_artifact(artifact, 0, 10)
        assert found == Refusal(RefusalCode.ARTIFACT_NOT_FOUND)
        path.mkdir()
        found = await service.read_artifact(artifact, 0, 10)
        assert found == Refusal(RefusalCode.UNAVAILABLE)


async def test_several_listeners_hear_of_one_operation(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Each to its end, and one that leaves early takes nothing from the others."""
    backend, heard = Scripted(), list[list[str]]()
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)

        async def listen() -> None:
            heard.append(await seen(service, operation.id))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            nursery.start_soon(listen)
            with trio.move_on_after(1):
                await seen(service, operation.id)
            backend.finish()
        assert len(heard) == 2
        assert heard[0] == heard[1]
        assert heard[0][-1] == "completed"


async def test_what_breaks_off_while_files_come_leaves_none(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Neither a backend that goes away nor a database that fails fills the disk, however often."""

    class Leaving(Scripted):
        async def fetch(self, output: Output, max_bytes: int) -> bytes:
            if output.words == ("b",) and trio.current_time() < 1000:
                raise BackendUnavailable
            return await super().fetch(output, max_bytes)

    backend, folder = Leaving(), tmp_path / "artifacts"
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        backend.finish("a", "b")
        await trio.sleep(500)
        assert list(folder.iterdir()) == []
        assert (await seen(service, operation.id))[-1] == "completed"
        assert len(list(folder.iterdir())) == 2


async def test_a_database_that_fails_at_the_last_step_leaves_no_files(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files come again with the next attempt."""
    complete, failures = Store.complete, list[float]()

    def failing(store: Store, change: Change, max_stored_bytes: int) -> object:
        if trio.current_time() < 1000:
            failures.append(trio.current_time())
            raise sqlite3.OperationalError
        return complete(store, change, max_stored_bytes)

    monkeypatch.setattr(Store, "complete", failing)
    backend, folder = Scripted(), tmp_path / "artifacts"
    async with open_service(tmp_path, backend) as service:
        operation = await submitted(service)
        backend.finish()
        await trio.sleep(500)
        assert len(failures) > 5
        assert list(folder.iterdir()) == []
        assert (await seen(service, operation.id))[-1] == "completed"
        assert len(list(folder.iterdir())) == 1


def test_a_file_that_cannot_be_written_leaves_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may be full because of it."""
    files = ArtifactFiles(tmp_path)

    def full(_: int) -> None:
        raise OSError

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"^$"):
        files.write("art_" + "a" * 32, b"data")
    assert list(tmp_path.iterdir()) == []
