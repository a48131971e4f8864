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
case "$1" in
  inspect) test -e "$0.running" && echo true || echo false ;;
  start|up) touch "$0.running" ;;
  stop) rm -f "$0.running" ;;
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
    return [line for line in lines if not line.startswith("inspect ")]


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
    assert calls(fake) == ["start box", "stop --time 7 box"]
    assert "inspect --format {{.State.Running}} box" in fake.with_name("docker.calls").read_text()


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
    assert await boxes.find(one) is Presence.STOPPED
    with pytest.raises(LifecycleFailed, match=r"^docker_failed$"):
        await boxes.start(one)


async def test_without_docker_nothing_is_known_and_nothing_done(tmp_path, monkeypatch):
    """A machine without the command says so, in fixed words."""
    monkeypatch.setenv("PATH", str(tmp_path))
    boxes, one = DockerContainers(tmp_path), serve()
    assert await boxes.find(one) is Presence.UNKNOWN
    for work in (boxes.start, boxes.stop):
        with pytest.raises(LifecycleFailed, match=r"^docker_unavailable$"):
            await work(one)
