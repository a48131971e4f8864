"""The embedded backend: it draws a real picture of what it is asked, and needs no GPU.

Its jobs are in memory. A process that is killed forgets them, and the reconciler hands them over
again: the same words make the same bytes.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import trio

from anvil_trio.operations.aside import Aside
from anvil_trio.operations.backend import (
    Absent,
    BackendUnavailable,
    Done,
    Found,
    Job,
    Output,
    Rejected,
    Running,
    TooLarge,
    Waiting,
)
from anvil_trio.operations.model import Scalar
from anvil_trio.operations.picture import draw

__all__ = ["DemoBackend"]

_QUEUE_S = 0.1
_STEP_S = 0.05
_DEFAULT_STEPS = 10
_MAX_STEPS = 2000
_KEPT = 4096  # some hundred bytes each; more than may be under way


@dataclass(frozen=True, slots=True)
class _Asked:
    name: str
    values: Mapping[str, Scalar] = field(repr=False)
    digests: Mapping[str, bytes] = field(repr=False)  # of the artifacts, which nobody needs whole
    starts_s: float
    ends_s: float


class DemoBackend:
    """Runs each job as long as its `steps` say, beside the others, on trio's clock."""

    name = "demo"

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._jobs: dict[str, _Asked] = {}

    async def find(self, key: str, handle: str | None) -> Found:  # noqa: ARG002 - one name is enough
        """What has become of a job, by the clock."""
        await trio.lowlevel.checkpoint()
        asked, now = self._jobs.get(key), trio.current_time()
        if asked is None:
            return Absent()
        if now < asked.starts_s:
            return Waiting()
        return Running() if now < asked.ends_s else Done((Output((key,)),))

    async def submit(self, job: Job) -> str | Rejected:
        """Begin a job; only pictures are drawn."""
        await trio.lowlevel.checkpoint()
        if job.recipe.workflow.output_media_type != "image/png":
            return Rejected()
        workflow, starts_s = job.recipe.workflow, trio.current_time() + _QUEUE_S
        self._jobs[job.key] = _Asked(
            f"{workflow.id} {workflow.version}",
            job.values,
            {name: hashlib.sha256(data).digest() for name, data in job.artifacts.items()},
            starts_s,
            starts_s + _STEP_S * _steps(job.values),
        )
        if len(self._jobs) > _KEPT:  # the oldest has long been fetched
            del self._jobs[next(iter(self._jobs))]
        return job.key

    async def cancel(self, key: str, handle: str | None) -> None:  # noqa: ARG002 - likewise
        """Forget a job."""
        await trio.lowlevel.checkpoint()
        self._jobs.pop(key, None)

    async def fetch(self, output: Output, max_bytes: int) -> bytes:
        """The picture, drawn now."""
        asked = self._jobs.get(output.words[0])
        if asked is None:
            raise BackendUnavailable
        data = await self._aside(lambda: draw(asked.name, asked.values, asked.digests))
        if len(data) > max_bytes:
            raise TooLarge
        return data

    async def watch(self, news: Callable[[str], None]) -> None:
        """Tell of each job as the clock passes its start and its end."""
        told = trio.current_time()
        while True:
            await trio.sleep(_STEP_S)
            now = trio.current_time()
            for key, asked in self._jobs.items():
                if told < asked.starts_s <= now or told < asked.ends_s <= now:
                    news(key)
            told = now

    async def aclose(self) -> None:
        """There is nothing to let go of."""
        await trio.lowlevel.checkpoint()


def _steps(values: Mapping[str, Scalar]) -> int:
    steps = values.get("steps")
    if isinstance(steps, bool) or not isinstance(steps, int):
        return _DEFAULT_STEPS
    return min(max(steps, 0), _MAX_STEPS)
