"""What runs workflows, as the reconciler sees it: one small interface, and what it may answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from anvil_trio.operations.model import FailureCode, Scalar
from anvil_trio.operations.recipe import Recipe

__all__ = [
    "Absent",
    "Backend",
    "BackendUnavailable",
    "Broken",
    "Done",
    "Found",
    "Job",
    "Output",
    "Rejected",
    "Running",
    "TooLarge",
    "Waiting",
]


class BackendUnavailable(Exception):  # noqa: N818 - named by what happened, as trio does
    """The backend did not answer, or not in its own words; to be asked again later."""


class TooLarge(Exception):  # noqa: N818 - likewise
    """An output is above what may be kept."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one operation asks of the backend. `key` names it, the same after every restart."""

    key: str
    recipe: Recipe = field(repr=False)
    values: Mapping[str, Scalar] = field(repr=False)
    artifacts: Mapping[str, bytes] = field(repr=False)  # by parameter, in place of its value


@dataclass(frozen=True, slots=True)
class Rejected:
    """The backend will not run this, however often it is asked."""


@dataclass(frozen=True, slots=True)
class Output:
    """One file that the backend made; what its words mean is the backend's own business."""

    words: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Absent:
    """The backend knows nothing of the job."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The job is in the backend's line."""


@dataclass(frozen=True, slots=True)
class Running:
    """The backend works on it."""


@dataclass(frozen=True, slots=True)
class Done:
    """It has ended well, with these files."""

    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """It has ended badly."""

    code: FailureCode = FailureCode.BACKEND_FAILED


Found: TypeAlias = Absent | Waiting | Running | Done | Broken


class Backend(Protocol):
    """One backend. Every call is bounded in time; what it cannot do raises BackendUnavailable.

    `handle` is what `submit` gave back, None where that was never heard.
    """

    @property
    def name(self) -> str:
        """What capabilities call it."""
        ...

    async def find(self, key: str, handle: str | None) -> Found:
        """What has become of a job."""
        ...

    async def submit(self, job: Job) -> str | Rejected:
        """Put a job in line; the backend's own name for it. Never called for one that is there."""
        ...

    async def cancel(self, key: str, handle: str | None) -> None:
        """See to it that a job, if there is one, works no more. May be asked again."""
        ...

    async def fetch(self, output: Output, max_bytes: int) -> bytes:
        """The bytes of a file; raises TooLarge."""
        ...

    async def watch(self, news: Callable[[str], None]) -> None:
        """Tell `news` of every job, by key or handle, that has come further; ends when cancelled.

        A hint that saves waiting: nothing relies on it.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections; jobs go on."""
        ...
