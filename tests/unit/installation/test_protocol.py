"""The protocol of an installation, in a world of three facts: file, router, doors."""

from dataclasses import dataclass
from itertools import product

import pytest

from anvil_trio.installation.protocol import AHEAD, BACK, End, Progress, Step, Way, begin

KINDS = ("before", "after")
ENTERED = [(way, step) for way in Way for step in AHEAD[way]]


@dataclass
class World:
    """What the file holds, what is at work, and whether tiers are closed."""

    file: str = "old"
    work: str = "old"
    is_closed: bool = False

    def do(self, step: Step) -> bool:
        """Make a step so; False if what it waits for will never be so."""
        match step:
            case Step.QUIESCE:
                self.is_closed = True
            case Step.WRITE:
                self.file = "new"
            case Step.RESTORE:
                self.file = "old"
            case Step.ACTIVATE | Step.SETTLE:
                self.work = self.file
            case Step.RESTART | Step.RESTART_OLD:
                self.work, self.is_closed = self.file, False
            case Step.READMIT | Step.READMIT_OLD:
                self.is_closed = False
            case Step.AWAIT | Step.VERIFY:
                return self.work == "new"
            case Step.AWAIT_OLD:
                return self.work == "old"
        return True


def carried_out(way: Way, faults: dict[Step, str]) -> tuple[World, Progress]:
    """An installation in which some steps fail, without or with their effect."""
    world, progress = World(), begin(way)
    while (step := progress.next) is not None:
        kind = faults.get(step)
        if kind != "unbegun":
            progress = progress.enter()
        is_done = kind not in {"before", "unbegun"} and world.do(step)
        progress = progress.advance() if is_done and kind is None else progress.fail()
    return world, progress


OLD, NEW = World(), World("new", "new")


@pytest.mark.parametrize("way", Way)
def test_nothing_fails(way):
    """T015: the new file, and its configuration at work behind open doors."""
    world, progress = carried_out(way, {})
    assert (world, progress.end) == (NEW, End.INSTALLED)


@pytest.mark.parametrize(("way", "step"), ENTERED, ids=str)
@pytest.mark.parametrize("kind", [*KINDS, "unbegun"])
def test_one_fault_leaves_old_and_old(way, step, kind):
    """T015: wherever one step fails, with or without its effect, all is as it was before."""
    world, progress = carried_out(way, {step: kind})
    assert (world, progress.end) == (OLD, End.RESTORED)


@pytest.mark.parametrize(("way", "step"), ENTERED, ids=str)
def test_a_second_fault_is_never_hidden(way, step):
    """Whatever fails on the way back too, nobody is told that it was undone."""
    for kind, other, other_kind in product(KINDS, BACK[way, step], KINDS):
        world, progress = carried_out(way, {step: kind, other: other_kind})
        assert progress.end is End.UNCERTAIN, (kind, other, other_kind)
        if other is Step.READMIT_OLD:
            assert (world.file, world.work) == ("old", "old")


@pytest.mark.parametrize(("way", "step"), ENTERED, ids=str)
def test_what_was_not_put_back_is_not_started_again(way, step):
    """A file that could not be restored is neither activated nor given to a new process."""
    progress = begin(way)
    while progress.next is not step:
        progress = progress.enter().advance()
    progress = progress.enter().fail()
    assert progress.next is Step.RESTORE
    assert progress.fail().steps == (Step.READMIT_OLD,)


def test_a_router_that_does_not_come_back_is_not_asked_to_open_anything():
    """Its tiers are told to be closed."""
    progress = Progress(Way.RESTART, (Step.AWAIT_OLD, Step.READMIT_OLD), is_back=True).fail()
    assert (progress.next, progress.end) == (None, End.UNCERTAIN)


def test_a_restart_that_fails_again_is_still_waited_for():
    """The router may be there all the same."""
    steps = (Step.RESTART_OLD, Step.AWAIT_OLD, Step.READMIT_OLD)
    assert Progress(Way.RESTART, steps, is_back=True).fail().steps == steps[1:]


def test_the_first_step_that_was_not_entered_leaves_nothing_to_undo():
    """It ends at once, as it was."""
    assert begin(Way.HOT).fail().end is End.RESTORED
    assert begin(Way.HOT).end is None


def test_every_step_ahead_has_a_way_back():
    """And no step leads into the void."""
    assert set(BACK) == set(ENTERED)
    assert all(steps[-1] is Step.READMIT_OLD for steps in BACK.values())
