"""Which state may follow which: one fixed table. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from anvil_trio.operations.model import State

__all__ = ["AT_BACKEND", "FOLLOWERS", "may_follow"]

AT_BACKEND = frozenset({State.SUBMITTING, State.QUEUED, State.RUNNING})
"""Where the backend may know of an operation."""

_ENDS = frozenset({State.FAILED, State.CANCELED})

FOLLOWERS: Mapping[State, frozenset[State]] = MappingProxyType({
    State.ACCEPTED: _ENDS | {State.AWAITING_APPROVAL, State.PREPARING},
    State.AWAITING_APPROVAL: _ENDS | {State.PREPARING},
    State.PREPARING: _ENDS | {State.SUBMITTING},
    State.SUBMITTING: _ENDS | {State.QUEUED},
    State.QUEUED: _ENDS | {State.RUNNING, State.COMPLETED},  # a short run is never seen running
    State.RUNNING: _ENDS | {State.COMPLETED},
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELED: frozenset(),
})


def may_follow(before: State, after: State) -> bool:
    """Whether an operation in `before` may come to `after`; none comes to where it already is."""
    return after in FOLLOWERS[before]
