"""A command line that kills its own process at one step of its operation, as a power cut would.

python -m tests.wire.lifecycle.killed STEP before|after WORD...
"""

import os
import signal
import sys

from anvil_trio.cli.main import main
from anvil_trio.lifecycle.journal import Journal
from anvil_trio.lifecycle.progress import Status, Step
from anvil_trio.lifecycle.store import OperationStore

_save = OperationStore.save
_seen: list[Step | None] = []


def save(self: OperationStore, journal: Journal) -> None:
    """Write the journal and be gone before the step's work, or be gone after it instead."""
    is_after = sys.argv[2] == "after"
    if is_after and _seen and _seen[-1] == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)
    _save(self, journal)
    if journal.status is not Status.RUNNING:
        return  # the plan
    _seen.append(journal.step)
    if not is_after and journal.step == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    OperationStore.save = save  # type: ignore[method-assign]
    main(sys.argv[3:])
