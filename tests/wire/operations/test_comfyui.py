"""The ComfyUI backend against one on loopback: its own words, its events, its faults."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from anvil_trio.operations.backend import (
    Absent,
    BackendUnavailable,
    Broken,
    Done,
    Job,
    Output,
    Rejected,
    Running,
    TooLarge,
    Waiting,
)
from anvil_trio.operations.comfyui import ComfyUi
from anvil_trio.operations.driver import Pace
from anvil_trio.operations.model import Operation, Workflow
from anvil_trio.operations.recipe import Recipe, Target
from anvil_trio.upstream.transport import MemberTransport
from tests.operations.stage import ME, ask, open_service, seen, submitted
from tests.support.fake_comfyui import FakeComfyUi, fake_comfyui
from tests.support.wire import serving, until
from tests.support.wire_apps import Receive, Scope, Send

pytestmark = pytest.mark.wire

GRAPH = {"6": {"class_type": "Text", "inputs": {"text": "", "image": ""}}}
RECIPE = Recipe(
    Workflow("w", "1", "W"),
    GRAPH,  # type: ignore[arg-type]
    {"prompt": Target("6", "text"), "picture": Target("6", "image")},
)
JOB = Job("11111111-2222-5333-8444-555555555555", RECIPE, {"prompt": "words"}, {})
REGISTRY = """\
schema_version = 1
[[workflows]]
id = "picture.discs"
version = "1"
title = "Discs"
graph = "graph.json"
[[workflows.parameters]]
name = "prompt"
kind = "string"
max_length = 100
target = "6.text"
[[workflows.parameters]]
name = "picture"
kind = "artifact"
target = "6.image"
"""


@asynccontextmanager
async def comfyui(**options: object) -> AsyncIterator[tuple[ComfyUi, FakeComfyUi]]:
    """The backend and what it speaks to."""
    async with fake_comfyui(**options) as fake:
        backend = ComfyUi(fake.url, MemberTransport(fake.url, keepalive_s=4.0))
        try:
            yield backend, fake
        finally:
            await backend.aclose()


async def test_a_job_is_found_wherever_it_is() -> None:
    """Nowhere, in line, being worked on, ended."""
    async with comfyui() as (backend, fake):
        assert await backend.find(JOB.key, None) == Absent()
        handle = await backend.submit(JOB)
        assert handle == JOB.key
        assert await backend.find(JOB.key, handle) == Waiting()
        await fake.move("running")
        assert await backend.find(JOB.key, handle) == Running()
        await fake.move("success")
        found = await backend.find(JOB.key, handle)
        assert found == Done((Output(("a.png", "s", "output")),))
        await fake.move("error")
        assert await backend.find(JOB.key, None) == Broken()
        prompt = fake.jobs[JOB.key]["prompt"]
        assert prompt == {"6": {"class_type": "Text", "inputs": {"text": "words", "image": ""}}}


async def test_an_old_one_that_gives_names_is_asked_by_our_mark() -> None:
    """Also if its name for the job was never heard."""
    async with comfyui(gives_names=True) as (backend, fake):
        handle = await backend.submit(JOB)
        assert handle == "own-0"
        for state, found in (("pending", Waiting()), ("running", Running())):
            await fake.move(state)
            assert await backend.find(JOB.key, None) == found
        await fake.move("success")
        assert isinstance(await backend.find(JOB.key, None), Done)
        assert isinstance(await backend.find(JOB.key, handle), Done)


async def test_a_job_is_taken_out_of_the_line_and_only_then_interrupted() -> None:
    """What waits is deleted; what runs is interrupted by its name, another's never."""
    async with comfyui() as (backend, fake):
        handle = await backend.submit(JOB)
        assert isinstance(handle, str)
        await backend.cancel(JOB.key, handle)
        assert not fake.jobs
        assert not fake.interrupted
        await backend.submit(JOB)
        await fake.move("running")
        await backend.cancel("another-job", None)
        assert not fake.interrupted
        await backend.cancel(JOB.key, None)
        assert fake.interrupted == [JOB.key]


