"""What `GET /metrics` costs: how long a scrape is, its longest piece, and what a request adds.

The buffer is full and the tier has sixteen members: the most that one tier can have to show. The
figures are the CPU time of the one thread that does it.
"""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import trio

from anvil_trio.decisions.record import Attempt, DecisionRecord
from anvil_trio.decisions.ring import RING_SIZE
from anvil_trio.decisions.words import (
    AttemptOutcome,
    AttemptReason,
    RequestKind,
    Selection,
    WorkloadOutcome,
)
from anvil_trio.exchange.metering import count_request
from anvil_trio.exchange.outcome import Outcome
from anvil_trio.server.collector import steady_collector
from anvil_trio.views.exposition import TextFormat
from anvil_trio.views.metrics_query import MetricsQuery
from anvil_trio.web.metrics import scrape
from benchmarks.plot import Chart
from benchmarks.report import add_outputs, print_table, write_outputs
from tests.support.small_house import ALIAS, SmallHouse, config_of, open_small_house, replica_tier

MEMBERS = [f"member-{number}" for number in range(16)]


class Pieces(trio.abc.Instrument):
    """Processor time of each step of any task, in seconds: others may share the machine."""

    def __init__(self) -> None:
        self.began = time.thread_time()
        self.took: list[float] = []

    def before_task_step(self, _task: trio.lowlevel.Task) -> None:
        self.began = time.thread_time()

    def after_task_step(self, _task: trio.lowlevel.Task) -> None:
        self.took.append(time.thread_time() - self.began)


def record(number: int, lots: random.Random) -> DecisionRecord:
    """A served request with random durations."""
    attempt = Attempt(
        tier_id="primary",
        succeeded=True,
        reason=AttemptReason.SERVED,
        outcome=AttemptOutcome.SERVED,
    )
    return DecisionRecord(
        kind=RequestKind.CHAT,
        route=ALIAS,
        unix_ts=1.0,
        workload_created_at=1.0,
        workload_updated_at=1.0,
        workload_outcome=WorkloadOutcome.SUCCESS,
        gateway_request_id=f"req_{number:032x}",
        latency_ms=lots.randrange(60_000),
        upstream_duration_ms=lots.randrange(60_000),
        time_to_first_content_ms=lots.randrange(6_000),
        admission_wait_ms=lots.randrange(100),
        readiness_check_ms=0,
        total_prompt_tokens=lots.randrange(8_000),
        total_completion_tokens=lots.randrange(1_000),
        requested_tier="primary",
        attempts=(attempt,),
        replica_member_id=lots.choice(MEMBERS),
        replica_selection=Selection.IDENTITY_PASSED,
    )


@dataclass(frozen=True)
class Scrape:
    """One scrape: its CPU time in all and in its longest piece, and what it said."""

    kind: str
    cpu_ms: float
    longest_ms: float
    pieces: int
    series: int
    size_bytes: int


async def measure_scrape(small: SmallHouse, kind: TextFormat) -> Scrape:
    """Scrape once."""
    pieces = Pieces()
    trio.lowlevel.add_instrument(pieces)
    began = time.thread_time()
    text = await scrape(small.house, small.generation, MetricsQuery(), kind)
    took = time.thread_time() - began
    trio.lowlevel.remove_instrument(pieces)
    series = sum(not line.startswith(b"#") for line in text.splitlines())
    return Scrape(
        kind=kind.name,
        cpu_ms=took * 1e3,
        longest_ms=max(pieces.took) * 1e3,
        pieces=len(pieces.took),
        series=series,
        size_bytes=len(text),
    )


async def measure_all(rounds: int) -> tuple[float, list[Scrape]]:
    """Fill a house, count what counting costs (CPU us for a request), then scrape."""
    tier = replica_tier(members=MEMBERS, ceiling=8, replica_strategy="capacity")
    lots = random.Random(1)
    async with open_small_house(config_of(tier)) as small:
        records = [record(number, lots) for number in range(RING_SIZE)]
        began = time.thread_time()
        for one in records:
            count_request(small.house.meters, Outcome.SERVED, one, 0.02)
        took = (time.thread_time() - began) / len(records)
        for one in records:
            small.ring.append(one)
        kinds = [kind for kind in TextFormat for _ in range(rounds)]
        with steady_collector():  # as the router sets it: a collection is no piece's doing
            return took * 1e6, [await measure_scrape(small, kind) for kind in kinds]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what a request adds and a row for each scrape."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scrape", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="scrapes in each format")
    add_outputs(parser, "scrape")
    options = parser.parse_args(arguments)
    request_us, scrapes = trio.run(measure_all, options.rounds)
    rows = [
        [
            one.kind,
            f"{one.cpu_ms:.1f}",
            f"{one.longest_ms:.2f}",
            str(one.pieces),
            str(one.series),
            str(one.size_bytes),
        ]
        for one in scrapes
    ]
    print_table(["scrape", "CPU ms", "longest piece ms", "pieces", "series", "bytes"], rows)
    print(f"counting a request: {request_us:.1f} us")
    print(f"CPU of this process: {time.process_time():.1f} s")
    names = [f"{one.kind} {number}" for number, one in enumerate(scrapes, 1)]
    write_outputs(
        options,
        "What GET /metrics costs",
        {"request_us": request_us, "scrapes": [asdict(one) for one in scrapes]},
        [
            Chart("CPU milliseconds, whole scrape", names, {"all": [s.cpu_ms for s in scrapes]}),
            Chart(
                "CPU milliseconds, one piece", names, {"longest": [s.longest_ms for s in scrapes]}
            ),
        ],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
