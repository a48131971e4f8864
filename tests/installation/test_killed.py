"""kill -9 of an installer at each moment: round every order, before every change on the disk.

The installer is a process of its own, and the router's state is in a file, so both are really left
as they were.
"""

import os
import signal
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from anvil_trio.installation.faults import InstallFailed
from anvil_trio.installation.installer import Outcome
from anvil_trio.installation.journal import HOW_TO_GO_ON
from anvil_trio.installation.live_file import LiveFile
from anvil_trio.installation.lock import hold_lock
from anvil_trio.installation.protocol import End, Way
from tests.support.installable import NEW, OLD, FileRouter, installed, stage, tiers_of

CALLS = ((os, "fsync"), (os, "fchmod"), (Path, "replace"), (Path, "unlink"))
"""What an installer does to the disk."""


def run(router: FileRouter, way: Way) -> Outcome:
    """One installation under the lock, on virtual time."""

    async def install() -> Outcome:
        return await installed(router, way)

    with hold_lock(router.folder):
        return trio.run(install, clock=MockClock(autojump_threshold=0))


def killed_at(moment: int, folder: Path, way: Way) -> bool:
    """Whether an installation was killed at its nth moment; False if it had ended before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a test runner may have threads; the child has one
        child = os.fork()
    if child == 0:
        _be_killed(moment, folder, way)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the installation did not succeed"
    return False


def _be_killed(moment: int, folder: Path, way: Way) -> None:
    """The child: never returns."""
    status, numbers = 1, count()

    def meet(*_: object) -> None:
        if next(numbers) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        for owner, name in CALLS:
            setattr(owner, name, _after(meet, getattr(owner, name)))
        if run(FileRouter(folder, meet), way).end is End.INSTALLED:
            status = 0
    finally:
        os._exit(status)


def _after(meet: Callable[[], None], call: Callable[..., object]) -> Callable[..., object]:
    def met(*arguments: object, **options: object) -> object:
        meet()
        return call(*arguments, **options)

    return met


def restarted_by_hand(router: FileRouter) -> None:
    """A router that was killed together with its restart command is started by whoever can."""
    if not router.state["is_up"]:
        router.start(router.path.read_bytes())


@pytest.mark.parametrize("way", Way)
def test_whoever_comes_after_a_killed_one_goes_on(tmp_path, way):
    """T015: the file is the old or the new one, whole; the journal tells how to complete it."""
    for moment in count():
        folder = tmp_path / str(moment)
        folder.mkdir()
        router = stage(folder)
        if not killed_at(moment, folder, way):
            break
        assert router.path.read_bytes() in {OLD, NEW}
        journal = LiveFile(router.path).read_journal()
        is_touched = router.work != OLD or router.names("closed") or not router.state["is_up"]
        if router.path.read_bytes() != OLD or is_touched:
            finished = router.work == NEW == router.path.read_bytes()
            assert journal is not None or (finished and not router.names("closed"))
        assert journal is None or journal.how_to_go_on == HOW_TO_GO_ON
        assert run(router, way).end is End.INSTALLED
        assert (router.path.read_bytes(), router.work) == (NEW, NEW)
        assert router.names("closed") == []
        assert LiveFile(router.path).read_journal() is None
    assert moment > 15


@pytest.mark.parametrize("way", Way)
def test_whoever_fails_after_a_killed_one_restores_what_was_at_work(tmp_path, way):
    """T015: file and router agree again, all is open, and nothing of the killed one is left."""
    for moment in count():
        folder = tmp_path / str(moment)
        folder.mkdir()
        router = stage(folder)
        if not killed_at(moment, folder, way):
            break
        was_up, was_new = router.state["is_up"], router.work == NEW
        failures = iter([InstallFailed("activation_failed")])

        def meet(now: str, failures=failures) -> None:
            if now in {"activate", "restart"} and (failure := next(failures, None)):
                raise failure

        router.meet = meet
        outcome = run(router, way)
        assert outcome.end is End.RESTORED, (moment, outcome)
        was_at_work = NEW if was_up and was_new else OLD
        assert router.path.read_bytes() == router.work
        assert was_up is False or router.work == was_at_work
        assert router.names("closed") == []
        assert LiveFile(router.path).read_journal() is None


def test_a_file_that_a_killed_one_has_written_can_be_installed_hot(tmp_path):
    """T015: a restart was killed while it drained; without a restart its tiers are opened too."""
    for moment in range(4, 30, 5):
        folder = tmp_path / str(moment)
        folder.mkdir()
        router = stage(folder)
        assert killed_at(moment, folder, Way.RESTART)
        if not router.state["is_up"]:
            restarted_by_hand(router)
        assert run(router, Way.HOT).end is End.INSTALLED
        assert (router.path.read_bytes(), router.work) == (NEW, NEW)
        assert not {*router.names("closed")} & {*tiers_of(NEW)}
