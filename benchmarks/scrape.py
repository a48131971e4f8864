"""What `GET /metrics` costs: how long a scrape is, its longest piece, and what a request adds.

The buffer is full and the tier has sixteen members: the most that one tier can have to show.
"""

import argparse
import random
import time

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


async def measure_scrape(small: SmallHouse, kind: TextFormat) -> str:
    """One line about one scrape."""
    pieces = Pieces()
    trio.lowlevel.add_instrument(pieces)
    began = time.thread_time()
    text = await scrape(small.house, small.generation, MetricsQuery(), kind)
    took = time.thread_time() - began
    trio.lowlevel.remove_instrument(pieces)
    series = sum(not line.startswith(b"#") for line in text.splitlines())
    return (
        f"{kind.name:11} {took * 1e3:6.1f} ms, {len(pieces.took)} pieces, longest"
        f" {max(pieces.took) * 1e3:.2f} ms, {series} series, {len(text)} bytes"
    )


async def main(rounds: int) -> None:
    """Fill a house, count what counting costs, then scrape."""
    tier = replica_tier(members=MEMBERS, ceiling=8, replica_strategy="capacity")
    lots = random.Random(1)
    async with open_small_house(config_of(tier)) as small:
        records = [record(number, lots) for number in range(RING_SIZE)]
        began = time.thread_time()
        for one in records:
            count_request(small.house.meters, Outcome.SERVED, one, 0.02)
        took = (time.thread_time() - began) / len(records)
        print(f"a request   {took * 1e6:6.1f} µs")
        for one in records:
            small.ring.append(one)
        with steady_collector():  # as the router sets it: a collection is no piece's doing
            for kind in TextFormat:
                for _ in range(rounds):
                    print(await measure_scrape(small, kind))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="scrapes in each format")
    trio.run(main, parser.parse_args().rounds)
