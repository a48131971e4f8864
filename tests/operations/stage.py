"""One operation service on virtual time, its database in a folder, and a backend as it is told."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import trio

from anvil_trio.actors.actor import OnCrash
from anvil_trio.actors.supervise import open_actors
from anvil_trio.config.media import MediaSettings
from anvil_trio.operations.backend import (
    Absent,
    Backend,
    BackendUnavailable,
    Done,
    Found,
    Job,
    Output,
    Rejected,
    Running,
    TooLarge,
    Waiting,
)
from anvil_trio.operations.driver import Pace
from anvil_trio.operations.interface import Operations
from anvil_trio.operations.model import FailureCode, Operation, Submission
from anvil_trio.operations.opening import open_books, start_operations
from anvil_trio.operations.picture import draw
from anvil_trio.operations.service import OperationService

T = TypeVar("T")

REGISTRY = """\
schema_version = 1

[[workflows]]
id = "picture.discs"
version = "1"
title = "Discs"

[[workflows.parameters]]
name = "prompt"
kind = "string"
required = true
max_length = 200

[[workflows.parameters]]
name = "steps"
kind = "integer"
default = 4
minimum = 1
maximum = 100

[[workflows.parameters]]
name = "picture"
kind = "artifact"

[[workflows.quality_profiles]]
id = "draft"
title = "Draft"
locked = { steps = 2 }

[[workflows]]
id = "picture.checked"
version = "1"
title = "Discs that somebody looks at first"
requires_approval = true
"""

ME = "studio"


async def here(call: Callable[[], T]) -> T:
    """Blocking work done in place, so that virtual time does not pass meanwhile."""
    await trio.lowlevel.checkpoint()
    return call()


@dataclass
class Scripted:
    """A backend whose answers a test decides; it keeps what it was handed."""

    name: str = "scripted"
    found: Found = field(default_factory=Waiting)  # of every job that it knows
    jobs: dict[str, Job] = field(default_factory=dict)
    submissions: list[str] = field(default_factory=list)
    canceled: list[str] = field(default_factory=list)
    data: bytes = b""
    is_up: bool = True
    is_rejecting: bool = False
    news: list[Callable[[str], None]] = field(default_factory=list)

    async def find(self, key: str, handle: str | None) -> Found:
        await trio.lowlevel.checkpoint()
        self._check()
        return self.found if key in self.jobs else Absent()

    async def submit(self, job: Job) -> str | Rejected:
        await trio.lowlevel.checkpoint()
        self._check()
        if self.is_rejecting:
            return Rejected()
        assert job.key not in self.jobs, "handed over twice"
        self.jobs[job.key] = job
        self.submissions.append(job.key)
        return job.key

    async def cancel(self, key: str, handle: str | None) -> None:
        await trio.lowlevel.checkpoint()
        self._check()
        self.canceled.append(key)
        self.jobs.pop(key, None)

    async def fetch(self, output: Output, max_bytes: int) -> bytes:
        await trio.lowlevel.checkpoint()
        self._check()
        data = self.data or draw("test", {"size": output.words[0]}, {})
        if len(data) > max_bytes:
            raise TooLarge
        return data

    async def watch(self, news: Callable[[str], None]) -> None:
        self.news.append(news)
        await trio.sleep_forever()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()

    def finish(self, *names: str) -> None:
        """Every job has ended well, with files of these names."""
        self.found = Done(tuple(Output((name,)) for name in names or ("a",)))
        self.tell()

    def run(self) -> None:
        """Every job is being worked on."""
        self.found = Running()
        self.tell()

    def tell(self) -> None:
        """Say that there may be news of every job."""
        for news in self.news:
            for key in self.jobs:
                news(key)

    def _check(self) -> None:
        if not self.is_up:
            raise BackendUnavailable


def settings(folder: Path, **changes: object) -> MediaSettings:
    """Settings of the embedded backend, with all files in one folder."""
    registry = folder / "workflows.toml"
    if not registry.exists():
        registry.write_text(REGISTRY)
    values: dict[str, object] = {
        "principal": ME,
        "scopes": frozenset({"media:read", "media:submit", "media:cancel"}),
        "public_origin": "http://127.0.0.1:8000",
        "backend_url": None,
        "state_db": folder / "state" / "operations.sqlite3",
        "artifact_root": folder / "artifacts",
        "workflow_registry": registry,
        "retention_s": 3600,
        "max_artifact_bytes": 1_000_000,
        "max_stored_bytes": 10_000_000,
        "max_active": 2000,
    }
    return MediaSettings(**{**values, **changes})  # type: ignore[arg-type]


def crashed(name: str, bug: Exception) -> None:
    """No actor has a bug unless a test plants one."""
    raise AssertionError(name) from bug


def wall() -> float:
    """The wall clock of a test: virtual time, from some day on."""
    return 1_800_000_000.0 + trio.current_time()


@asynccontextmanager
async def open_service(
    folder: Path,
    backend: Backend,
    on_crash: OnCrash = crashed,
    *,
    threads: bool = False,
    pace: Pace | None = None,
    **changes: object,
) -> AsyncIterator[OperationService]:
    """The service at work on what the folder holds; leaving it is a process's end."""
    found = settings(folder, **changes)
    with open_books(found) as books:
        async with open_actors(on_crash) as actors:
            aside = None if threads else here
            yield start_operations(
                actors, books, found, backend, wall, writing=aside, reading=aside, pace=pace
            )


def ask(key: str = "k", prompt: str = "a red disc", **changes: object) -> Submission:
    """A submission of the first workflow."""
    values: dict[str, object] = {
        "workflow_id": "picture.discs",
        "version": "1",
        "parameters": {"prompt": prompt},
        "idempotency_key": key,
    }
    return Submission(**{**values, **changes})  # type: ignore[arg-type]


async def submitted(
    service: OperationService, submission: Submission | None = None, principal: str = ME
) -> Operation:
    """The operation of a submission that is taken."""
    found = await service.submit(principal, submission or ask())
    assert isinstance(found, Operation), found
    return found


async def seen(service: Operations, operation_id: str, principal: str = ME) -> list[str]:
    """Every state of it, to its end."""
    async with service.events(principal, operation_id) as feed:
        assert not hasattr(feed, "code"), feed
        return [event.state.value async for event in feed]


async def looked_at(service: OperationService, operation: Operation) -> Operation:
    """The operation as it is now."""
    found = await service.operation(ME, operation.id)
    assert isinstance(found, Operation)
    return found


async def failure(service: OperationService, operation: Operation) -> FailureCode | None:
    """Why it failed, in the end."""
    assert (await seen(service, operation.id))[-1] == "failed"
    return (await looked_at(service, operation)).failure_code