async def test_an_artifact_is_sent_before_its_job() -> None:
    """And the graph names the file that it was sent as."""
    job = Job(JOB.key, RECIPE, {"picture": "art_x"}, {"picture": b"the bytes"})
    async with comfyui() as (backend, fake):
        await backend.submit(job)
        ((name, data),) = fake.uploads.items()
        assert data == b"the bytes"
        assert name.endswith(".png")
        prompt = fake.jobs[job.key]["prompt"]
        assert prompt["6"]["inputs"]["image"] == name  # type: ignore[index]


async def test_what_it_will_not_take_is_rejected() -> None:
    """Its words are not kept."""
    empty = Job(JOB.key, Recipe(RECIPE.workflow), {}, {})
    async with comfyui() as (backend, _):
        assert await backend.submit(empty) == Rejected()


async def test_a_file_is_bounded() -> None:
    """One that is larger is not read to its end."""
    output = Output(("a.png", "s", "output"))
    async with comfyui() as (backend, fake):
        assert await backend.fetch(output, len(fake.picture)) == fake.picture
        with pytest.raises(TooLarge):
            await backend.fetch(output, len(fake.picture) - 1)


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_any_other_answer_is_none(status: int) -> None:
    """A redirect is not followed, and no error is taken for an end."""
    async with comfyui(status=status) as (backend, fake):
        for call in (
            lambda: backend.find(JOB.key, None),
            lambda: backend.submit(JOB),
            lambda: backend.cancel(JOB.key, None),
            lambda: backend.fetch(Output(("a.png", "s", "output")), 100),
        ):
            with pytest.raises(BackendUnavailable):
                await call()
        assert len(fake.asked) == 4


async def test_words_that_are_not_its_own_are_no_answer() -> None:
    """A job is not taken for forgotten because something else listens there."""

    async def other(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"<html>", "more_body": False})

    async with serving(other) as served:
        url = f"http://127.0.0.1:{served.port}"
        backend = ComfyUi(url, MemberTransport(url, keepalive_s=4.0))
        with pytest.raises(BackendUnavailable):
            await backend.find(JOB.key, None)
        with pytest.raises(BackendUnavailable):
            await backend.submit(JOB)
        await backend.aclose()


async def test_nobody_there_is_no_answer() -> None:
    """To be asked again later."""
    backend = ComfyUi("http://127.0.0.1:1", MemberTransport("http://127.0.0.1:1", keepalive_s=4.0))
    with pytest.raises(BackendUnavailable):
        await backend.find(JOB.key, None)
    with pytest.raises(BackendUnavailable):
        await backend.submit(JOB)
    with trio.move_on_after(0.1) as scope:
        await backend.watch(print)
    assert scope.cancelled_caught
    await backend.aclose()


async def test_events_are_told_on_by_the_name_of_their_job() -> None:
    """Previews and other words are passed over."""
    heard = list[str]()
    async with comfyui() as (backend, fake):
        await backend.submit(JOB)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(backend.watch, heard.append)
            await fake.is_listened_to.wait()
            await fake.move("running")
            await until(lambda: heard)
            nursery.cancel_scope.cancel()
    assert heard == [JOB.key]


async def test_an_operation_runs_on_it_from_end_to_end(tmp_path: Path) -> None:
    """News of its events bring it on long before the next poll would."""
    (tmp_path / "workflows.toml").write_text(REGISTRY)
    (tmp_path / "graph.json").write_text(
        '{"6": {"class_type": "Text", "inputs": {"text": "", "image": ""}}}'
    )
    slow = Pace(poll_s=3600.0)
    async with comfyui() as (backend, fake):
        async with open_service(
            tmp_path, backend, threads=True, pace=slow, backend_url=fake.url
        ) as service:
            await fake.is_listened_to.wait()
            operation = await submitted(service, ask())
            await until(lambda: fake.jobs)
            await until(lambda: len(fake.asked) > 2)
            with trio.fail_after(10):
                while True:
                    await fake.move("success")
                    found = await service.operation(ME, operation.id)
                    assert isinstance(found, Operation)
                    if found.state.terminal:
                        break
                    await trio.sleep(0.01)
            states = await seen(service, operation.id)
            assert states[-1] == "completed"
