"""What the tier actor costs: one acquire and release, as a multiple of one trio checkpoint.

Both are measured in the same run, so the machine drops out. Run `python -m benchmarks actor`
or `python -m benchmarks.actor`.
"""

import time
from collections.abc import Awaitable, Callable
from functools import partial

import trio

from anvil_trio.actors.messages import Release, Ticket
from anvil_trio.actors.supervise import open_actors
from anvil_trio.facts import Readiness
from anvil_trio.names import ClientId, MemberId, OwnerId, TierId
from anvil_trio.tiers.actor import TierActor, TierHandle
from anvil_trio.tiers.lease import Lease
from anvil_trio.tiers.messages import Acquire, SetReadiness
from anvil_trio.tiers.state import TierState

__all__ = ["main"]

CALLERS = (1, 64, 1000)
ROUNDS = 20_000
REPEATS = 7
MEMBERS: dict[MemberId, int | None] = {MemberId("a"): None, MemberId("b"): None}
READY = Readiness(1, frozenset(MEMBERS))
CLIENT = ClientId("c")
OWNER = OwnerId(1)


def raise_crash(name: str, _bug: Exception) -> None:
    raise AssertionError(name)


async def loop(work: Callable[[], Awaitable[None]], callers: int) -> float:
    """Seconds for one call of `work`, with `callers` tasks calling it at once."""

    async def one() -> None:
        for _ in range(ROUNDS // callers):
            await work()

    started = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(callers):
            nursery.start_soon(one)
    return (time.perf_counter() - started) / (ROUNDS // callers * callers)


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
    callers: int, ceiling: int | None, work: Callable[[TierHandle], Awaitable[None]]
) -> float:
    """Seconds for one `work` on a tier of that ceiling."""
    async with open_actors(raise_crash) as actors:
        actor = TierActor(TierId("t"), MEMBERS, ceiling)
        actors.start(actor)
        tier = actor.handle(OWNER)
        tier.set_readiness(READY)
        return await loop(lambda: work(tier), callers)


def best(measurement: Callable[[], float]) -> float:
    """The best of several runs: what disturbs a run only ever makes it slower."""
    return min(measurement() for _ in range(REPEATS))


def measure_state() -> float:
    """Seconds for one reservation and release by the pure state alone."""
    state = TierState(TierId("t"), MEMBERS, None)
    state.handle(SetReadiness(READY))
    started = time.perf_counter()
    for number in range(ROUNDS):
        ticket = Ticket(OWNER, number)
        state.handle(Acquire(ticket, CLIENT))
        state.handle(Release(ticket))
    return (time.perf_counter() - started) / ROUNDS


def main() -> None:
    """Print the cost of one acquire and release for 1, 64 and 1000 callers at once."""
    checkpoint = best(partial(trio.run, loop, trio.lowlevel.checkpoint, 1))

    def show(label: str, cost: float) -> None:
        print(f"{label:44} {cost * 1e6:7.2f} us = {cost / checkpoint:4.1f} checkpoints")

    show("one checkpoint of one task", checkpoint)
    show("pure state alone", best(measure_state))
    for label, ceiling, work in (
        ("acquire and release", None, lease),
        ("ceiling 16, most callers wait", 16, lease_with_work),
    ):
        for callers in CALLERS:
            cost = best(partial(trio.run, measure, callers, ceiling, work))
            show(f"{label}, {callers} callers", cost)


if __name__ == "__main__":
    main()
