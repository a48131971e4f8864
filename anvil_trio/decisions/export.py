"""Spans on their way to a trace collector: a short queue, one worker, nothing tried twice.

No request waits here: `offer` keeps a record or drops it. What a collector does, or does not, costs
spans and nothing else.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum

import trio

from anvil_trio import __version__
from anvil_trio.decisions.otlp import render_spans
from anvil_trio.decisions.record import DecisionRecord
from anvil_trio.decisions.span_answer import refused_spans
from anvil_trio.facts import Answer, Silence
from anvil_trio.log_events import LogEvent, log_event

__all__ = ["BATCH", "FLUSH_S", "QUEUE", "DropReason", "Post", "SpanExport"]

QUEUE = 128
BATCH = 16
FLUSH_S = 1.0
"""How long the end of the house waits for what is queued."""

Post = Callable[[bytes], Awaitable[Answer | Silence]]
"""One bounded attempt to hand a body to the collector; it raises nothing."""

_NAME = "trace_export"


class DropReason(StrEnum):
    """Why a span is not at the collector."""

    QUEUE_FULL = "queue_full"
    NOT_TAKEN = "not_taken"  # no answer in time, a broken connection, any status but 2xx
    REFUSED = "refused"  # the collector said that it does not want it
    STOPPED = "stopped"  # the export has ended, or was cut short at its end


class SpanExport:
    """The queue and its worker: run by the house's actors, closed with them.

    `exported` and `dropped` count each offered record once, as soon as its fate is known. A line
    on stderr says so of drops when there was the first, and whenever they have doubled.
    """

    def __init__(self, post: Post) -> None:
        self._post = post
        self._inbox, self._outbox = trio.open_memory_channel[DecisionRecord](QUEUE)
        self._flush = trio.CancelScope()
        self._dropped = dict.fromkeys(DropReason, 0)
        self.exported = 0

    @property
    def dropped(self) -> Mapping[str, int]:
        """How many spans were dropped, by reason."""
        return {reason.value: number for reason, number in self._dropped.items()}

    def offer(self, record: DecisionRecord) -> None:
        """Queue one record, or drop it; never waits and never raises."""
        try:
            self._inbox.send_nowait(record)
        except trio.WouldBlock:
            self._drop(1, DropReason.QUEUE_FULL)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._drop(1, DropReason.STOPPED)

    def close(self) -> None:
        """Take nothing more; what is queued is still sent, for at most `FLUSH_S`."""
        self._inbox.close()
        self._flush.deadline = trio.current_time() + FLUSH_S

    async def run(self, on_crash: Callable[[str, Exception], None]) -> None:
        """Export until closed. A bug ends the export and nothing else; cancelled, it drops all."""
        try:
            with self._flush:
                await self._serve()
        except Exception as bug:  # noqa: BLE001 - of any kind: requests go on without spans
            on_crash(_NAME, bug)
        finally:
            self._drop(self._outbox.statistics().current_buffer_used, DropReason.STOPPED)
            self._outbox.close()

    async def _serve(self) -> None:
        async for record in self._outbox:
            batch = [record]
            while len(batch) < BATCH:
                try:
                    batch.append(self._outbox.receive_nowait())
                except (trio.WouldBlock, trio.EndOfChannel):
                    break
            await self._export(batch)

    async def _export(self, batch: list[DecisionRecord]) -> None:
        lost = len(batch)
        reason = DropReason.STOPPED  # stands if we are cut off
        try:
            body = render_spans(batch, __version__, secrets.token_hex)
            refused = refused_spans(await self._post(body), len(batch))
            reason = DropReason.NOT_TAKEN if refused is None else DropReason.REFUSED
            lost = len(batch) if refused is None else refused
        finally:
            self.exported += len(batch) - lost
            self._drop(lost, reason)

    def _drop(self, number: int, reason: DropReason) -> None:
        before = sum(self._dropped.values())
        self._dropped[reason] += number
        after = before + number
        if after.bit_length() > before.bit_length():  # few lines, however long it lasts
            log_event(LogEvent.TRACE_SPANS_DROPPED, dropped=after, reason=reason.value)
