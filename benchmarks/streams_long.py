"""A stream that does not end for long: whether its last events cost what its first ones did."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import trio

from benchmarks.chat_wire import FAULTS, StreamReader
from benchmarks.load import open_connection
from benchmarks.processes import cpu_seconds, rss_kib

__all__ = ["TENTHS", "Long", "Mark", "long_of", "relay_long"]

TENTHS = 10
_READ_BYTES = 262_144


@dataclass(frozen=True)
class Mark:
    """The router's process when so many events had come; of all streams together."""

    events: int
    cpu_s: float
    rss_kib: int


@dataclass(frozen=True)
class Long:
    """What came of it: CPU per event in each tenth, memory at the end of each, what failed."""

    events: int
    failures: int
    cpu_us: tuple[float, ...]
    rss_kib: tuple[int, ...]

    @property
    def last_to_first(self) -> float:
        """CPU per event in the last tenth, as a multiple of that in the first."""
        return self.cpu_us[-1] / self.cpu_us[0] if self.cpu_us and self.cpu_us[0] else 0.0

    @property
    def growth_kib(self) -> int:
        """How much more memory there is at the end than at the end of the first tenth."""
        return self.rss_kib[-1] - self.rss_kib[0] if self.rss_kib else 0


def long_of(marks: Sequence[Mark], events: int, failures: int) -> Long:
    """The figures between one mark and the next; the first mark is the beginning."""
    pairs = list(pairwise(marks))
    return Long(
        events=events,
        failures=failures,
        cpu_us=tuple(
            (after.cpu_s - before.cpu_s) / (after.events - before.events) * 1e6
            for before, after in pairs
        ),
        rss_kib=tuple(after.rss_kib for _, after in pairs),
    )


class _Clients:
    """Counts the events of all streams; at each tenth of them it looks at the router."""

    def __init__(self, url: str, pid: int, request: bytes, events: int, streams: int) -> None:
        self._url = url
        self._pid = pid
        self._request = request
        self._each = events
        self._due: Iterator[int] = iter([
            events * streams * tenth // TENTHS for tenth in range(TENTHS + 1)
        ])
        self._next = next(self._due)
        self.events = 0
        self.good = 0
        self.marks: list[Mark] = []

    def count(self, events: int) -> None:
        """So many more events came."""
        self.events += events
        if self.events >= self._next:
            self.marks.append(Mark(self.events, cpu_seconds(self._pid), rss_kib(self._pid)))
            while self.events >= self._next:
                self._next = next(self._due, 1 << 62)

    async def read(self) -> None:
        """One stream to its end."""
        reader = StreamReader(self._each)
        try:
            async with await open_connection(self._url) as stream:
                await stream.send_all(self._request)
                while not reader.is_over:
                    data = await stream.receive_some(_READ_BYTES)
                    if not data:
                        break
                    self.count(len(reader.feed(bytes(data))))
        except (OSError, trio.BrokenResourceError, *FAULTS):
            return
        self.good += reader.is_good


async def relay_long(url: str, pid: int, request: bytes, events: int, streams: int) -> Long:
    """Read so many streams of so many events each, side by side; `pid` is the router's."""
    clients = _Clients(url, pid, request, events, streams)
    clients.count(0)
    async with trio.open_nursery() as nursery:
        for _ in range(streams):
            nursery.start_soon(clients.read)
    return long_of(clients.marks, clients.events, streams - clients.good)
