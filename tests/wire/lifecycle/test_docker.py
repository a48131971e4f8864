"""Serves as containers: what the docker command line is asked, and what its answers mean."""

import pytest

from anvil_trio.lifecycle.docker import DockerContainers
from anvil_trio.lifecycle.faults import LifecycleFailed
from anvil_trio.lifecycle.manifest import parse_manifest
from anvil_trio.lifecycle.native import Presence
from tests.lifecycle.samples import docker

pytestmark = pytest.mark.wire

FAKE = """#!/bin/sh
echo "$*" >> "$0.calls"
test -e "$0.broken" && exit 1
case "$1 $2" in
  "version "*) test -e "$0.down" && exit 1; echo 27.0 ;;
  "container inspect") test -e "$0.answer" && exec cat "$0.answer"
    test -e "$0.none" -o -e "$0.down" && exit 1
    test -e "$0.running" && echo true || echo false ;;
  "container start"|"up "*) touch "$0.running" ;;
  "container stop") test -e "$0.stubborn" || rm -f "$0.running" ;;
esac
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A docker command that writes down what it was asked; the only program there is."""
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "docker"
    path.write_text(FAKE)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return path


def serve(**keys: str):
    """One container."""
    return parse_manifest([docker("one", **keys).encode()]).serves[0]


def calls(fake) -> list[str]:
    """What docker was asked, in order, without the looks at what runs."""
    path = fake.with_name("docker.calls")
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if not line.startswith(("container inspect ", "version "))]


async def test_a_container_is_started_found_and_stopped(tmp_path, fake):
    """By its name, once, and with its time to end."""
    boxes, one = DockerContainers(tmp_path), serve(stop_timeout_s="7")
    assert await boxes.find(one) is Presence.STOPPED
    await boxes.stop(one)
    await boxes.start(one)
    await boxes.start(one)
    assert await boxes.find(one) is Presence.RUNNING
    await boxes.stop(one)
    assert await boxes.find(one) is Presence.STOPPED
    assert calls(fake) == ["container start box", "container stop -t 7 box"]
    asked = fake.with_name("docker.calls").read_text()
    assert "container inspect --format {{.State.Running}} box\n" in asked
    assert "version" not in asked


async def test_an_up_command_is_split_once_and_gets_no_shell(tmp_path, fake):
    """Its placeholders are filled after it was split, so no path can become two words."""
    folder = tmp_path / "a b"
    folder.mkdir()
    one = serve(up="\"docker up '{dir}' $HOME {port}\"")
    await DockerContainers(folder).start(one)
    assert calls(fake) == [f"up {folder} $HOME 8101"]


async def test_a_docker_that_fails_is_a_fixed_refusal(tmp_path, fake):
    """What it says is shown to nobody."""
    boxes, one = DockerContainers(tmp_path), serve()
    await boxes.start(one)
    fake.with_name("docker.broken").touch()
    assert await boxes.find(one) is Presence.UNKNOWN
    for work in (boxes.start, boxes.stop):
        with pytest.raises(LifecycleFailed, match=r"^docker_failed$"):
            await work(one)


async def test_a_container_that_is_not_there_does_not_run(tmp_path, fake):
    """Docker says so with the status of a service that is not there; the service answers."""
    boxes, one = DockerContainers(tmp_path), serve()
    fake.with_name("docker.none").touch()
    assert await boxes.find(one) is Presence.STOPPED
    await boxes.stop(one)
    assert calls(fake) == []


async def test_a_service_that_is_not_there_is_not_taken_for_a_stopped_container(tmp_path, fake):
    """Its containers may run: a stop is tried, and told as failed."""
    boxes, one = DockerContainers(tmp_path), serve()
    fake.with_name("docker.down").touch()
    assert await boxes.find(one) is Presence.UNKNOWN


@pytest.mark.parametrize("said", ["", "<no value>", "true true", "running", "True"])
async def test_what_is_neither_true_nor_false_is_not_known(tmp_path, fake, said):
    """A word that docker never says here means nothing."""
    fake.with_name("docker.answer").write_text(said)
    assert await DockerContainers(tmp_path).find(serve()) is Presence.UNKNOWN


async def test_a_container_that_runs_after_its_stop_is_told(tmp_path, fake):
    """Whatever docker's status was: it was asked again."""
    boxes, one = DockerContainers(tmp_path), serve()
    await boxes.start(one)
    fake.with_name("docker.stubborn").touch()
    with pytest.raises(LifecycleFailed, match=r"^serve_not_stopped$"):
        await boxes.stop(one)


async def test_without_docker_nothing_is_known_and_nothing_done(tmp_path, monkeypatch):
    """A machine without the command says so, in fixed words."""
    monkeypatch.setenv("PATH", str(tmp_path))
    boxes, one = DockerContainers(tmp_path), serve()
    assert await boxes.find(one) is Presence.UNKNOWN
    for work in (boxes.start, boxes.stop):
        with pytest.raises(LifecycleFailed, match=r"^docker_unavailable$"):
            await work(one)
