"""The harness itself: what it promises about seeds, deadlocks, warnings and mutants."""

import itertools
import warnings
from random import Random

import pytest
import trio

from tests.support.mutants import Mutant, fresh_modules, mutated_source
from tests.support.sim import Reached, explore, regressions, run_seeded, seed_blocks

Trace = list[tuple[str, int]]


async def shuffled(_: Random) -> Trace:
    """Which of a few tasks ran when: all of it up to the scheduler."""
    trace: Trace = []

    async def task(name: str) -> None:
        for step in range(4):
            trace.append((name, step))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for name in "abc":
            nursery.start_soon(task, name)
    return trace


def test_the_same_seed_gives_the_same_trace():
    """A seed is a program to the last step; if trio renames what this rests on, this fails."""
    assert [run_seeded(11, shuffled) for _ in range(5)] == [run_seeded(11, shuffled)] * 5


def test_different_seeds_give_different_traces():
    """Seeds reach many interleavings."""
    assert len({tuple(run_seeded(seed, shuffled)) for seed in range(50)}) > 40


def test_without_a_seed_traces_differ():
    """Trio shuffles by itself, so what passes once by hand has not passed for good."""
    traces = {tuple(trio.run(shuffled, Random(1))) for _ in range(50)}
    assert len(traces) > 1


def test_a_deadlock_is_a_failure():
    """Virtual time reaches the end of patience at once where nobody can go on."""

    async def wait_for_ever(_: Random) -> None:
        await trio.Event().wait()

    with pytest.raises(AssertionError, match="waits for ever"):
        run_seeded(1, wait_for_ever)


def test_a_program_that_never_rests_is_a_failure(monkeypatch):
    """A busy loop in which no virtual time passes is stopped by its number of steps."""
    monkeypatch.setattr("tests.support.sim.MOST_STEPS", 1000)

    async def spin(_: Random) -> None:
        for _step in itertools.count():
            await trio.lowlevel.checkpoint()

    with pytest.raises(AssertionError, match="never came to rest"):
        run_seeded(1, spin)


def test_a_warning_is_a_failure():
    """A grant that was dropped warns, and no run may warn."""

    async def drop(_: Random) -> None:
        await trio.lowlevel.checkpoint()
        warnings.warn("dropped", ResourceWarning, stacklevel=1)

    with pytest.raises(AssertionError, match="dropped"):
        run_seeded(1, drop)


def test_a_failing_seed_tells_how_to_replay_it():
    """The failure carries one line that runs this seed alone."""

    async def fail_on_three(rng: Random, _: Reached) -> None:
        await trio.lowlevel.checkpoint()
        assert rng.getstate() != Random(3).getstate()

    with pytest.raises(AssertionError) as caught:
        explore("some", fail_on_three, range(10), ())
    assert caught.value.__notes__ == ["replay: SEED=3 tox -e sim -- -k some"]


def test_a_rare_state_that_never_happens_is_a_failure():
    """What a block of seeds never reached it has not tested."""

    async def reach_little(_: Random, reached: Reached) -> None:
        await trio.lowlevel.checkpoint()
        reached["common"] += 1

    explore("some", reach_little, range(10), ("rare",))
    with pytest.raises(AssertionError, match=r"never reached in 250 seeds: \['rare'\]"):
        explore("some", reach_little, range(250), ("common", "rare"))


@pytest.mark.parametrize(
    ("environment", "blocks"),
    [
        ({}, [range(300)]),
        ({"SEEDS": "20000"}, [range(n * 1000, n * 1000 + 1000) for n in range(20)]),
        ({"SEEDS": "2000"}, [range(n * 250, n * 250 + 250) for n in range(8)]),
        ({"SEEDS": "7"}, [range(7)]),
        ({"SEEDS": "20000", "SEED": "22"}, [range(22, 23)]),
    ],
)
def test_seeds_are_shared_in_blocks(monkeypatch, environment, blocks):
    """All seeds are run, in blocks large enough to reach what is rare; `SEED` runs one alone."""
    for name in ("SEED", "SEEDS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert seed_blocks() == blocks


def test_the_list_of_regressions_can_be_read():
    """Every line of regressions.txt is a suite, a seed and a reason."""
    assert regressions("no such suite") == []


def test_a_mutant_lives_only_inside_its_block():
    """The changed module is there inside, and the shipped one after."""
    import tests.sim.mutated_example as shipped

    mutant = Mutant("example", shipped.__name__, "return 1", "return 2")
    with fresh_modules([shipped.__name__], mutant):
        import tests.sim.mutated_example as changed

        assert changed.answer() == 2
    import tests.sim.mutated_example as again

    assert again is shipped
    assert again.answer() == 1


def test_a_mutant_of_text_that_is_gone_fails_the_run():
    """A mutant that cannot be applied, or not in one place only, is an error."""
    for gone in ("no such text", "e"):
        with pytest.raises(AssertionError, match="is found"):
            mutated_source(Mutant("stale", "tests.sim.mutated_example", gone, ""))
