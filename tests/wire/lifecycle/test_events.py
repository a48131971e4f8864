"""What was done, as lines of a file and as told to another program."""

import json
import os
import signal
import sys

import pytest
import trio

from anvil_trio.lifecycle import bounded_run as bounded_module
from anvil_trio.lifecycle import events as events_module
from anvil_trio.lifecycle.bounded_run import Ended, run_bounded
from anvil_trio.lifecycle.events import EVENT_KEYS, EventKind, Events
from anvil_trio.lifecycle.model import EventSettings
from tests.support.wire import until
from tests.wire.lifecycle.alive import is_alive

pytestmark = pytest.mark.wire


async def test_each_event_is_one_line(tmp_path):
    """Its keys are fixed; nobody else is told unless the operator wants that."""
    events = Events(tmp_path / "home", EventSettings())
    assert await events.record(EventKind.SERVE_UP, "one")
    assert await events.record(EventKind.PROMOTE_APPLIED, "swap", "000001-promotion-swap")
    lines = (tmp_path / "home" / "events.jsonl").read_text().splitlines()
    first, second = map(json.loads, lines)
    assert tuple(first) == EVENT_KEYS
    assert (first["kind"], first["subject"], first["operation"]) == ("serve.up", "one", None)
    assert (second["kind"], second["operation"]) == ("promote.applied", "000001-promotion-swap")


async def test_another_program_is_told_in_words_of_its_own(tmp_path):
    """Once per event, without a shell; what is not set is left out."""
    script = "import sys; open(sys.argv[1], 'a').write(' '.join(sys.argv[2:]))"
    told = tmp_path / "told"
    command = (sys.executable, "-c", script, str(told))
    settings = EventSettings(enabled=True, command=command, node="here")
    assert await Events(tmp_path, settings).record(EventKind.SERVE_DOWN, "one")
    assert told.read_text() == (
        "record --kind serve.down --subject one --node here --producer anvil-serving"
    )


@pytest.mark.parametrize("script", ["import sys; sys.exit(3)", "import time; time.sleep(300)"])
async def test_a_program_that_fails_or_hangs_is_told_of_and_ended(tmp_path, script, monkeypatch):
    """The event is in the file all the same, and nothing waits longer than the bound."""
    monkeypatch.setattr(events_module, "_WITHIN_S", 1.0)
    settings = EventSettings(enabled=True, command=(sys.executable, "-c", script))
    assert not await Events(tmp_path, settings).record(EventKind.SERVE_UP, "one")
    assert (tmp_path / "events.jsonl").exists()


async def test_a_file_that_cannot_be_written_fails_nothing(tmp_path):
    """It is said, and the operation goes on."""
    (tmp_path / "events.jsonl").mkdir()
    assert not await Events(tmp_path, EventSettings()).record(EventKind.SERVE_UP, "one")


async def test_a_full_file_makes_room(tmp_path, monkeypatch):
    """The one before is kept."""
    monkeypatch.setattr(events_module, "_MAX_FILE_BYTES", 10)
    events = Events(tmp_path, EventSettings())
    for _ in range(3):
        await events.record(EventKind.SERVE_UP, "one")
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 1
    assert len((tmp_path / "events.jsonl.1").read_text().splitlines()) == 1


async def test_a_program_that_says_too_much_is_heard_in_part(tmp_path):
    """What is kept of it is bounded, what is not there is None."""
    loud = (sys.executable, "-c", "print('x' * 1_000_000)")
    ended = await run_bounded(loud, within_s=20, folder=tmp_path, is_heard=True)
    assert ended is not None
    assert (ended.status, len(ended.output)) == (0, 65_536)
    assert await run_bounded(loud, within_s=20, folder=tmp_path) == Ended(0)
    assert await run_bounded(("/no/such",), within_s=1, folder=tmp_path) is None


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.parametrize("said", ["", "yes &"])
async def test_what_a_program_leaves_behind_is_not_waited_for(tmp_path, is_heard, said):
    """Its own end counts, whatever a child holds open or goes on to say; the child lives on."""
    script = f"echo told; sleep 30 & echo $! > left; {said} echo $! >> left; exit 3"
    start = trio.current_time()
    ended = await run_bounded(("sh", "-c", script), within_s=20, folder=tmp_path, is_heard=is_heard)
    assert trio.current_time() - start < 10
    assert ended is not None
    assert ended.status == 3
    assert ended.output[:5] == (b"told\n" if is_heard else b"")
    for pid in set((tmp_path / "left").read_text().split()):
        os.kill(int(pid), signal.SIGKILL)  # started a moment ago, by us


async def test_a_program_that_is_late_ends_with_all_that_it_started(tmp_path, monkeypatch):
    """Also with what does not listen; and it never had our token."""
    monkeypatch.setattr(bounded_module, "_PATIENCE_S", 0.5)
    monkeypatch.setenv("ANVIL_ROUTER_TOKEN", "kanarie")
    script = (
        "env > environ; trap '' TERM; (trap '' TERM; sleep 30) & echo $! > left; sleep 30; sleep 30"
    )
    start = trio.current_time()
    assert await run_bounded(("sh", "-c", script), within_s=1, folder=tmp_path) is None
    assert trio.current_time() - start < 5
    assert "kanarie" not in (tmp_path / "environ").read_text()
    left = int((tmp_path / "left").read_text())
    await until(lambda: not is_alive(left))


async def test_a_pipe_in_the_place_of_the_events_is_not_waited_for(tmp_path):
    """Nobody reads it: the event is told as not recorded, at once."""
    os.mkfifo(tmp_path / "events.jsonl")
    with trio.fail_after(5):
        assert not await Events(tmp_path, EventSettings()).record(EventKind.SERVE_UP, "one")
