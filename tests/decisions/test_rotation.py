"""A decision log that is full gives way to a new one, and no record is lost by it."""

import json
import os

import pytest
from structlog.testing import capture_logs

from anvil_trio.decisions.journal import ROTATE_BYTES, Journal, earlier
from anvil_trio.decisions.record import render_line
from tests.unit.decisions.samples import record

LINE = len(render_line(record(request_id="call-0")))
FAILED = {"event": "decision_log_rotation_failed", "log_level": "warning"}


@pytest.fixture
def path(tmp_path):
    """Where the journal is to be."""
    return tmp_path / "decisions.jsonl"


def ids(path):
    """Whose records a file holds."""
    return [json.loads(line)["request_id"] for line in path.read_text().splitlines()]


def add(journal, *numbers):
    """Append these calls, each a line of the same length."""
    for number in numbers:
        journal.append(record(request_id=f"call-{number}"))


def test_a_file_is_64_mib():
    """The size that the documentation names."""
    assert ROTATE_BYTES == 64 * 1024 * 1024


def test_a_full_file_gives_way_to_a_new_one(path):
    """The size is looked at before a write; the file of that size becomes the earlier one."""
    with Journal(str(path), rotate_bytes=2 * LINE) as journal:
        add(journal, 1, 2)
        assert not earlier(path).exists()
        add(journal, 3)
        assert (ids(earlier(path)), ids(path)) == (["call-1", "call-2"], ["call-3"])
        assert path.stat().st_mode & 0o777 == 0o600


def test_two_generations_are_kept(path):
    """The one before the last goes."""
    with Journal(str(path), rotate_bytes=LINE) as journal:
        add(journal, 1, 2, 3)
    assert (ids(earlier(path)), ids(path)) == (["call-2"], ["call-3"])


def test_a_file_that_was_full_before_is_rotated_too(path):
    """The size is that of the file, not of what this process wrote."""
    with Journal(str(path)) as journal:
        add(journal, 1)
    with Journal(str(path), rotate_bytes=LINE) as journal:
        add(journal, 2)
    assert (ids(earlier(path)), ids(path)) == (["call-1"], ["call-2"])


def test_half_a_line_at_the_end_of_a_full_file_stays_there(path):
    """The new file begins with a whole line."""
    path.write_text("x" * LINE)
    with Journal(str(path), rotate_bytes=LINE) as journal:
        add(journal, 1)
    assert earlier(path).read_text() == "x" * LINE
    assert path.read_text().startswith("{")


def test_where_no_rename_is_possible_the_file_grows_on(path):
    """A rotation that fails loses no record and is told of once, not with every request."""
    earlier(path).mkdir()
    with capture_logs() as events, Journal(str(path), rotate_bytes=LINE) as journal:
        add(journal, 1, 2, 3)
        assert journal.failures == 0
    assert ids(path) == ["call-1", "call-2", "call-3"]
    assert events == [FAILED]


def test_a_failed_rotation_is_tried_again_after_a_mib(path):
    """What was in the way may be gone by then."""
    earlier(path).mkdir()
    with capture_logs() as events, Journal(str(path), rotate_bytes=LINE) as journal:
        add(journal, 1, 2)
        earlier(path).rmdir()
        with path.open("ab") as file:
            file.write(b"\n" * 1_048_576)
        add(journal, 3)
    assert ids(path) == ["call-3"]
    assert events == [FAILED]


def test_where_no_new_file_can_be_made_the_old_one_goes_on(path, monkeypatch):
    """After the rename there may be no room for a file: records go on into the one that is open."""
    real = os.open

    def full(name, *rest, **more):
        if name == path:
            raise OSError(28, "No space left on device")
        return real(name, *rest, **more)

    with Journal(str(path), rotate_bytes=LINE) as journal:
        add(journal, 1)
        with monkeypatch.context() as disk, capture_logs() as events:
            disk.setattr(os, "open", full)
            add(journal, 2)
        assert events == [FAILED]
        assert ids(earlier(path)) == ["call-1", "call-2"]
        with earlier(path).open("ab") as file:
            file.write(b"\n" * 1_048_576)
        add(journal, 3)
        assert ids(path) == ["call-3"]
        assert journal.failures == 0


def test_a_file_that_another_process_moved_is_not_moved_again(path):
    """Two routers with one log: the second finds it rotated, and follows without a rename."""
    with (
        Journal(str(path), rotate_bytes=2 * LINE) as first,
        Journal(str(path), rotate_bytes=2 * LINE) as second,
    ):
        add(first, 1)
        add(second, 2)
        add(first, 3)
        add(second, 4)
    assert (ids(earlier(path)), ids(path)) == (["call-1", "call-2"], ["call-3", "call-4"])


def test_a_pipe_in_its_place_is_not_written_to(path):
    """Whatever stands where the new file should be must be a regular file."""
    with Journal(str(path), rotate_bytes=LINE) as journal:
        add(journal, 1)
        path.rename(path.with_name("moved"))
        os.mkfifo(path)
        with capture_logs() as events:
            add(journal, 2)
        assert events == [FAILED]
        assert ids(path.with_name("moved")) == ["call-1", "call-2"]


def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch):
    """A later change of the working directory moves no log."""
    monkeypatch.chdir(tmp_path)
    with Journal("decisions.jsonl", rotate_bytes=LINE) as journal:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        add(journal, 1, 2)
    assert ids(tmp_path / "decisions.jsonl.1") == ["call-1"]
    assert ids(tmp_path / "decisions.jsonl") == ["call-2"]
