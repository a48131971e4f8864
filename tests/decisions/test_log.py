import json

import trio

from anvil_trio.actors.bus import Bus
from anvil_trio.decisions.events import Decided, Event
from anvil_trio.decisions.export import QUEUE, SpanExport
from anvil_trio.decisions.journal import Journal
from anvil_trio.decisions.log import DecisionLog
from anvil_trio.decisions.ring import Ring
from anvil_trio.facts import Silence
from tests.unit.decisions.samples import record


async def test_one_call_reaches_memory_disk_and_watchers(tmp_path):
    """A recorded request is in the ring, in the journal and on the bus when the call returns."""
    path = tmp_path / "decisions.jsonl"
    bus = Bus[Event]()
    kept = record(request_id="call-1")
    with Journal(str(path)) as journal, bus.subscribe(1) as feed:
        log = DecisionLog(Ring(), journal, bus)
        log.record(kept)
        assert list(log.ring) == [kept]
        assert json.loads(path.read_text())["request_id"] == "call-1"
        assert await feed.receive() == Decided(kept)


def test_a_router_without_a_journal_records_in_memory():
    """`decision_log_path` is optional; the ring is not."""
    log = DecisionLog(Ring(), None, Bus[Event]())
    log.record(record())
    assert len(log.ring) == 1


def test_a_failing_journal_keeps_nothing_from_memory_and_watchers(tmp_path):
    """A sink that fails never fails the request, and hides it from nobody else."""
    journal = Journal(str(tmp_path / "decisions.jsonl"))
    journal.close()
    bus = Bus[Event]()
    log = DecisionLog(Ring(), journal, bus)
    with bus.subscribe(2) as feed:
        log.record(record())
        assert feed.dropped == 0
    assert len(log.ring) == 1
    assert journal.failures == 1


def test_lost_lines_are_told_where_there_is_a_journal(tmp_path):
    """How many records are not in the file; nothing to tell without a file."""
    assert DecisionLog(Ring(), None, Bus[Event]()).write_failures is None
    with Journal(str(tmp_path / "decisions.jsonl")) as journal:
        log = DecisionLog(Ring(), journal, Bus[Event]())
        assert log.write_failures == 0
    log.record(record())
    assert log.write_failures == 1


async def test_a_record_is_offered_to_the_trace_export():
    """With a collector each record is queued for it as well, in the same call."""

    async def nowhere(_body: bytes) -> Silence:
        await trio.lowlevel.checkpoint()
        return Silence.BROKEN

    spans = SpanExport(nowhere)
    log = DecisionLog(Ring(3), None, Bus[Event](), spans)
    assert log.ring.capacity == 3
    for _ in range(QUEUE + 1):
        log.record(record())
    assert spans.dropped["queue_full"] == 1
