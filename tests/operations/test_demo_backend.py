"""The embedded backend on virtual time, and which backend the settings ask for."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from anvil_trio.operations import demo_backend
from anvil_trio.operations.backend import (
    Absent,
    BackendUnavailable,
    Done,
    Job,
    Output,
    Rejected,
    Running,
    TooLarge,
    Waiting,
)
from anvil_trio.operations.backends import make_backend
from anvil_trio.operations.comfyui import ComfyUi
from anvil_trio.operations.demo_backend import DemoBackend
from anvil_trio.operations.model import Scalar, Workflow
from anvil_trio.operations.recipe import Recipe
from anvil_trio.upstream.transport import MemberTransport
from tests.operations.stage import here, settings

PICTURE = Recipe(Workflow("w", "1", "W"))


def job(key: str = "key", **values: Scalar) -> Job:
    """A job of these values."""
    return Job(key, PICTURE, values, {"base": b"bytes"})


@pytest.mark.parametrize(
    ("steps", "ends_s"),
    [(40, 2.1), (1, 0.15), (-5, 0.1), (True, 0.6), ("many", 0.6), (10**9, 100.1)],
)
async def test_a_job_takes_as_long_as_its_steps(
    steps: Scalar, ends_s: float, autojump_clock: MockClock
) -> None:
    """Twenty are a second, after a tenth of one in line; what is no number of steps is ten."""
    backend = DemoBackend(here)
    assert await backend.find("key", None) == Absent()
    assert await backend.submit(job(steps=steps)) == "key"
    assert await backend.find("key", "key") == Waiting()
    if ends_s > 0.1:
        await trio.sleep(0.101)
        assert await backend.find("key", "key") == Running()
    await trio.sleep_until(ends_s - 0.001)
    assert not isinstance(await backend.find("key", "key"), Done)
    await trio.sleep(0.002)
    assert await backend.find("key", "key") == Done((Output(("key",)),))


async def test_it_draws_pictures_and_nothing_else(autojump_clock: MockClock) -> None:
    """A film is rejected; a picture is the same whoever draws it, and bounded."""
    film = Recipe(Workflow("w", "1", "W", output_media_type="video/mp4"))
    first, second = DemoBackend(here), DemoBackend(here)
    assert await first.submit(Job("film", film, {}, {})) == Rejected()
    output = Output(("key",))
    for backend in (first, second):
        await backend.submit(job(prompt="a"))
    data = await first.fetch(output, 100_000)
    assert data == await second.fetch(output, 100_000)
    with pytest.raises(TooLarge):
        await first.fetch(output, len(data) - 1)


async def test_what_is_canceled_is_forgotten(autojump_clock: MockClock) -> None:
    """Its file too; canceling it again is nothing."""
    backend = DemoBackend(here)
    await backend.submit(job())
    for _ in range(2):
        await backend.cancel("key", "key")
        assert await backend.find("key", "key") == Absent()
    with pytest.raises(BackendUnavailable):
        await backend.fetch(Output(("key",)), 100_000)


async def test_it_remembers_a_bounded_number(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest job is forgotten first."""
    monkeypatch.setattr(demo_backend, "_KEPT", 2)
    backend = DemoBackend(here)
    for key in "abc":
        await backend.submit(job(key))
    assert await backend.find("a", None) == Absent()
    assert await backend.find("b", None) == Waiting()


async def test_it_tells_of_each_begin_and_each_end(autojump_clock: MockClock) -> None:
    """Once, within a step of it."""
    heard = list[tuple[str, float]]()
    backend = DemoBackend(here)
    await backend.submit(job(steps=20))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(backend.watch, lambda key: heard.append((key, trio.current_time())))
        await trio.sleep(5)
        nursery.cancel_scope.cancel()
    await backend.aclose()
    assert [key for key, _ in heard] == ["key", "key"]
    begin, end = (at for _, at in heard)
    assert 0.1 <= begin <= 0.2
    assert 1.1 <= end <= 1.2


async def test_the_settings_choose_the_backend(tmp_path: Path) -> None:
    """An address is a ComfyUI's; without one it is the embedded one."""
    url = "http://127.0.0.1:8188"
    assert isinstance(make_backend(settings(tmp_path), MemberTransport), DemoBackend)
    there = make_backend(settings(tmp_path, backend_url=url), MemberTransport)
    assert isinstance(there, ComfyUi)
