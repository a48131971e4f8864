"""The span export on virtual time: what is queued, what is dropped, and that nobody waits."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from anvil_trio.decisions import export
from anvil_trio.decisions.export import BATCH, FLUSH_S, QUEUE, DropReason, SpanExport
from anvil_trio.facts import Answer, Silence
from tests.support.otlp import decode
from tests.unit.decisions.samples import record

TAKEN = Answer(200, b"{}")
NONE_DROPPED = {reason.value: 0 for reason in DropReason}


class Collector:
    """Answers as a script says; `hold` makes it wait until it is let go."""

    def __init__(self, *answers: Answer | Silence) -> None:
        self.answers = list(answers)
        self.batches: list[int] = []
        self.free = trio.Event()
        self.free.set()

    def hold(self) -> None:
        self.free = trio.Event()

    async def __call__(self, body: bytes) -> Answer | Silence:
        self.batches.append(len(decode(body)))
        await self.free.wait()
        return self.answers.pop(0) if self.answers else TAKEN


@asynccontextmanager
async def running(
    post: Callable[[bytes], Awaitable[Answer | Silence]],
) -> AsyncIterator[SpanExport]:
    """An export at work; leaving the block closes it and waits for its end."""
    spans = SpanExport(post)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(spans.run, crashed)
        yield spans
        spans.close()


crashes: list[tuple[str, str]] = []


def crashed(name: str, bug: Exception) -> None:
    """Keep who crashed and by what kind of bug."""
    crashes.append((name, type(bug).__name__))


def offer(spans: SpanExport, number: int) -> None:
    """So many records, at once."""
    for _ in range(number):
        spans.offer(record())


def dropped(spans: SpanExport) -> dict[str, int]:
    """The reasons for which something was dropped."""
    return {reason: number for reason, number in spans.dropped.items() if number}


async def test_what_is_offered_is_exported_in_batches(autojump_clock):
    """At most sixteen at a time, one batch after another, each record once."""
    collector = Collector()
    async with running(collector) as spans:
        offer(spans, 2 * BATCH + 3)
        await wait_all_tasks_blocked()
        assert collector.batches == [BATCH, BATCH, 3]
        assert (spans.exported, dropped(spans)) == (2 * BATCH + 3, {})


async def test_a_full_queue_drops_and_never_waits(autojump_clock):
    """While a collector hangs the queue fills up; offering takes no time and raises nothing."""
    collector = Collector()
    collector.hold()
    async with running(collector) as spans:
        offer(spans, 1)
        await wait_all_tasks_blocked()  # one is on its way
        offer(spans, QUEUE + 7)
        assert trio.current_time() == 0
        assert dropped(spans) == {"queue_full": 7}
        collector.free.set()
        await wait_all_tasks_blocked()
        assert spans.exported == QUEUE + 1
        assert collector.batches == [1, *[BATCH] * (QUEUE // BATCH)]


@pytest.mark.parametrize(
    "answer", [Silence.BROKEN, Silence.TIMED_OUT, Answer(307, b""), Answer(503)]
)
async def test_nothing_is_tried_twice(answer, autojump_clock):
    """A batch that was not taken is dropped whole; the next one is posted once as well."""
    collector = Collector(answer)
    async with running(collector) as spans:
        offer(spans, 3)
        await wait_all_tasks_blocked()
        offer(spans, 2)
        await wait_all_tasks_blocked()
        assert collector.batches == [3, 2]
        assert (spans.exported, dropped(spans)) == (2, {"not_taken": 3})


async def test_what_a_collector_refuses_is_counted(autojump_clock):
    """A partial success exports the rest."""
    collector = Collector(Answer(200, b'{"partialSuccess":{"rejectedSpans":"2"}}'))
    async with running(collector) as spans:
        offer(spans, 5)
        await wait_all_tasks_blocked()
        assert (spans.exported, dropped(spans)) == (3, {"refused": 2})


async def test_closing_sends_what_is_queued(autojump_clock):
    """What was offered before the end is exported; later offers are dropped and counted."""
    collector = Collector()
    async with running(collector) as spans:
        offer(spans, 20)
    assert (spans.exported, dropped(spans)) == (20, {})
    offer(spans, 1)
    assert dropped(spans) == {"stopped": 1}


async def test_the_flush_is_bounded(autojump_clock):
    """A collector that hangs at the end costs a second, and its spans are counted as dropped."""
    collector = Collector()
    collector.hold()
    async with running(collector) as spans:
        offer(spans, 20)
        await wait_all_tasks_blocked()
        before = trio.current_time()
    assert trio.current_time() - before == FLUSH_S
    assert (spans.exported, dropped(spans)) == (0, {"stopped": 20})


async def test_a_cancelled_export_accounts_for_everything(autojump_clock):
    """Cut off in the middle of a post: neither exported nor forgotten."""
    collector = Collector()
    collector.hold()
    with trio.move_on_after(1):
        async with running(collector) as spans:
            offer(spans, 20)
            await trio.sleep_forever()
    assert (spans.exported, dropped(spans)) == (0, {"stopped": 20})


async def test_drops_are_said_at_the_first_and_when_they_double(autojump_clock):
    """A thousand drops are some ten lines, of numbers and closed words."""
    with capture_logs() as lines:
        async with running(Collector()) as spans:
            spans.close()
            await wait_all_tasks_blocked()
            offer(spans, 1000)
    said = [line["dropped"] for line in lines]
    assert said == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert lines[0] == {
        "event": "trace_spans_dropped",
        "log_level": "warning",
        "dropped": 1,
        "reason": "stopped",
    }


async def test_a_bug_ends_the_export_and_nothing_else(autojump_clock, monkeypatch):
    """The worker is told of as an actor that failed; what is offered then is dropped."""

    def broken(*_):
        raise RuntimeError("canary")

    monkeypatch.setattr(export, "render_spans", broken)
    crashes.clear()
    async with running(Collector()) as spans:
        offer(spans, 3)
        await wait_all_tasks_blocked()
        offer(spans, 2)
        assert dropped(spans) == {"stopped": 5}
    assert crashes == [("trace_export", "RuntimeError")]


async def test_the_reasons_are_there_from_the_start(autojump_clock):
    """Every reason has its number, zero until something is dropped."""
    async with running(Collector()) as spans:
        assert spans.dropped == NONE_DROPPED
