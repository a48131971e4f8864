"""The state machine of a switch, as a table of what follows what."""

from dataclasses import replace

import pytest

from anvil_trio.lifecycle.progress import (
    Extent,
    Goal,
    Order,
    Path,
    Progress,
    Status,
    Step,
    advance,
    begin,
    entered,
    fail,
    needs_opening,
    resume,
    roll_back,
    steps_of,
    turn,
)

FIRST, LAST = Order.START_FIRST, Order.STOP_FIRST
SIDE_BY_SIDE = ["start", "gate", "quiesce", "drain", "route", "readmit", "stop"]
ONE_AFTER_THE_OTHER = ["quiesce", "drain", "stop", "start", "gate", "route", "readmit"]


def at(order: Order, step: Step) -> Progress:
    """An operation towards the target that has come to a step of its whole path."""
    progress = entered(begin(order, Goal.TARGET))
    while progress.step is not step:
        progress = entered(advance(progress))
    return progress


def walked(progress: Progress) -> tuple[list[str], Progress]:
    """The steps that follow if each succeeds, and the end."""
    steps = []
    while progress.step is not None:
        steps.append(progress.step.value)
        progress = advance(entered(progress))
    return steps, progress


@pytest.mark.parametrize(
    ("order", "steps"), [(FIRST, SIDE_BY_SIDE), (LAST, ONE_AFTER_THE_OTHER)], ids=["first", "last"]
)
@pytest.mark.parametrize("goal", Goal)
def test_a_switch_without_a_failure_walks_its_path_and_is_complete(order, steps, goal):
    """Planned until it is entered, then running, then complete with nothing left to do."""
    progress = begin(order, goal)
    assert progress.status is Status.PLANNED
    assert entered(progress).status is Status.RUNNING
    found, end = walked(progress)
    assert found == steps
    assert (end.status, end.goal, end.is_finished, end.is_undoing) == (
        Status.COMPLETE,
        goal,
        True,
        False,
    )


@pytest.mark.parametrize(
    ("order", "step", "undone_by"),
    [
        (FIRST, Step.START, ["start", "stop"]),
        (FIRST, Step.GATE, ["start", "stop"]),
        (FIRST, Step.QUIESCE, ["start", "readmit", "stop"]),
        (FIRST, Step.DRAIN, ["start", "readmit", "stop"]),
        (FIRST, Step.ROUTE, SIDE_BY_SIDE),
        (FIRST, Step.READMIT, SIDE_BY_SIDE),
        (FIRST, Step.STOP, SIDE_BY_SIDE),
        (LAST, Step.QUIESCE, ["readmit"]),
        (LAST, Step.DRAIN, ["readmit"]),
        (LAST, Step.STOP, ONE_AFTER_THE_OTHER),
        (LAST, Step.START, ONE_AFTER_THE_OTHER),
        (LAST, Step.ROUTE, ONE_AFTER_THE_OTHER),
        (LAST, Step.READMIT, ONE_AFTER_THE_OTHER),
    ],
)
def test_a_failure_is_undone_as_far_as_anything_may_have_got(order, step, undone_by):
    """What was about to be done counts as done, and the end of an undoing is a failure."""
    failed = fail(at(order, step))
    assert (failed.goal, failed.is_undoing) == (Goal.ROLLBACK, True)
    found, end = walked(failed)
    assert found == undone_by
    assert (end.status, end.goal, end.is_finished) == (Status.FAILED, Goal.ROLLBACK, True)
    assert roll_back(at(order, step)) == failed == turn(at(order, step), Goal.ROLLBACK)


def test_a_switch_of_which_nothing_was_begun_needs_no_undoing():
    """Turned back before its first step, a switch that stops first is over."""
    turned = turn(begin(LAST, Goal.TARGET), Goal.ROLLBACK)
    assert turned is not None
    assert (turned.is_finished, turned.status, turned.path) == (True, Status.FAILED, Path.NOTHING)
    assert steps_of(LAST, Path.NOTHING) == ()


