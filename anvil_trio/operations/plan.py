"""What the reconciler does next with an operation, given what the backend says of it. Pure."""

from dataclasses import dataclass
from typing import TypeAlias

from anvil_trio.operations.backend import Absent, Broken, Done, Found, Output, Running
from anvil_trio.operations.model import FailureCode, State
from anvil_trio.operations.states import AT_BACKEND

__all__ = ["MAX_LOSSES", "Fail", "Ingest", "Step", "Submit", "Turn", "Wait", "next_step"]

MAX_LOSSES = 3
"""How often the backend may forget a job before it is given up."""


@dataclass(frozen=True, slots=True)
class Submit:
    """Hand it to the backend; `is_again` if that had it before and forgot it."""

    is_again: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """It has come to this state."""

    after: State


@dataclass(frozen=True, slots=True)
class Ingest:
    """It has ended well: keep these files."""

    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Fail:
    """It has ended badly."""

    code: FailureCode


@dataclass(frozen=True, slots=True)
class Wait:
    """There is no news."""


Step: TypeAlias = Submit | Turn | Ingest | Fail | Wait


def next_step(state: State, found: Found, losses: int) -> Step:
    """The step for an operation that was handed to the backend, or was about to be."""
    assert state in AT_BACKEND, "nothing else is asked for"
    if isinstance(found, Absent):
        return _absent(state, losses)
    if state is State.SUBMITTING:
        return Turn(State.QUEUED)  # it was handed over; we did not live to write it down
    if isinstance(found, Done):
        return Ingest(found.outputs)
    if isinstance(found, Broken):
        return Fail(found.code)
    is_news = isinstance(found, Running) and state is State.QUEUED
    return Turn(State.RUNNING) if is_news else Wait()


def _absent(state: State, losses: int) -> Step:
    if state is State.SUBMITTING:
        return Submit(is_again=False)
    if losses < MAX_LOSSES:
        return Submit(is_again=True)
    return Fail(FailureCode.BACKEND_LOST)
