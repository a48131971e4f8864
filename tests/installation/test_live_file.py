"""The router's file on a real disk."""

import os
import stat

import pytest

from anvil_trio.config.document import MAX_CONFIG_BYTES
from anvil_trio.installation.faults import InstallFailed
from anvil_trio.installation.live_file import LiveFile
from anvil_trio.installation.lock import hold_lock
from tests.unit.installation.test_journal import JOURNAL


@pytest.fixture
def path(tmp_path):
    """Where the file is."""
    return tmp_path / "router.toml"


def test_exactly_these_bytes_are_written(path):
    """T015: no line end is changed, nothing is left beside the file."""
    path.write_bytes(b"old")
    data = b"a\r\nb\rc\n\x00\xff"
    LiveFile(path).write(data)
    assert LiveFile(path).read() == path.read_bytes() == data
    assert [each.name for each in path.parent.iterdir()] == ["router.toml"]


def test_a_file_can_be_made_and_taken_away(path):
    """What is made is its owner's alone; what is not there can be taken away too."""
    live = LiveFile(path)
    assert (live.read(), live.read_backup(), live.read_journal()) == (None, None, None)
    live.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    live.write(None)
    live.write(None)
    assert not path.exists()


def test_whoever_could_read_the_file_still_can(path):
    """Its mode goes on, for the file and for what is kept of it."""
    path.write_bytes(b"old")
    path.chmod(0o640)
    live = LiveFile(path)
    live.back_up(b"old")
    live.write(b"new")
    backup = path.with_name("router.toml.bak")
    assert (live.read_backup(), live.read()) == (b"old", b"new")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, backup)] == [0o640, 0o640]


def test_the_file_behind_a_link_is_meant(path, tmp_path):
    """The link stays one."""
    real = tmp_path / "real.toml"
    real.write_bytes(b"old")
    path.symlink_to(real)
    LiveFile(path).write(b"new")
    assert path.is_symlink()
    assert real.read_bytes() == b"new"
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(InstallFailed, match="live_config_unreadable"):
        LiveFile(path).read()


def test_what_a_killed_one_was_writing_is_in_nobody_s_way(path):
    """Half a file beside it is overwritten."""
    path.with_name("router.toml.new").write_bytes(b"hal")
    LiveFile(path).write(b"new")
    assert not path.with_name("router.toml.new").exists()


@pytest.mark.parametrize("point", ["fsync", "fchmod", "replace"])
def test_a_disk_that_fails_leaves_the_old_file(path, monkeypatch, point):
    """T015: whatever fails before the rename, the old bytes are there, whole."""
    path.write_bytes(b"old")

    def failing(*_):
        raise OSError("canary")

    owner = type(path) if point == "replace" else os
    monkeypatch.setattr(owner, point, failing)
    with pytest.raises(InstallFailed) as caught:
        LiveFile(path).write(b"new")
    assert (caught.value.code, str(caught.value)) == ("live_config_not_written",) * 2
    assert path.read_bytes() == b"old"


def test_a_folder_that_cannot_be_flushed_is_no_failure(path, monkeypatch):
    """The file is in place by then."""
    real, calls = os.fsync, []

    def once(descriptor):
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError
        real(descriptor)

    monkeypatch.setattr(os, "fsync", once)
    LiveFile(path).write(b"new")
    assert (path.read_bytes(), len(calls)) == (b"new", 2)


def test_only_a_plain_file_of_a_bounded_size_is_read(path):
    """A pipe is not waited for."""
    os.mkfifo(path)
    with pytest.raises(InstallFailed, match="live_config_unreadable"):
        LiveFile(path).read()
    path.unlink()
    path.write_bytes(b"x" * (MAX_CONFIG_BYTES + 1))
    with pytest.raises(InstallFailed, match="live_config_unreadable"):
        LiveFile(path).read()
    with pytest.raises(InstallFailed, match="live_config_unreadable"):
        LiveFile(path.with_name("\0")).read()


def test_a_file_that_cannot_be_taken_away_is_told(path, monkeypatch):
    """The journal is another thing: one that stays is harmless."""
    monkeypatch.setattr(type(path), "unlink", lambda *_, **__: (_ for _ in ()).throw(OSError))
    with pytest.raises(InstallFailed, match="live_config_not_written"):
        LiveFile(path).write(None)
    LiveFile(path).remove_journal()


def test_a_journal_is_kept_beside_it(path):
    """And found again, until it is removed; a damaged one is neither guessed at nor ignored."""
    live = LiveFile(path)
    live.save_journal(JOURNAL)
    assert live.read_journal() == JOURNAL
    live.remove_journal()
    live.remove_journal()
    assert live.read_journal() is None
    path.with_name("router.toml.install").write_bytes(b"{")
    with pytest.raises(InstallFailed, match="install_journal_unreadable"):
        live.read_journal()


def test_one_at_a_time(tmp_path):
    """Whoever comes second is refused at once; the lock ends with its holder."""
    with hold_lock(tmp_path):
        with pytest.raises(InstallFailed, match="lifecycle_locked"), hold_lock(tmp_path):
            pass
    with hold_lock(tmp_path):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(InstallFailed, match="install_not_saved"), hold_lock(tmp_path / "file"):
        pass
