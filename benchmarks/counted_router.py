"""`anvil-serving` that tells how many trio tasks it has: what is alive can only be seen inside.

At SIGUSR1 it writes the number into the file that `TASKS_FILE` names. Nothing else differs from the
command.
"""

import os
import signal
from functools import partial
from pathlib import Path

import trio

from anvil_trio.cli.main import main

__all__ = ["TASKS_FILE"]

TASKS_FILE = "ANVIL_SOAK_TASKS_FILE"


class _Tasks(trio.abc.Instrument):
    """Counts the tasks that are alive."""

    def __init__(self) -> None:
        self.alive = 0

    def task_spawned(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002 - trio's signature
        """Called by trio."""
        self.alive += 1

    def task_exited(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002 - trio's signature
        """Called by trio."""
        self.alive -= 1


def _serve_counted() -> None:
    tasks, path = _Tasks(), Path(os.environ[TASKS_FILE])
    trio.run = partial(trio.run, instruments=[tasks])  # type: ignore[assignment]
    signal.signal(signal.SIGUSR1, lambda *_: path.write_text(f"{tasks.alive}\n"))
    main()


if __name__ == "__main__":
    _serve_counted()