@pytest.mark.parametrize("order", Order)
def test_an_undoing_that_fails_waits_where_it_is(order):
    """It stays at its step and its goal, failed and not over."""
    undoing = entered(fail(at(order, Step.ROUTE)))
    failed = fail(undoing)
    assert failed == replace(undoing, status=Status.FAILED)
    assert not failed.is_finished


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("step", [step for step in Step if step is not Step.STOP])
def test_whoever_resumes_begins_the_path_again(order, step):
    """Every step makes something so, so nothing is lost by doing it once more."""
    progress = at(order, step)
    resumed = resume(progress)
    assert resumed == replace(progress, step=steps_of(order, Path.FULL)[0])
    assert turn(progress, Goal.TARGET) == resumed


def test_a_switch_that_only_had_to_stop_something_closes_nothing_again():
    """Resumed at its last step, what serves is only made sure of; undone, the path is whole."""
    resumed = resume(at(FIRST, Step.STOP))
    assert resumed is not None
    assert walked(resumed)[0] == ["start", "stop"]
    assert walked(resumed)[1].status is Status.COMPLETE
    assert walked(fail(entered(resumed)))[0] == SIDE_BY_SIDE
    again = resume(at(LAST, Step.STOP))
    assert again is not None
    assert walked(again)[0] == ONE_AFTER_THE_OTHER


@pytest.mark.parametrize("order", Order)
def test_what_is_over_is_not_resumed(order):
    """Nothing is left to do, well or not."""
    _, complete = walked(begin(order, Goal.TARGET))
    _, failed = walked(fail(at(order, Step.ROUTE)))
    assert resume(complete) is None
    assert resume(failed) is None
    assert turn(failed, Goal.TARGET) is None


def test_a_complete_promotion_is_rolled_back_by_a_switch_of_its_own():
    """That one fails towards the target, which served before; what is back already is not."""
    _, complete = walked(begin(FIRST, Goal.TARGET))
    back = roll_back(complete)
    assert back == begin(FIRST, Goal.ROLLBACK)
    assert fail(entered(back)).goal is Goal.TARGET
    assert roll_back(walked(back)[1]) is None
    assert roll_back(walked(fail(at(FIRST, Step.GATE)))[1]) is None
    undone = walked(fail(entered(back)))[1]
    assert (undone.goal, undone.status) == (Goal.TARGET, Status.FAILED)
    assert roll_back(undone) is None


def test_a_rollback_that_broke_off_goes_on():
    """Asked for again it is resumed; while it is being undone it turns once more, in full."""
    _, complete = walked(begin(FIRST, Goal.TARGET))
    back = roll_back(complete)
    assert back is not None
    going = entered(advance(entered(back)))
    assert roll_back(going) == resume(going)
    undoing = entered(fail(going))
    assert undoing.goal is Goal.TARGET
    again = roll_back(undoing)
    assert again is not None
    assert (again.goal, again.origin, again.extent) == (
        Goal.ROLLBACK,
        Goal.ROLLBACK,
        Extent.CHANGED,
    )
    assert walked(again)[0] == SIDE_BY_SIDE
    assert walked(fail(entered(again)))[0] == SIDE_BY_SIDE


@pytest.mark.parametrize(
    ("order", "step", "is_needed"),
    [
        (FIRST, Step.START, False),
        (FIRST, Step.QUIESCE, True),
        (FIRST, Step.DRAIN, True),
        (FIRST, Step.ROUTE, True),
        (FIRST, Step.READMIT, False),
        (LAST, Step.DRAIN, True),
        (LAST, Step.ROUTE, False),
    ],
)
def test_an_undoing_that_fails_opens_what_leads_to_something_that_runs(order, step, is_needed):
    """Only an undoing: what fails on the way there is undone, which opens the tiers itself."""
    going = at(order, step)
    assert not needs_opening(going)
    assert needs_opening(replace(going, goal=Goal.ROLLBACK)) is is_needed
