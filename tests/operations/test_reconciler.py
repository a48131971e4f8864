"""How operations come on, whatever the backend and the clock do."""

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import trio
from structlog.testing import capture_logs
from trio.testing import MockClock, wait_all_tasks_blocked

from anvil_trio.actors.supervise import open_actors
from anvil_trio.operations.backend import Broken, Found, Job, Running
from anvil_trio.operations.bells import Bells
from anvil_trio.operations.database import DatabaseFault
from anvil_trio.operations.driver import Pace
from anvil_trio.operations.model import (
    FailureCode,
    Operation,
    State,
)
from anvil_trio.operations.reconciler import Reconciler
from tests.operations.stage import (
    ME,
    REGISTRY,
    Scripted,
    ask,
    crashed,
    failure,
    here,
    looked_at,
    open_service,
    seen,
    submitted,
    wall,
)

FOR_EVER = Pace(poll_s=60.0, max_age_s=math.inf)


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


async def test_a_bug_of_a_backend_s_news_costs_only_the_news(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It is told of, and operations are polled."""
    told = list[str]()

    class Deaf(Scripted):
        async def watch(self, news: Callable[[str], None]) -> None:
            await trio.lowlevel.checkpoint()
            raise RuntimeError

    backend = Deaf()
    async with open_service(tmp_path, backend, lambda name, _: told.append(name)) as service:
        operation = await submitted(service)
        await wait_all_tasks_blocked()
        backend.finish()
        assert (await seen(service, operation.id))[-1] == "completed"
    assert told == ["reconciler"]


async def test_a_database_that_is_away_at_start_is_asked_again(autojump_clock: MockClock) -> None:
    """What was unfinished is then taken up, and the line says so of every sweep that was not."""
    asked, driven = list[float](), list[str]()

    class Away:
        async def ask(self, call: object) -> list[str]:
            await trio.lowlevel.checkpoint()
            asked.append(trio.current_time())
            if trio.current_time() < 10:
                raise DatabaseFault
            return ["op_a"]

    class Noting:
        async def drive(self, operation_id: str) -> None:
            await trio.lowlevel.checkpoint()
            driven.append(operation_id)

    keeping = SimpleNamespace(
        retention_s=60, aside=here, files=SimpleNamespace(remove=lambda names: None)
    )
    reconciler = Reconciler(
        Noting(),  # type: ignore[arg-type]
        Away(),  # type: ignore[arg-type]
        Scripted(),
        keeping,  # type: ignore[arg-type]
        Bells(),
        wall,
    )
    with capture_logs() as lines:
        async with open_actors(crashed) as actors:
            actors.start(reconciler)
            await trio.sleep(30)
    assert driven == ["op_a"]
    assert [line["event"] for line in lines] == ["operations_not_saved"]
