"""Runs a scenario from one integer: the same seed is the same program, to the last step.

trio shuffles its run queue on purpose, and hypothesis' entry point is the only switch that makes
it repeatable; the two private names behind it are touched here and nowhere else
(tests/sim/test_harness.py fails if trio renames them). Time is virtual, so a deadlock is a
failure after a millisecond and not a hang.

    SEED=22 tox -e sim -- -k tier     replays one seed
    SEEDS=20000 tox -e sim            runs that many of every suite
"""

import os
import random
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import trio
import trio.testing
from trio._core import _run

__all__ = ["CancelAt", "Reached", "explore", "regressions", "run_seeded", "seed_blocks", "sweep"]

Result = TypeVar("Result")

Reached = Counter[str]
"""How often each state worth reaching was reached."""

FEW, MOST_BLOCKS, SMALLEST_BLOCK = 300, 20, 250
FOREVER_S = 1e6
MOST_STEPS = 200_000
REGRESSIONS = Path(__file__).parent.parent / "sim" / "regressions.txt"


class CancelAt(trio.abc.Instrument):
    """Cancels a scope just before the n-th step of any task, counted from `arm`."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.seen = 0
        self.fired = False
        self._scope: trio.CancelScope | None = None

    def arm(self, scope: trio.CancelScope) -> None:
        """Begin to count."""
        self._scope = scope

    def disarm(self) -> None:
        """Count no more."""
        self._scope = None

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Called by trio."""
        if self._scope is None:
            return
        if self.seen == self.step:
            self.fired = True
            self._scope.cancel()
        self.seen += 1


@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """Trio's scheduler draws from `seed` inside, and goes on as before after."""
    names = vars(_run)
    before, state = names["_ALLOW_DETERMINISTIC_SCHEDULING"], names["_r"].getstate()
    names["_ALLOW_DETERMINISTIC_SCHEDULING"] = True
    names["_r"].seed(seed)
    try:
        yield
    finally:
        names["_ALLOW_DETERMINISTIC_SCHEDULING"] = before
        names["_r"].setstate(state)


def run_seeded(
    seed: int,
    scenario: Callable[[random.Random], Awaitable[Result]],
    *,
    instruments: Sequence[trio.abc.Instrument] = (),
) -> Result:
    """What `scenario` returns when every choice, its own and the scheduler's, comes from `seed`.

    Fails on a deadlock, on a program that never comes to rest, and on any warning: a grant that
    was dropped instead of released is one.
    """
    limit = CancelAt(MOST_STEPS)

    async def bounded() -> Result:
        with trio.move_on_after(FOREVER_S) as scope:
            limit.arm(scope)
            return await scenario(random.Random(seed))
        raise AssertionError("it never came to rest" if limit.fired else "somebody waits for ever")

    clock = trio.testing.MockClock(autojump_threshold=0)
    with deterministic(seed), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = trio.run(
            bounded,
            clock=clock,
            instruments=[limit, *instruments],
            restrict_keyboard_interrupt_to_checkpoints=True,
        )
    assert not caught, [str(warning.message) for warning in caught]
    return result


def seed_blocks() -> list[range]:
    """The seeds to run, in blocks that are tests of their own, so that processes share them.

    A block is large enough to reach every rare state by itself.
    """
    if "SEED" in os.environ:
        seed = int(os.environ["SEED"])
        return [range(seed, seed + 1)]
    seeds = int(os.environ.get("SEEDS", FEW))
    blocks = max(1, min(MOST_BLOCKS, seeds // SMALLEST_BLOCK))
    return [range(seeds * n // blocks, seeds * (n + 1) // blocks) for n in range(blocks)]


def explore(
    suite: str,
    scenario: Callable[[random.Random, Reached], Awaitable[None]],
    seeds: Iterable[int],
    rare: Iterable[str],
) -> Reached:
    """Run `scenario` for each seed; fail on the first that fails, with the line that replays it.

    What was reached is returned. Fails too if a whole block never reached one of the `rare`
    states: what is not reached is not tested.
    """
    reached: Reached = Counter()
    count = 0
    for seed in seeds:
        count += 1
        try:
            run_seeded(seed, lambda rng: scenario(rng, reached))
        except BaseException as error:
            error.add_note(f"replay: SEED={seed} tox -e sim -- -k {suite}")
            raise
    if count >= SMALLEST_BLOCK:
        missing = [state for state in rare if not reached[state]]
        assert not missing, f"never reached in {count} seeds: {missing}"
    return reached


def sweep(
    seed: int, scenario: Callable[[random.Random, CancelAt], Awaitable[None]], suite: str
) -> int:
    """Run `scenario` once for each scheduler step, cancelled at that step; how many there were."""
    step = 0
    while True:
        instrument = CancelAt(step)
        try:
            run_seeded(seed, lambda rng: scenario(rng, instrument), instruments=[instrument])  # noqa: B023
        except BaseException as error:
            error.add_note(f"cancelled at step {step}: SEED={seed} tox -e sim -- -k {suite}")
            raise
        if not instrument.fired:
            return step
        step += 1


def regressions(suite: str) -> list[int]:
    """The seeds of `suite` that once found something; each line names its reason."""
    lines = REGRESSIONS.read_text(encoding="utf-8").splitlines()
    fields = [line.split("#")[0].split() for line in lines]
    return [int(seed) for name, seed in filter(None, fields) if name == suite]
