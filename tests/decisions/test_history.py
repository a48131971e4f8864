"""What is read of a decision log: the newest of it, bounded, by a thread."""

import os
import threading
from pathlib import Path

import msgspec
import pytest
import trio

from anvil_trio.decisions.history import MOST_RECORDS, History, Unreadable
from anvil_trio.decisions.journal import earlier
from anvil_trio.decisions.record import render_line
from anvil_trio.decisions.ring import by_id
from tests.unit.decisions.samples import ranked_record, record


@pytest.fixture
def path(tmp_path):
    """Where the log is."""
    return tmp_path / "decisions.jsonl"


def line(number: int, **more) -> bytes:
    """The line of one call."""
    one = record(f"req_{number:032x}", request_id=f"call-{number}")
    return render_line(msgspec.structs.replace(one, **more))


async def found(path, most=MOST_RECORDS, wanted=lambda _: True):
    """The callers' ids of what is found, and whether there may be more."""
    what = await History(path).search(wanted, most)
    return [one.request_id for one in what.records], what.may_be_more


async def test_a_record_is_read_as_it_was_written(path):
    """Every field comes back, the evidence of its selection too."""
    path.write_bytes(render_line(ranked_record(is_affinity_hit=False)))
    what = await History(path).search(lambda _: True)
    assert what.records == (ranked_record(is_affinity_hit=False),)


async def test_the_newest_come_first_over_both_generations(path):
    """What was rotated away is older than what was not."""
    earlier(path).write_bytes(line(1) + line(2))
    path.write_bytes(line(3) + line(4))
    assert await found(path) == (["call-4", "call-3", "call-2", "call-1"], False)


async def test_one_generation_is_enough(path):
    """In the middle of a rotation there may be either."""
    path.write_bytes(line(1))
    assert await found(path) == (["call-1"], False)
    path.rename(earlier(path))
    assert await found(path) == (["call-1"], False)


async def test_a_file_that_is_both_generations_is_read_once(path):
    """A rotation between the two looks shows no record twice."""
    path.write_bytes(line(1))
    os.link(path, earlier(path))
    assert await found(path) == (["call-1"], False)


async def test_only_so_many_records_are_kept(path):
    """At most fifty, whatever was asked for, and it is said that there are more."""
    path.write_bytes(b"".join(map(line, range(60))))
    ids, may_be_more = await found(path, most=1000)
    assert (len(ids), ids[0], may_be_more) == (50, "call-59", True)
    assert await found(path, most=1) == (["call-59"], True)
    assert (await found(path, wanted=lambda one: one.request_id == "call-7"))[0] == ["call-7"]


async def test_exactly_so_many_are_all(path):
    """Fifty records of fifty are the whole."""
    path.write_bytes(b"".join(map(line, range(50))))
    ids, may_be_more = await found(path)
    assert (len(ids), may_be_more) == (50, False)


async def test_no_more_than_the_newest_mib_of_a_file_is_read(path):
    """What is older is not seen, the line that was cut in two neither, and both are said."""
    filler = b"x" * 59_999 + b"\n"
    path.write_bytes(line(1) + filler * 18 + line(2))
    assert path.stat().st_size > 1_048_576
    assert await found(path) == (["call-2"], True)
    path.write_bytes(line(1) + filler * 17 + line(2))
    assert path.stat().st_size < 1_048_576
    assert await found(path) == (["call-2", "call-1"], False)


async def test_a_line_that_is_too_long_is_no_record(path):
    """64 KiB is the most, and enough for every record."""
    fields = line(1)[:-2]
    for size, ids in ((65_536, ["call-1"]), (65_537, [])):
        padded = fields + b',"pad":"' + b"x" * (size - len(fields) - 10) + b'"}'
        assert len(padded) == size
        path.write_bytes(padded + b"\n")
        assert (await found(path))[0] == ids


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'"text"',
        b"\xff\xfe",
        line(9).replace(b'"chat"', b'"poem"').strip(),
        line(9).replace(b'"latency_ms":2000', b'"latency_ms":"2000"').strip(),
        line(9)[:40],
        b'{"x":' + b"[" * 60_000,
        line(9)[:-2] + b',"x":' + b'{"x":' * 9_000,
    ],
)
async def test_what_is_no_record_is_skipped(odd, path):
    """A torn line, another program's line, or an unknown word costs no neighbour anything."""
    path.write_bytes(line(1) + odd + b"\n" + line(2))
    assert await found(path) == (["call-2", "call-1"], False)


async def test_only_fields_of_a_record_are_read(path):
    """Whatever else stands in a line is not looked at, and a forged pair is dropped whole."""
    forged = line(1).replace(b'{"attempts"', b'{"base_url":"http://kanarie","attempts"')
    forged = forged.replace(b'"route"', b'"replica_member_id":"member-a","route"')
    path.write_bytes(forged)
    what = await History(path).search(lambda _: True)
    assert "kanarie" not in str(what.records)
    assert what.records[0].replica_member_id is None


async def test_a_log_that_is_not_there_is_unreadable(path):
    """No file is something else than no record."""
    with pytest.raises(Unreadable):
        await found(path)


async def test_a_log_that_is_no_file_is_unreadable(path):
    """A pipe would make a reader wait, a folder has no lines."""
    os.mkfifo(path)
    with pytest.raises(Unreadable) as refused:
        await found(path)
    assert refused.value.__cause__ is None
    path.unlink()
    path.mkdir()
    with pytest.raises(Unreadable):
        await found(path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_log_that_is_no_file_keeps_nothing_open(make, path):
    """Whoever asks for a history that cannot be read costs the router no descriptor."""
    make(path)
    make(earlier(path))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(OSError, match=r"^$"):
            History(path)._read(lambda _: True, 1)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


async def test_a_disk_that_hangs_costs_two_seconds_and_two_threads(path, autojump_clock):
    """A search is bounded also where others hang before it, and the loop never waits."""
    path.write_bytes(line(1))
    history, stuck, started = History(path), threading.Event(), []

    def hang(_record):
        started.append(1)
        stuck.wait(30)
        return True

    async def search():
        with pytest.raises(Unreadable):
            await history.search(hang)

    try:
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(search)
        assert trio.current_time() == 2.0
        assert len(started) <= 2
    finally:
        stuck.set()


def test_a_generated_id_is_looked_for_among_the_routers_own():
    """No caller can pass for another request by sending its id."""
    theirs = "req_" + "a" * 32
    assert by_id(theirs)(record(theirs))
    assert not by_id(theirs)(record(request_id=theirs))
    assert by_id("call-1")(record(request_id="call-1"))
    assert not by_id("call-1")(record("call-1"))
