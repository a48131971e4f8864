"""What the tier actor costs: one acquire and release, as a multiple of one trio checkpoint.

Both are measured in the same run, so the machine drops out. The figures are the CPU time of this
process, which is nothing but the actor and its callers; best of several runs.
"""

import argparse
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import trio

from anvil_trio.actors.messages import Release, Ticket
from anvil_trio.actors.supervise import open_actors
from anvil_trio.facts import Readiness
from anvil_trio.names import ClientId, MemberId, OwnerId, TierId
from anvil_trio.server.collector import steady_collector
from anvil_trio.tiers.actor import TierActor, TierHandle
from anvil_trio.tiers.lease import Lease
from anvil_trio.tiers.messages import Acquire, SetReadiness
from anvil_trio.tiers.state import TierState
from benchmarks.plot import Chart
from benchmarks.report import add_outputs, print_table, write_outputs

__all__ = ["CALLERS", "CEILING", "CHECKPOINT", "FREE", "STATE", "main", "measure_all"]

CALLERS = (1, 64, 1000)
ROUNDS = 20_000
REPEATS = 7
CHECKPOINT, STATE = "one checkpoint of one task", "pure state alone"
FREE, CEILING = "acquire and release", "ceiling 16, most callers wait"
MEMBERS: dict[MemberId, int | None] = {MemberId("a"): None, MemberId("b"): None}
READY = Readiness(1, frozenset(MEMBERS))
CLIENT = ClientId("c")
OWNER = OwnerId(1)


def raise_crash(name: str, _bug: Exception) -> None:
    raise AssertionError(name)


async def loop(work: Callable[[], Awaitable[None]], callers: int, rounds: int) -> float:
    """CPU seconds for one call of `work`, with `callers` tasks calling it at once."""
    calls = max(rounds // callers, 1)

    async def one() -> None:
        for _ in range(calls):
            await work()

    started = time.process_time()
    async with trio.open_nursery() as nursery:
        for _ in range(callers):
            nursery.start_soon(one)
    return (time.process_time() - started) / (calls * callers)


async def lease(tier: TierHandle) -> None:
    got = await tier.acquire(CLIENT)
    assert isinstance(got, Lease)
    with got:
        pass


async def lease_with_work(tier: TierHandle) -> None:
    got = await tier.acquire(CLIENT)
    assert isinstance(got, Lease)
    with got:
        await trio.lowlevel.checkpoint()


async def measure(
    callers: int, ceiling: int | None, work: Callable[[TierHandle], Awaitable[None]], rounds: int
) -> float:
    """CPU seconds for one `work` on a tier of that ceiling."""
    async with open_actors(raise_crash) as actors:
        actor = TierActor(TierId("t"), MEMBERS, ceiling)
        actors.start(actor)
        tier = actor.handle(OWNER)
        tier.set_readiness(READY)
        return await loop(lambda: work(tier), callers, rounds)


def measure_state(rounds: int) -> float:
    """CPU seconds for one reservation and release by the pure state alone."""
    state = TierState(TierId("t"), MEMBERS, None)
    state.handle(SetReadiness(READY))
    started = time.process_time()
    for number in range(rounds):
        ticket = Ticket(OWNER, number)
        state.handle(Acquire(ticket, CLIENT))
        state.handle(Release(ticket))
    return (time.process_time() - started) / rounds


def name_of(label: str, callers: int) -> str:
    """How a figure of so many callers is called."""
    return f"{label}, {callers} caller{'s' * (callers > 1)}"


def measure_all(rounds: int = ROUNDS, repeats: int = REPEATS) -> Mapping[str, float]:
    """CPU seconds of one checkpoint and of everything that is compared to it, by name.

    What is measured takes turns, and the best of the repeats counts: what disturbs a run only ever
    makes it slower. Garbage is looked for as seldom as in the router.
    """
    runs: dict[str, Callable[[], float]] = {
        CHECKPOINT: partial(trio.run, loop, trio.lowlevel.checkpoint, 1, rounds),
        STATE: partial(measure_state, rounds),
    }
    for label, ceiling, work in ((FREE, None, lease), (CEILING, 16, lease_with_work)):
        for callers in CALLERS:
            run = partial(trio.run, measure, callers, ceiling, work, rounds)
            runs[name_of(label, callers)] = run
    with steady_collector():
        costs = [{name: run() for name, run in runs.items()} for _ in range(repeats)]
    return {name: min(cost[name] for cost in costs) for name in runs}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the cost of one acquire and release for 1, 64 and 1000 callers at once."""
    options = _parser().parse_args(arguments)
    costs = measure_all(options.rounds, options.repeats)
    ratios = {name: cost / costs[CHECKPOINT] for name, cost in costs.items()}
    rows = [[name, f"{cost * 1e6:.2f}", f"{ratios[name]:.1f}"] for name, cost in costs.items()]
    print_table(["", "CPU us", "checkpoints"], rows)
    print(f"CPU of this process: {time.process_time():.1f} s")
    names = [name_of("", callers).removeprefix(", ") for callers in CALLERS]
    series = {
        label: [ratios[name_of(label, callers)] for callers in CALLERS] for label in (FREE, CEILING)
    }
    write_outputs(
        options,
        "One acquire and release",
        {"cpu_us": {name: cost * 1e6 for name, cost in costs.items()}, "ratios": ratios},
        [Chart("trio checkpoints", names, series)],
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks actor", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="calls in each run")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs; the best one counts")
    add_outputs(parser, "actor")
    return parser


if __name__ == "__main__":
    sys.exit(main())
