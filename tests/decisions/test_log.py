import json

from anvil_trio.actors.bus import Bus
from anvil_trio.decisions.events import Decided, Event
from anvil_trio.decisions.journal import Journal
from anvil_trio.decisions.log import DecisionLog
from anvil_trio.decisions.ring import Ring
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
