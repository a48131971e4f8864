"""The file of intents: checked at start, replaced as a whole, in a thread."""

import os
import stat
import threading

import pytest
import trio
from structlog.testing import capture_logs

from anvil_trio.config.problems import ConfigError
from anvil_trio.intent.document import MAX_STATE_BYTES, parse_state, render_state
from anvil_trio.intent.file import StateFile
from anvil_trio.intent.intents import Intents
from anvil_trio.names import MemberId, TierId

CLOSED = Intents().quiesced(TierId("one"), None, "upgrade")
OPEN = Intents()


@pytest.fixture
def path(tmp_path):
    """Where the file is to be."""
    return tmp_path / "canary-state.json"


def refusal(path) -> str:
    """Why a router with that file does not start."""
    with pytest.raises(ConfigError) as caught:
        StateFile(str(path))
    assert caught.value.__suppress_context__
    assert "canary" not in str(caught.value)
    return str(caught.value)


def test_a_file_that_does_not_exist_yet_says_nothing(path):
    """It is made by the first change; the check at start leaves nothing behind."""
    assert StateFile(str(path)).found == OPEN
    assert list(path.parent.iterdir()) == []


def test_what_one_process_wrote_the_next_one_finds(path):
    """Whole, with nothing else beside it, and private."""
    assert StateFile(str(path)).write(CLOSED)
    assert StateFile(str(path)).found == CLOSED
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_change_replaces_the_file(path):
    """Whoever has it open reads the old one to its end; there is never half a file."""
    file = StateFile(str(path))
    file.write(CLOSED)
    with path.open("rb") as old:
        file.write(CLOSED.quiesced(TierId("one"), MemberId("a"), "disk"))
        assert parse_state(old.read()) == CLOSED
    assert parse_state(path.read_bytes()) != CLOSED


def test_it_is_on_the_disk_before_it_is_in_place(path, monkeypatch):
    """Flushed, then renamed, then the directory flushed, in that order."""
    steps = []
    flush, rename = os.fsync, os.replace
    file = StateFile(str(path))
    kind = {True: "directory", False: "file"}

    def fsync(descriptor):
        steps.append(kind[stat.S_ISDIR(os.fstat(descriptor).st_mode)])
        flush(descriptor)

    def replace(source, target):
        steps.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    assert file.write(CLOSED)
    assert steps == ["file", "rename", "directory"]


def test_what_a_killed_process_left_behind_is_in_nobodys_way(path):
    """Half a temporary file is replaced, and never read."""
    path.with_name(f"{path.name}.tmp").write_bytes(b'{"version": 1, "ti')
    file = StateFile(str(path))
    assert file.found == OPEN
    assert file.write(CLOSED)
    assert StateFile(str(path)).found == CLOSED


def test_a_link_is_followed(path, tmp_path):
    """What it points to is replaced, and the link stays."""
    target = tmp_path / "real.json"
    target.write_bytes(render_state(CLOSED))
    path.symlink_to(target)
    file = StateFile(str(path))
    assert file.found == CLOSED
    file.write(OPEN)
    assert path.is_symlink()
    assert parse_state(target.read_bytes()) == OPEN


@pytest.mark.parametrize(
    "data",
    [
        b"",
        render_state(CLOSED)[:-5],
        b'{"version": 1, "tiers": {}, "tiers": {}}',
        b" " * MAX_STATE_BYTES + render_state(CLOSED),
        b"\xff",
    ],
    ids=["empty", "torn", "a name twice", "too large", "no text"],
)
def test_a_damaged_file_refuses_to_start(data, path):
    """By the name of the key; the file stays as it is, for whoever repairs it."""
    path.write_bytes(data)
    assert refusal(path) == (
        "server.admission_state_path: must name a file that this router wrote; this one is damaged,"
        " too large or of another version"
    )
    assert path.read_bytes() == data


def test_a_file_that_could_not_be_replaced_refuses_to_start(path, tmp_path):
    """No directory, a directory, a pipe, a loop of links, no name at all: one fixed text."""
    fifo, loop = tmp_path / "canary-fifo", tmp_path / "canary-loop"
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    for unusable in (path / "state.json", tmp_path, fifo, loop, f"{path}\0"):
        assert refusal(unusable).startswith("server.admission_state_path: must name a regular file")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_directory_refuses_to_start(path):
    """Nothing could be remembered there."""
    path.parent.chmod(0o500)
    assert refusal(path).startswith("server.admission_state_path")


def test_a_home_is_expanded(tmp_path, monkeypatch):
    """`~` is the user's home, as in every other path."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert StateFile("~/state.json").write(CLOSED)
    assert (tmp_path / "state.json").exists()


async def test_a_full_disk_is_told_and_changes_nothing(path, monkeypatch):
    """False and one line; the old file stays whole."""
    file = StateFile(str(path))
    file.write(CLOSED)

    def full(_descriptor):
        raise OSError(28, "No space left on device", "/canary")

    monkeypatch.setattr(os, "fsync", full)
    with capture_logs() as lines:
        assert not await file.save(OPEN)
    assert lines == [{"event": "admission_state_write_failed", "log_level": "warning"}]
    assert parse_state(path.read_bytes()) == CLOSED


def test_a_directory_that_cannot_be_flushed_is_no_failure(path, monkeypatch):
    """The file is in place then, so to say otherwise would be wrong."""
    file = StateFile(str(path))
    flush = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    assert file.write(CLOSED)
    assert parse_state(path.read_bytes()) == CLOSED


async def test_saving_does_not_hold_up_the_loop(path, monkeypatch):
    """Other tasks run while the disk is slow."""
    file = StateFile(str(path))
    has_run, flush = threading.Event(), os.fsync

    def slow(descriptor):
        assert has_run.wait(5), "the loop stood still"
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", slow)

    async def run() -> None:
        await trio.lowlevel.checkpoint()
        has_run.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        assert await file.save(CLOSED)


async def test_a_cancel_comes_before_the_write_or_not_at_all(path, monkeypatch):
    """So what is on disk is what the caller goes on to do."""
    file = StateFile(str(path))
    begun, go_on, flush = trio.Event(), threading.Event(), os.fsync
    token = trio.lowlevel.current_trio_token()

    def slow(descriptor):
        token.run_sync_soon(begun.set)
        assert go_on.wait(5)
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    went_on = []

    async def save(scope: trio.CancelScope) -> None:
        with scope:
            assert await file.save(CLOSED)
            went_on.append(parse_state(path.read_bytes()))

    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()
        nursery.start_soon(save, scope)
        await begun.wait()
        scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert went_on == []
        go_on.set()
    assert went_on == [CLOSED]
    assert not scope.cancelled_caught
    late = trio.CancelScope()
    late.cancel()
    with late:
        await file.save(OPEN)
    assert late.cancelled_caught
    assert parse_state(path.read_bytes()) == CLOSED
