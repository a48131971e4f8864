"""So many streams that are open at the same time, and what happens to their events."""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic

import trio

from benchmarks.chat_wire import FAULTS, StreamReader
from benchmarks.flow import Flow
from benchmarks.load import open_connection
from benchmarks.percentiles import percentile
from benchmarks.processes import cpu_seconds, rss_kib

__all__ = ["Held", "Look", "held_of", "hold"]

_LOOK_S = 0.25
_READ_BYTES = 65_536


@dataclass(frozen=True)
class Look:
    """The process in the middle at one moment; how many streams are open, how many events came."""

    at_s: float
    open: int
    events: int
    rss_kib: int
    cpu_s: float


@dataclass(frozen=True)
class Held:
    """What came of one load of held streams.

    A lag is from just before the engine writes an event to when the client reads it. `held` is
    about the time in which every stream was open; its figures are None if there was no such time.
    A stream fails that is refused, breaks, is late, or has more or fewer events than were asked
    for; `faults` says how many did which.
    """

    streams: int
    events: int
    expected_events: int
    faults: Mapping[str, int]
    most_open: int
    kib_a_stream: float
    cpu_us_an_event: float | None
    lag_p50_ms: float | None
    lag_p99_ms: float | None
    any_lag_p50_ms: float
    any_lag_p99_ms: float

    @property
    def failures(self) -> int:
        """How many streams failed."""
        return sum(self.faults.values())

    @property
    def is_whole(self) -> bool:
        """Whether no stream failed and every event came."""
        return not self.failures and self.events == self.expected_events


def held_of(
    streams: int, flow: Flow, before_kib: int, looks: Sequence[Look], ends: "Streams"
) -> Held:
    """The figures, from what was seen on the way; there is at least one look."""
    most = max(look.open for look in looks)
    full = [look for look in looks if look.open == most]
    first, last = full[0], full[-1]
    events = last.events - first.events
    grown = max(look.rss_kib for look in full) - before_kib
    held = sorted(ends.held_lags_s)
    lags = sorted([*held, *ends.other_lags_s])
    is_held = most == streams and bool(held)
    return Held(
        streams=streams,
        events=ends.events,
        expected_events=streams * flow.events,
        faults=dict(ends.faults),
        most_open=most,
        kib_a_stream=grown / most if most else 0.0,
        cpu_us_an_event=(last.cpu_s - first.cpu_s) / events * 1e6 if is_held and events else None,
        lag_p50_ms=percentile(held, 0.5) * 1e3 if is_held else None,
        lag_p99_ms=percentile(held, 0.99) * 1e3 if is_held else None,
        any_lag_p50_ms=percentile(lags, 0.5) * 1e3,
        any_lag_p99_ms=percentile(lags, 0.99) * 1e3,
    )


class Streams:
    """The clients of one load."""

    def __init__(self, url: str, request: bytes, flow: Flow, count: int) -> None:
        self._url = url
        self._request = request
        self._flow = flow
        self._count = count
        self.open = 0
        self.events = 0
        self.faults = Counter[str]()
        self.held_lags_s = array("d")
        self.other_lags_s = array("d")

    async def run(self, per_second: float, patience_s: float) -> None:
        """Open them one after the other, read each to its end; late ones have failed."""
        began = trio.current_time()
        ended = 0

        async def one(number: int) -> None:
            nonlocal ended
            await trio.sleep_until(began + number / per_second)
            fault = await self._read(StreamReader(self._flow.events))
            ended += 1
            if fault is not None:
                self.faults[fault] += 1

        with trio.move_on_after(patience_s):
            async with trio.open_nursery() as nursery:
                for number in range(self._count):
                    nursery.start_soon(one, number)
        if ended < self._count:
            self.faults["late"] += self._count - ended

    async def _read(self, reader: StreamReader) -> str | None:
        """One stream, and what is wrong with it."""
        try:
            async with await open_connection(self._url) as stream:
                await stream.send_all(self._request)
                await self._read_all(stream, reader)
        except OSError:
            return "no connection"
        except (trio.BrokenResourceError, *FAULTS):
            return "broke off"
        return reader.fault

    async def _read_all(self, stream: trio.abc.Stream, reader: StreamReader) -> None:
        data = await stream.receive_some(_READ_BYTES)
        self.open += 1
        try:
            while data:
                now = monotonic()
                marks = reader.feed(bytes(data))
                lags = self.held_lags_s if self.open == self._count else self.other_lags_s
                lags.extend([now - mark for mark in marks])
                self.events += len(marks)
                if reader.is_over:
                    return
                data = await stream.receive_some(_READ_BYTES)
        finally:
            self.open -= 1


async def hold(
    url: str, pid: int, request: bytes, flow: Flow, count: int, per_second: float
) -> Held:
    """Hold `count` streams of that `flow`, opened at that rate; look at process `pid` meanwhile."""
    streams = Streams(url, request, flow, count)
    looks: list[Look] = []
    before_kib = rss_kib(pid)

    def look() -> None:
        looks.append(
            Look(trio.current_time(), streams.open, streams.events, rss_kib(pid), cpu_seconds(pid))
        )

    patience_s = 60 + count / per_second + 3 * flow.events * flow.gap_s
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(_look_often, look))
        await streams.run(per_second, patience_s)
        look()
        nursery.cancel_scope.cancel()
    return held_of(count, flow, before_kib, looks, streams)


async def _look_often(look: Callable[[], None]) -> None:
    while True:
        look()
        await trio.sleep(_LOOK_S)
