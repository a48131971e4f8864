"""kill -9 of the service at each moment: round every commit, every file and every backend call.

The service is a process of its own, and what the backend knows is in a file, so both are really
left as they were.
"""

import json
import os
import signal
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from anvil_trio.operations import database, opening
from anvil_trio.operations.backend import (
    Absent,
    Done,
    Found,
    Job,
    Output,
    Rejected,
    Running,
    Waiting,
)
from anvil_trio.operations.model import Artifact, Operation, Refusal, RefusalCode, State
from anvil_trio.operations.picture import draw
from anvil_trio.operations.service import OperationService
from tests.operations.stage import ME, open_service, seen, submitted

DISK = ((os, "fsync"), (Path, "replace"), (Path, "unlink"))
"""What the service does to the disk beside its database."""

_STARTED, _ENDED = 2, 6
"""How often the backend is asked before a job is begun, and before it has ended."""


class FileBackend:
    """A backend that outlives the service: what it was handed, and what has become of it."""

    name = "file"

    def __init__(self, path: Path, moment: Callable[[], None]) -> None:
        self._path, self._moment = path, moment

    def read(self) -> dict[str, dict[str, object]]:
        return json.loads(self._path.read_text()) if self._path.exists() else {}

    def _write(self, jobs: dict[str, dict[str, object]]) -> None:
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(jobs))
        Path(beside).rename(self._path)

    async def find(self, key: str, handle: str | None) -> Found:
        await trio.lowlevel.checkpoint()
        jobs = self.read()
        if key not in jobs:
            return Absent()
        jobs[key]["asked"] = asked = int(str(jobs[key]["asked"])) + 1
        self._write(jobs)
        if asked < _STARTED:
            return Waiting()
        return Running() if asked < _ENDED else Done((Output(("a",)), Output(("b",))))

    async def submit(self, job: Job) -> str | Rejected:
        await trio.lowlevel.checkpoint()
        self._moment()
        jobs = self.read()
        assert job.key not in jobs, "handed over twice"
        self._write({**jobs, job.key: {"asked": 0, "is_stopped": False}})
        self._moment()
        return job.key

    async def cancel(self, key: str, handle: str | None) -> None:
        await trio.lowlevel.checkpoint()
        self._moment()
        jobs = self.read()
        if key in jobs:
            jobs[key]["is_stopped"] = True
        self._write(jobs)
        self._moment()

    async def fetch(self, output: Output, max_bytes: int) -> bytes:
        await trio.lowlevel.checkpoint()
        return draw("killed", {"word": output.words[0]}, {})

    async def watch(self, news: Callable[[str], None]) -> None:
        await trio.sleep_forever()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


@pytest.fixture(autouse=True)
def _unflushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine stays up: what a killed process wrote is there without being flushed."""
    pragmas = [text.replace("= FULL", "= OFF") for text in database._PRAGMAS]
    monkeypatch.setattr(database, "_PRAGMAS", pragmas)
    monkeypatch.setattr(os, "fsync", lambda _: None)


def nothing() -> None:
    """A moment at which nothing happens."""


def run(folder: Path, moment: Callable[[], None], *, is_canceled: bool) -> Operation:
    """One life of the service: it submits, cancels if it is to, and waits for the end."""

    async def live() -> Operation:
        async with open_service(folder, FileBackend(folder / "jobs.json", moment)) as service:
            operation = await submitted(service)
            if is_canceled:
                await _until_queued(service, operation.id)
                found = await service.cancel(ME, operation.id)
                refused = Refusal(RefusalCode.OPERATION_NOT_CANCELABLE)
                assert isinstance(found, Operation) or found == refused
            await seen(service, operation.id)
            await trio.sleep(30)  # what is owed to the backend is paid
            done = await service.operation(ME, operation.id)
            assert isinstance(done, Operation)
            for artifact_id in done.artifact_ids:
                artifact = await service.artifact(ME, artifact_id)
                assert isinstance(artifact, Artifact)
                data = await service.read_artifact(artifact, 0, artifact.size)
                assert isinstance(data, bytes)
                assert len(data) == artifact.size
            return done

    return trio.run(live, clock=MockClock(autojump_threshold=0))


async def _until_queued(service: OperationService, operation_id: str) -> None:
    async with service.events(ME, operation_id) as feed:
        assert not isinstance(feed, Refusal)
        async for event in feed:
            if event.state in {State.QUEUED, State.CANCELED}:
                return


def killed_at(number: int, folder: Path, *, is_canceled: bool) -> bool:
    """Whether a service was killed at its nth moment; False if it had ended before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a test runner may have threads; the child has one
        child = os.fork()
    if child == 0:
        _be_killed(number, folder, is_canceled=is_canceled)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _be_killed(number: int, folder: Path, *, is_canceled: bool) -> None:
    """Run the service in this process, which ends in any case."""
    left, status = number, 1

    def moment() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def around(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*args: object, **kwargs: object) -> object:
            moment()
            answer = call(*args, **kwargs)
            moment()
            return answer

        return wrapped

    try:
        for owner, name in DISK:
            setattr(owner, name, around(getattr(owner, name)))
        vars(opening)["run_batch"] = around(database.run_batch)
        run(folder, moment, is_canceled=is_canceled)
        status = 0
    finally:
        os._exit(status)


def state_in(folder: Path) -> State | None:
    """Where the killed service left its operation; None if it had none."""
    path = folder / "state" / "operations.sqlite3"
    if not path.exists():
        return None
    with closing(sqlite3.connect(path)) as connection:
        try:
            rows = connection.execute("SELECT state FROM operations").fetchall()
        except sqlite3.OperationalError:  # killed before there were tables
            return None
    assert len(rows) <= 1
    return State(rows[0][0]) if rows else None


@pytest.mark.parametrize("is_canceled", [False, True])
@pytest.mark.timeout(300)
def test_a_killed_service_ends_each_operation_once(tmp_path: Path, is_canceled: bool) -> None:
    """Whatever the moment: one operation, one job, its files whole, no other file left."""
    left, end = set[State | None](), State.CANCELED if is_canceled else State.COMPLETED
    for number in count():
        folder = tmp_path / str(number)
        folder.mkdir()
        is_over = not killed_at(number, folder, is_canceled=is_canceled)
        left.add(state_in(folder))
        done = run(folder, nothing, is_canceled=is_canceled)
        assert done.state is end, number
        jobs = FileBackend(folder / "jobs.json", nothing).read()
        if is_canceled:
            assert all(job["is_stopped"] for job in jobs.values()), number
            assert not done.artifact_ids
        else:
            assert len(jobs) == 1, number
            assert len(done.artifact_ids) == 2
        files = {path.name for path in (folder / "artifacts").iterdir()}
        assert files == set(done.artifact_ids), number
        if is_over:
            break
    expected = {None, State.ACCEPTED, State.PREPARING, State.SUBMITTING, State.QUEUED}
    assert expected | {end} <= left
    assert (State.RUNNING in left) or is_canceled
