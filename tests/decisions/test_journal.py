import json
import os
from dataclasses import dataclass

import pytest
from structlog.testing import capture_logs

from anvil_trio.config.problems import ConfigError
from anvil_trio.decisions.journal import Journal
from tests.unit.decisions.samples import record


@dataclass
class FullDisk:
    """An `os.write` that takes at most `room` bytes of all that follow, then no more."""

    room: int

    def __call__(self, file: int, data: bytes) -> int:
        if self.room == 0:
            raise OSError(28, "No space left on device", "/private/path")
        taken = os.writev(file, [data[: self.room]])
        self.room -= taken
        return taken


@pytest.fixture
def path(tmp_path):
    """Where the journal is to be."""
    return tmp_path / "decisions.jsonl"


def lines(path):
    """What a reader of the file sees."""
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def test_a_record_is_on_disk_when_append_returns(path):
    """Appending is synchronous: nothing is buffered that a kill could lose."""
    with Journal(str(path)) as journal:
        journal.append(record(request_id="call-1"))
        assert [line["request_id"] for line in lines(path)] == ["call-1"]


def test_one_record_is_one_write(path, monkeypatch):
    """Two processes that append to one file never mix their lines."""
    writes = []
    real = os.write

    def write(file, data):
        writes.append(data)
        return real(file, data)

    monkeypatch.setattr(os, "write", write)
    with Journal(str(path)) as journal:
        journal.append(record())
    assert [data.count(b"\n") for data in writes] == [1]


def test_what_an_earlier_process_wrote_stays(path):
    """The file is appended to, never emptied."""
    for number in range(2):
        with Journal(str(path)) as journal:
            journal.append(record(request_id=f"call-{number}"))
    assert [line["request_id"] for line in lines(path)] == ["call-0", "call-1"]


def test_half_a_line_of_an_earlier_process_spoils_only_itself(path):
    """After a crash in the middle of a line the next record starts on its own."""
    path.write_text('{"request_id":"ca')
    with Journal(str(path)) as journal:
        journal.append(record(request_id="call-1"))
        journal.append(record(request_id="call-2"))
    torn, *rest = path.read_text().splitlines()
    assert torn == '{"request_id":"ca'
    assert [json.loads(line)["request_id"] for line in rest] == ["call-1", "call-2"]


def test_only_the_owner_can_read_a_new_journal(path):
    """The file is private from the start."""
    with Journal(str(path)):
        assert path.stat().st_mode & 0o777 == 0o600


def unusable_paths(tmp_path):
    """Paths that no journal can be kept at."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    return {
        "missing folder": str(tmp_path / "nowhere" / "private.jsonl"),
        "folder": str(tmp_path / "folder"),
        "pipe": str(tmp_path / "pipe"),
        "device": "/dev/null",
        "zero byte": "private\0path",
        "unknown home": "~nobody-of-that-name/private.jsonl",
    }


@pytest.mark.parametrize(
    "kind", ["missing folder", "folder", "pipe", "device", "zero byte", "unknown home"]
)
def test_an_unusable_path_is_refused_at_start_by_its_key(kind, tmp_path):
    """The refusal names `server.decision_log_path` and shows nothing of the path."""
    with pytest.raises(ConfigError) as refused:
        Journal(unusable_paths(tmp_path)[kind])
    assert str(refused.value) == (
        "server.decision_log_path: must name a regular file that can be appended to, "
        "in a directory that exists"
    )
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_a_home_directory_is_expanded(path, monkeypatch):
    """`~` in the configured path means the operator's home."""
    monkeypatch.setenv("HOME", str(path.parent))
    with Journal("~/decisions.jsonl") as journal:
        journal.append(record())
    assert len(lines(path)) == 1


def test_a_full_disk_is_counted_and_never_raises(path, monkeypatch):
    """A record that cannot be written is lost from the file alone, and the count says so."""
    monkeypatch.setattr(os, "write", FullDisk(room=0))
    with capture_logs() as events, Journal(str(path)) as journal:
        journal.append(record())
        assert journal.failures == 1
    assert events == [{"event": "decision_log_write_failed", "failures": 1, "log_level": "warning"}]


def test_a_long_failure_writes_few_event_lines(path, monkeypatch):
    """Event lines come at the first, second, fourth ... failure, however long it lasts."""
    monkeypatch.setattr(os, "write", FullDisk(room=0))
    with capture_logs() as events, Journal(str(path)) as journal:
        for _ in range(1000):
            journal.append(record())
        assert journal.failures == 1000
    assert [event["failures"] for event in events] == [2**n for n in range(10)]


def test_a_stderr_that_fails_too_fails_no_request(path, monkeypatch):
    """The event line about a failing disk may fail as well; the append still returns."""

    class Deaf:
        def log(self, *_args, **_kwargs):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", FullDisk(room=0))
    monkeypatch.setattr("anvil_trio.log_events._log", Deaf())
    with Journal(str(path)) as journal:
        journal.append(record())
        assert journal.failures == 1


def test_half_a_written_line_spoils_only_itself(path, monkeypatch):
    """When the disk fills inside a line, the next record that fits starts on its own line."""
    with Journal(str(path)) as journal:
        with capture_logs(), monkeypatch.context() as full:
            full.setattr(os, "write", FullDisk(room=20))
            journal.append(record(request_id="torn"))
            journal.append(record(request_id="lost"))
        journal.append(record(request_id="whole"))
        assert journal.failures == 2
    torn, whole = path.read_text().splitlines()
    assert len(torn) == 20
    assert json.loads(whole)["request_id"] == "whole"


def test_a_closed_journal_counts_instead_of_writing(path):
    """A record after the close never reaches a file that took over the descriptor."""
    journal = Journal(str(path))
    journal.close()
    journal.close()
    with path.with_name("other").open("wb"), capture_logs():
        journal.append(record())
    assert journal.failures == 1
    assert path.with_name("other").read_bytes() == b""
