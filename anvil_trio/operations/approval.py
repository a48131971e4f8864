"""An operator's approvals, beside the router: a second connection to its database, for a moment.

The router need not run. One that does sees an approval when it next looks, within five seconds.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import outcome

from anvil_trio.operations.database import DatabaseUnusable, run_batch, visit_database
from anvil_trio.operations.model import Operation, Refusal, RefusalCode
from anvil_trio.operations.store import Store

__all__ = ["approve", "find_awaiting"]

Answer = TypeVar("Answer")


def find_awaiting(path: Path) -> list[Operation]:
    """Every operation that awaits approval, the oldest first. Raises DatabaseUnusable."""
    return _asked(path, lambda store: store.awaiting())


def approve(path: Path, operation_id: str, at_s: float) -> Operation | Refusal:
    """Let one go on, whoever's it is. Raises DatabaseUnusable."""

    def call(store: Store) -> Operation | Refusal:
        standing = store.standing(operation_id)
        if standing is None:
            return Refusal(RefusalCode.OPERATION_NOT_FOUND)
        return store.approve(standing.operation.principal, operation_id, at_s)

    return _asked(path, call)


def _asked(path: Path, call: Callable[[Store], Answer]) -> Answer:
    answers = list[Answer]()
    with visit_database(path) as connection:
        (found,) = run_batch(
            connection, Store(connection), [lambda store: answers.append(call(store))]
        )
    if isinstance(found, outcome.Error):
        raise DatabaseUnusable
    return answers[0]
