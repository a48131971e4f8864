"""The restart command as a real process."""

import os
import signal
import sys
import time

import pytest
import trio

from anvil_trio.installation.faults import InstallFailed, NotBegun
from anvil_trio.installation.restart import run_restart

FOREVER = "import time\nprint('canary', flush=True)\ntime.sleep(600)"


def python(program, *arguments):
    """A command that runs this program."""
    return (sys.executable, "-c", program, *arguments)


async def test_its_words_are_its_arguments(tmp_path):
    """No shell reads them; it runs in the folder it is given, without input or output."""
    program = (
        "import sys, os, pathlib\n"
        "pathlib.Path('out').write_text(repr((sys.argv[1:], sys.stdin.read())))\n"
        "print('canary')"
    )
    await run_restart(python(program, "$HOME; *", ""), tmp_path, 30)
    assert (tmp_path / "out").read_text() == "(['$HOME; *', ''], '')"


@pytest.mark.parametrize("command", [("/no/such/canary",), ("canary\0",)])
async def test_a_command_that_cannot_be_run_is_told_apart(tmp_path, command):
    """It has stopped nothing."""
    with pytest.raises(NotBegun) as caught:
        await run_restart(command, tmp_path, 30)
    assert str(caught.value) == "restart_command_failed"


async def test_a_command_that_ends_badly_has_perhaps_done_something(tmp_path):
    """Its status is no secret, and of no interest."""
    with pytest.raises(InstallFailed) as caught:
        await run_restart(python("raise SystemExit(3)"), tmp_path, 30)
    assert not isinstance(caught.value, NotBegun)
    assert caught.value.code == "restart_command_failed"


async def test_a_command_that_does_not_end_is_ended(tmp_path):
    """It is told so, and has a code of its own."""
    with pytest.raises(InstallFailed, match="restart_command_timed_out"):
        await run_restart(python(FOREVER), tmp_path, 0.3)


async def test_a_cancelled_command_is_ended(tmp_path):
    """Nothing of it is left behind."""
    with trio.move_on_after(0.3) as scope:
        await run_restart(python(FOREVER), tmp_path, 600)
    assert scope.cancelled_caught


async def test_what_it_starts_is_neither_waited_for_nor_ended(tmp_path):
    """A router that it leaves behind may hold what it was given as output."""
    program = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'])\n"
        "pathlib.Path('pid').write_text(str(child.pid))"
    )
    begun = time.monotonic()
    await run_restart(python(program), tmp_path, 30)
    assert time.monotonic() - begun < 15
    pid = int((tmp_path / "pid").read_text())

    os.kill(pid, signal.SIGKILL)
